# SPDX-License-Identifier: GPL-2.0
"""tree, series and source on a toy kernel of three files: what applies, what is refused, what is left alone."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import git
import paths
import series
import source
import tree
import ui

DIFF = """diff --git a/virt/main.c b/virt/main.c
--- a/virt/main.c
+++ b/virt/main.c
@@ -1,3 +1,3 @@
 one
-two
+2
 three
"""


class Tree(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        self.ours, self.patches = self.root / "ours", self.root / "patches"
        for name, value in (("REPO", self.root), ("BUILD", self.root / "build"), ("SOURCES", self.root / "source"),
                            ("LOG", self.root / "log"), ("OURS", self.ours), ("PATCHES", self.patches)):
            patch = mock.patch.object(paths, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        patch = mock.patch.object(ui, "note", lambda text: None)
        patch.start()
        self.addCleanup(patch.stop)
        self.write("linux/Makefile", "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\nEXTRAVERSION =\n")
        self.write("linux/Kconfig", "")
        self.write("linux/virt/main.c", "one\ntwo\nthree\n")
        self.write("linux/.gitignore", "virt/\n")
        self.write("ours/virt/new.c", "new\n")
        self.write("patches/series", "# comment\n0001-a.patch\n0002-b.patch  # why\n")
        self.write("patches/0001-a.patch", f"virt: a\n\nText.\n\nStock: yes\n---\n{DIFF}")
        self.write("patches/0002-b.patch", "virt: b\n\nText.\n\nAdds: virt/new.c\n---\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def make(self, **options):
        return tree.make(kernel_src=self.root / "linux", **options)

    def refused(self, *words, **options):
        with self.assertRaises(ui.LabError) as caught:
            self.make(**options)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_lays_out(self):
        out = self.make()
        self.assertEqual((out / "virt/main.c").read_text(), "one\n2\nthree\n")
        self.assertEqual((out / "virt/new.c").read_text(), "new\n")
        self.assertEqual(git.git(out, "log", "--format=%s").splitlines(), ["virt: b", "virt: a", "Linux 6.12.1, the untouched source"])
        self.assertNotIn("Adds:", git.git(out, "log", "--format=%B"))
        self.assertEqual(git.git(out, "status", "--porcelain"), "")

    def test_reproducible(self):
        first = git.git(self.make(), "rev-parse", "HEAD")
        paths.tree().rename(self.root / "moved")
        self.assertEqual(git.git(self.make(), "rev-parse", "HEAD"), first)

    def test_stock_has_only_its_patches(self):
        out = self.make(stock=True)
        self.assertEqual((out / "virt/main.c").read_text(), "one\n2\nthree\n")
        self.assertFalse((out / "virt/new.c").exists())

    def test_writes_only_what_changed(self):
        out = self.make()
        os.utime(out / "virt/main.c", (1, 1))
        git.git(out, "update-index", "--refresh")
        self.write("ours/virt/new.c", "newer\n")
        self.make()
        self.assertEqual((out / "virt/new.c").read_text(), "newer\n")
        self.assertEqual((out / "virt/main.c").stat().st_mtime, 1)

    def test_removed_patch(self):
        out = self.make()
        self.write("patches/series", "0001-a.patch\n")
        self.make()
        self.assertFalse((out / "virt/new.c").exists())

    def test_names_the_patch_that_does_not_apply(self):
        self.write("linux/virt/main.c", "other\n")
        self.refused("0001-a.patch", "virt/main.c")

    def test_edit_is_not_lost(self):
        out = self.make()
        self.write("build/linux/virt/new.c", "edited\n")
        self.refused("virt/new.c", "FORCE=1")
        self.assertEqual((out / "virt/new.c").read_text(), "edited\n")
        self.make(force=True)
        self.assertEqual((out / "virt/new.c").read_text(), "new\n")
        self.assertEqual(git.git(out, "show", f"{tree.SAVED}:virt/new.c"), "edited")

    def test_edit_that_the_repository_has_is_fine(self):
        out = self.make()
        for name in ("build/linux/virt/new.c", "ours/virt/new.c"):
            self.write(name, "both\n")
        os.utime(out / "virt/new.c", (5, 5))
        self.make()
        self.assertEqual((out / "virt/new.c").stat().st_mtime, 5)

    def test_commit_is_not_lost(self):
        out = self.make()
        self.write("build/linux/virt/main.c", "mine\n")
        git.git(out, "commit", "-qam", "mine")
        self.refused("commits")

    def test_deleted_cache_is_made_again(self):
        self.make()
        for path in sorted((self.root / "source").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        self.assertEqual(git.git(self.make(), "status", "--porcelain"), "")

    def test_refuses_another_version(self):
        self.write("linux/Makefile", "VERSION = 6\nPATCHLEVEL = 6\n")
        self.refused("6.6", "6.12")

    def test_refuses_a_folder_that_is_no_kernel(self):
        with self.assertRaises(ui.LabError):
            source.get(self.root / "ours")

    def test_ownership(self):
        self.assertEqual(series.ownership(series.read()), [])
        self.write("ours/virt/lost.c", "")
        self.assertIn("virt/lost.c is in no patch", series.ownership(series.read())[0])

    def test_file_in_two_patches(self):
        self.write("patches/0001-a.patch", f"virt: a\n\nText.\n\nAdds: virt/new.c\n---\n{DIFF}")
        self.assertIn("0001-a.patch and by 0002-b.patch", series.ownership(series.read())[0])

    def test_patch_without_separator(self):
        self.write("patches/0002-b.patch", "virt: b\n\nText.\n\nAdds: virt/new.c\n")
        self.refused("0002-b.patch", "---")
