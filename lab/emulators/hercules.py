# SPDX-License-Identifier: GPL-2.0
"""Hercules, Debian's: an IBM mainframe with SIE, so that KVM runs for real.

Its console devices lose output. The system console takes only the first message of several that Linux hands it at once; the
3215 takes 150 characters of what it is given. So the machine's /lab/numbered prints line by line, waits for each to be
taken, and numbers them, and Console here wants to see every number: a line that is lost is an error, never a pass. For the
same reason the kernel prints nothing by itself (a panic shows as a disabled wait); its warnings come at the end, as such
lines. No code page has both a new line and brackets as Linux sends them, so some characters come quoted as in a URL.
"""

import re
import shutil
import struct
import urllib.parse

import paths
import ui

# Where the initial RAM file system is put, behind the kernel.
INITRD = 0x4000000
# Where the kernel looks for them (arch/s390/include/asm/setup.h, the parameter area).
INITRD_START, INITRD_SIZE, COMMAND_LINE = 0x10408, 0x10410, 0x10480

CONFIG = """CPUSERIAL 002623
CPUMODEL 2097
MODEL EMULATOR
MAINSIZE {megabytes}
XPNDSIZE 0
NUMCPU {cpus}
MAXCPU {cpus}
ARCHMODE z/Arch
LOADPARM 0120....
OSTAILOR QUIET
PANRATE FAST
0009 3215-C
"""
# The operator: the end of the system console means that Linux powers off, a disabled wait that it has panicked.
START = """hao tgt HHCCP042I
hao cmd exit
hao tgt HHCCP011I
hao cmd exit
ipl linux.ins
"""


def command(boot, console):
    program = shutil.which("hercules")
    if not program:
        raise ui.LabError("hercules is missing", todo="run `make setup ARCH=s390`")
    if console is None:
        raise ui.LabError("Hercules has no terminal for a shell")
    folder = paths.RUN / boot.name
    folder.mkdir(parents=True, exist_ok=True)
    options = ["conmode=3215", "condev=0x0009", "console=ttyS0", "quiet", "loglevel=1", "lab_console=numbered", "panic=-1",
               "rdinit=/init", *boot.cmdline]
    files = {"image": (0, boot.image.read_bytes()), "initrd": (INITRD, None),
             "initrd.start": (INITRD_START, struct.pack(">Q", INITRD)),
             "initrd.size": (INITRD_SIZE, struct.pack(">Q", boot.initrd.stat().st_size)),
             "parameters": (COMMAND_LINE, " ".join(options).encode() + b"\0")}
    for name, (_, content) in files.items():
        if content is not None:
            (folder / name).write_bytes(content)
    (folder / "linux.ins").write_text("* what to load, and where\n" + "".join(f"{name} 0x{at:08x}\n" for name, (at, _) in files.items()))
    (folder / "hercules.rc").write_text(START)
    (folder / "hercules.cnf").write_text(CONFIG.format(megabytes=boot.memory.rstrip("M"), cpus=boot.smp))
    return ["sh", "-c", 'cd "$1" && exec "$2" -d -f hercules.cnf > "$3" 2>&1', "sh", str(folder), program, str(console)]


class Console:
    """Takes what Hercules prints; gives the machine's lines.

    feed(text) returns the whole line that text ends, or None. error: a sentence once a line is missing, else None.
    """

    # Hercules prints from several threads: a piece of a message of its own may come before it on the line.
    LINE = re.compile(r"lab=(\d+)([+=])(.*)$")

    def __init__(self):
        self.number, self.part, self.error = 0, "", None

    def feed(self, text):
        match = self.LINE.search(text)
        if not match:
            return None
        number, more, text = int(match[1]), match[2] == "+", match[3]
        if number != self.number + 1 and not self.error:
            self.error = f"the console lost what is between lines {self.number} and {number}"
        self.number = number
        self.part += text
        if more:
            return None
        line, self.part = self.part, ""
        return urllib.parse.unquote(line)
