# SPDX-License-Identifier: GPL-2.0
"""Reads the series: patches/v6.12/series and the patch files that it names.

A patch file is: the subject; an empty line; the text of the commit message; as its last paragraph lines `Adds: path`, one
for each file of ours that the patch adds (the file is at the same path in this repository), and `Stock: yes` when the
stock kernel gets the patch as well; a line `---`; then a git diff, which may be empty, to files that the kernel already has.
"""

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

import paths
import ui

# Folders of this repository whose files belong to the kernel series, and what in them does not.
FOLDERS = ("virt", "arch", "kernel", "include", "drivers", "tools", "Documentation")
NOT_IN_SERIES = ("tools/testing/directed-yield/build/",)

TRAILER = re.compile(r"^(Adds|Stock):\s*(\S+)\s*$")


@dataclass
class Patch:
    """One patch: its file's name, commit message, the files that it adds, whether stock gets it, its diff."""
    name: str
    message: str
    adds: list = field(default_factory=list)
    stock: bool = False
    diff: str = ""

    @property
    def subject(self):
        return self.message.partition("\n")[0]

    def touches(self):
        """Paths of the existing files that the diff changes."""
        return re.findall(r"^diff --git a/(\S+) b/\S+$", self.diff, re.M)

    def identity(self):
        """A hash over everything that the commit depends on, the added files' contents and modes included."""
        digest = hashlib.sha256()
        for part in (self.message, self.diff):
            digest.update(part.encode() + b"\0")
        for path in self.adds:
            ours = paths.OURS / path
            digest.update(f"{path}\0{mode(ours)}\0".encode() + hashlib.sha256(ours.read_bytes()).digest())
        return digest.hexdigest()


def mode(path):
    """The git mode of a file of ours."""
    return "100755" if path.stat().st_mode & 0o100 else "100644"


def read(stock_only=False, folder=None):
    """Return the list of Patch in order; stock_only: only those that the stock kernel gets. A LabError names what is wrong."""
    folder = Path(folder or paths.PATCHES)
    index = folder / "series"
    if not index.exists():
        raise ui.LabError(f"{index} is missing", todo="it lists the patch files, one per line")
    patches = []
    for line in index.read_text().splitlines():
        name = line.partition("#")[0].strip()
        if not name:
            continue
        if not (folder / name).exists():
            raise ui.LabError(f"{index} names {name}, which does not exist")
        patches.append(parse(name, (folder / name).read_text()))
    return [patch for patch in patches if patch.stock or not stock_only]


def parse(name, text):
    """Return the Patch that text describes."""
    head, separator, diff = ("\n" + text).partition("\n---\n")
    if not separator:
        raise ui.LabError(f"{name} has no line `---` between its message and its diff")
    head = head.strip("\n")
    blocks = re.split(r"\n\s*\n", head)
    patch = Patch(name, "", diff=diff if diff.strip() else "")
    rest = []
    for line in blocks[-1].splitlines() if len(blocks) > 1 else []:
        match = TRAILER.match(line)
        if not match:
            rest.append(line)
        elif match[1] == "Adds":
            patch.adds.append(match[2])
        else:
            patch.stock = match[2].lower() == "yes"
    blocks = blocks[:-1] + (["\n".join(rest)] if rest else []) if len(blocks) > 1 else blocks
    patch.message = "\n\n".join(blocks).strip() + "\n"
    if re.search(r"^(Adds|Stock):", patch.message, re.M):
        raise ui.LabError(f"{name}: `Adds:` and `Stock:` lines must be in the last paragraph of the message")
    if not patch.subject or len(patch.message.splitlines()) > 1 and patch.message.splitlines()[1]:
        raise ui.LabError(f"{name}: the first line is the subject, the second one must be empty")
    if not patch.adds and not patch.diff:
        raise ui.LabError(f"{name} adds no file and changes none")
    if re.search(r"^(new file mode|rename to|copy to)", patch.diff, re.M):
        raise ui.LabError(f"{name}: its diff makes a file; files of ours are in the repository and named by `Adds:`")
    for path in patch.adds:
        if path.startswith("/") or ".." in path.split("/"):
            raise ui.LabError(f"{name}: `Adds: {path}` is not a path inside the kernel tree")
        if not (paths.OURS / path).is_file():
            raise ui.LabError(f"{name} adds {path}, which is not in the repository")
    return patch


def ours():
    """Paths of all files in this repository that belong to the series."""
    found = []
    for folder in FOLDERS:
        for path in sorted((paths.OURS / folder).rglob("*")):
            name = str(path.relative_to(paths.OURS))
            hidden = path.name.startswith(".") and path.name != ".gitignore"
            if path.is_file() and not name.startswith(NOT_IN_SERIES) and not hidden and "__pycache__" not in name \
               and not name.endswith((".o", ".d", ".cmd", ".pyc", ".orig", ".rej", "~")):
                found.append(name)
    return found


def ownership(patches):
    """Complaints about files that are not in exactly one patch; empty when all is well."""
    complaints, owner = [], {}
    for patch in patches:
        for path in patch.adds:
            if path in owner:
                complaints.append(f"{path} is added by {owner[path]} and by {patch.name}")
            owner[path] = patch.name
            if not path.startswith(tuple(folder + "/" for folder in FOLDERS)):
                complaints.append(f"{path}, added by {patch.name}, is outside the folders of the series")
        for path in patch.touches():
            if path in owner:
                complaints.append(f"{patch.name} changes {path}, which {owner[path]} adds: a file of ours is whole in one patch")
    for path in ours():
        if path not in owner:
            complaints.append(f"{path} is in no patch (add `Adds: {path}` to one)")
    return complaints
