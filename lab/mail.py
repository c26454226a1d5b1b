# SPDX-License-Identifier: GPL-2.0
"""`make series`: the series as mails, build/series/, for `git am` and `git send-email`.

The commits of `make tree` are made again with the user's name and Signed-off-by; the cover letter is
patches/v6.12/cover-letter: a subject, an empty line, the text. Whom get_maintainer names is added as a note at its end.
"""

import os
import shutil
import tempfile
from pathlib import Path

import git
import paths
import run
import series
import source
import tree
import ui

OUT = paths.BUILD / "series"
COVER = paths.PATCHES / "cover-letter"
# Signs what is only made to be checked.
LAB = (git.IDENTITY["GIT_AUTHOR_NAME"], git.IDENTITY["GIT_AUTHOR_EMAIL"])


def main(arguments):
    """Write the mails, signed off by the user's git identity."""
    if arguments:
        raise ui.LabError(f"`make series` takes no arguments ({' '.join(arguments)})")
    write(user(), OUT)
    _note_maintainers(OUT)
    ui.note(f"  {OUT.relative_to(paths.REPO)}: {len(list(OUT.glob('*.patch')))} mails; to apply them: "
            f"git am $(ls {OUT}/*.patch | tail -n +2)")


def user():
    """Return (name, address) from the user's git configuration; nobody else may sign off."""
    found = []
    for key in ("user.name", "user.email"):
        value = run.output(["git", "config", "--get", key], cwd=paths.REPO, check=False).strip()
        if not value:
            raise ui.LabError(f"git has no {key}, and a Signed-off-by line needs it", todo=f'git config --global {key} "..."')
        found.append(value)
    return tuple(found)


def write(who, out):
    """Write the mails of the series to the folder out, in place of what is there; return the tree's hash that they make."""
    directory, patches, origin = tree.make(), series.read(), source.get()
    commits = git.git(directory, "rev-list", "--reverse", f"{origin.commit}..{tree.TIP}").split()
    tip = origin.commit
    environment = git.environment()
    if who != LAB:
        for role in ("AUTHOR", "COMMITTER"):
            environment |= {f"GIT_{role}_NAME": who[0], f"GIT_{role}_EMAIL": who[1]}
            del environment[f"GIT_{role}_DATE"]
    for patch, commit in zip(patches, commits, strict=True):
        tip = run.output(git.command("commit-tree", f"{commit}^{{tree}}", "-p", tip), cwd=directory, env=environment,
                         stdin=f"{patch.message.rstrip()}\n\nSigned-off-by: {who[0]} <{who[1]}>\n").strip()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    run.output(git.command("format-patch", "-q", "-o", out, "--cover-letter", "--subject-prefix=PATCH 6.12", "--thread=shallow",
                           f"{origin.commit}..{tip}"), cwd=directory, env=environment)
    _cover(next(out.glob("0000-*.patch")))
    return git.git(directory, "rev-parse", f"{tip}^{{tree}}")


def _cover(path):
    subject, _, text = COVER.read_text().partition("\n\n")
    mail = path.read_text()
    for mark, value in (("*** SUBJECT HERE ***", subject.strip()), ("*** BLURB HERE ***", text.strip())):
        if mark not in mail:
            raise ui.LabError(f"{path} has no {mark}: this git writes another cover letter")
        mail = mail.replace(mark, value)
    path.write_text(mail)


def _note_maintainers(out):
    """Append whom the kernel's MAINTAINERS names for the series to the cover letter, below its diffstat."""
    mails = sorted(out.glob("*.patch"))
    names = run.output(["perl", "scripts/get_maintainer.pl", "--nogit", "--nogit-fallback", "--norolestats", *mails[1:]],
                       cwd=tree.make(), env=run.environment())
    body, mark, signature = mails[0].read_text().rpartition("\n-- \n")
    if not mark or "@" not in names:
        raise ui.LabError("get_maintainer named nobody, or the cover letter has no end")
    mails[0].write_text(f"{body}\nTo be sent to (get_maintainer):\n{names}{mark}{signature}")


def check():
    """Apply the mails with `git am` to the untouched source; a LabError unless that gives the tree of `make tree`."""
    with tempfile.TemporaryDirectory(prefix="lab-am.") as scratch:
        out, clone = Path(scratch, "mails"), Path(scratch, "linux")
        wanted, origin = write(LAB, out), source.get()
        git.git(scratch, "init", "-q", clone)
        (clone / ".git/objects/info/alternates").write_text(f"{origin.repository / 'objects'}\n")
        # Only the folders that the series touches: a whole kernel tree takes half a minute to write.
        touched = {os.path.dirname(path) for patch in series.read() for path in patch.touches() + patch.adds}
        git.git(clone, "sparse-checkout", "set", *sorted(touched))
        git.git(clone, "checkout", "-q", "--detach", origin.commit)
        mails = sorted(out.glob("*.patch"))[1:]
        git.git(clone, "am", "-q", *mails)
        got = git.git(clone, "rev-parse", "HEAD^{tree}")
    if got != wanted:
        raise ui.LabError(f"`git am` of the mails gives tree {got}, not {wanted}")
