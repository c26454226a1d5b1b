# SPDX-License-Identifier: GPL-2.0
"""What needs no compiler to judge a patch: checkpatch --strict, kernel-doc, and Sphinx on our documents.

ACCEPTED lists, with the reason, what checkpatch says and should not be followed; a row that nothing needs is a failure.
"""

import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import ktap
import mail
import paths
import run
import series
import tree

PACKAGES = ("perl", "python3-sphinx", "python3-ply", "python3-git")
# Debian's Python has these modules, and checkpatch's helper calls it without a path.
DEBIAN = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


@dataclass(frozen=True)
class Accepted:
    """A complaint that is accepted: in files whose path starts so, of these types, for this reason."""
    path: str
    types: str
    reason: str


TESTS = "tools/testing/directed-yield/"
KSELFTESTS = "tools/testing/selftests/kvm/"
TRACE = "PARENTHESIS_ALIGNMENT OPEN_ENDED_LINE SPACING"
ACCEPTED = (
    Accepted("", "FILE_PATH_CHANGES", "MAINTAINERS gets its entries with the documents, at the end"),
    Accepted("include/trace/events/", TRACE, "the form that all trace events have"),
    Accepted("arch/x86/include/asm/trace/", TRACE, "the form that all trace events have"),
    Accepted("include/linux/kvm_dy_stat.h", "COMPLEX_MACRO", "an initializer, and a list of them, as KVM_GENERIC_VCPU_STATS()"),
    Accepted("arch/x86/hyperv/hv_xmm.c", "LINE_SPACING", "NOKPROBE_SYMBOL() stands right below its function"),
    Accepted("arch/x86/hyperv/hv_xmm_test.c", "OPEN_ENDED_LINE", "the first line of an asm()"),
    Accepted("arch/x86/hyperv/mmu.c", "OPEN_ENDED_LINE", "the old lines with another function's name"),
    Accepted(KSELFTESTS, "AVOID_EXTERNS", "what the linker or an asm() defines has no header"),
    Accepted(KSELFTESTS, "COMPLEX_MACRO MACRO_ARG_REUSE", "text of an asm(), put together by register number"),
    Accepted(TESTS + "include/", "VOLATILE MEMORY_BARRIER NEW_TYPEDEFS COMPLEX_MACRO MACRO_ARG_UNUSED MACRO_ARG_REUSE CAMELCASE "
             "MULTISTATEMENT_MACRO_USE_DO_WHILE TRAILING_SEMICOLON PREFER_DEFINED_ATTRIBUTE_MACRO SPACING",
             "stands in for a kernel header in user space: its names and forms, and the model of memory itself"),
    Accepted(TESTS, "PREFER_DEFINED_ATTRIBUTE_MACRO", "user space has none of the kernel's attribute macros"),
    Accepted(TESTS + "explore.c", "VOLATILE", "the model's side of READ_ONCE() and WRITE_ONCE()"),
    Accepted(TESTS + "bench_scan.c", "VOLATILE", "reads for the cache's sake, whose values nobody uses"),
    Accepted(TESTS + "explore.h", "LINE_SPACING", "an array of function pointers, taken for a declaration"),
    Accepted(TESTS + "order_test.c", "COMPLEX_MACRO PARENTHESIS_ALIGNMENT", "defines a test; its initializer has a line of its own"),
    Accepted(TESTS + "sim_main.c", "COMPLEX_MACRO MACRO_WITH_FLOW_CONTROL MACRO_ARG_PRECEDENCE "
             "MULTISTATEMENT_MACRO_USE_DO_WHILE", "one line for each option, undefined right after"),
)
COMPLAINT = re.compile(r"^(?P<place>.*?):\s+(?:ERROR|WARNING|CHECK):(?P<type>\w+): (?P<text>.*)$")

CONF = """project = "directed yield"
extensions = []
exclude_patterns = []
"""


def check(report):
    """Run all three; report(ktap.Test) for each patch, and one each for the others."""
    with tree.hold():
        directory = tree.make()
        with tempfile.TemporaryDirectory(prefix="lab-lint.") as scratch:
            mail.write(mail.LAB, Path(scratch, "mails"))
            checkpatch(directory, sorted(Path(scratch, "mails").glob("*.patch"))[1:], report)
        kernel_doc(directory, report)
        documents(report)


def checkpatch(directory, mails, report):
    """One result for each mail, and one for rows of ACCEPTED that match nothing."""
    used = set()
    for path in mails:
        output = run.merged(["perl", "scripts/checkpatch.pl", "--strict", "--terse", "--showfile", "--show-types", "--no-summary",
                             path], cwd=directory, env=run.environment(**DEBIAN))
        complaints = []
        for line in output.splitlines():
            row = _accepted(line)
            used.add(row)
            if not row:
                complaints.append(line)
        report(_result(f"checkpatch: {path.name}", complaints))
    report(_result("checkpatch: all that is accepted occurs",
                   [f"{row.path or 'everywhere'}: {row.types}" for row in ACCEPTED if row not in used]))


def _accepted(line):
    """The row that accepts a line of checkpatch, or None."""
    found = COMPLAINT.match(line)
    if not found:
        return None
    path = found["place"].partition(":")[0]
    return next((row for row in ACCEPTED if path.startswith(row.path) and found["type"] in row.types.split()), None)


def kernel_doc(directory, report):
    """The comments of all C files of ours, with missing descriptions of return values."""
    files = [path for path in series.ours() if path.endswith((".c", ".h"))]
    done = run.merged(["perl", "scripts/kernel-doc", "-none", "-Wall", *files], cwd=directory)
    report(_result(f"kernel-doc: {len(files)} files", done.splitlines()))


def documents(report):
    """Sphinx on our documents alone, in which any warning is a complaint."""
    ours = [path for path in series.ours() if path.endswith(".rst")]
    with tempfile.TemporaryDirectory(prefix="lab-rst.") as scratch:
        source = Path(scratch, "source")
        for path in ours:
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(paths.OURS / path, source / path)
        (source / "conf.py").write_text(CONF)
        tops = "\n".join(f"   {path.removesuffix('.rst')}" for path in ours)
        (source / "index.rst").write_text(f"Documents\n=========\n\n.. toctree::\n\n{tops}\n")
        text = run.merged(["python3", "-m", "sphinx", "-q", "-n", "-b", "html", source, Path(scratch, "out")],
                          env=run.environment(**DEBIAN))
    report(_result(f"sphinx: {len(ours)} documents", [line.replace(f"{source}/", "") for line in text.splitlines()]))


def _result(name, complaints):
    return ktap.Test(name, ktap.FAIL if complaints else ktap.PASS, complaints[0] if complaints else "", output=complaints)
