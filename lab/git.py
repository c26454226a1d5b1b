# SPDX-License-Identifier: GPL-2.0
"""Calls git with an identity, dates and settings that do not depend on the user, so that hashes are reproducible."""

import os

import run

IDENTITY = {
    "GIT_AUTHOR_NAME": "directed-yield lab", "GIT_AUTHOR_EMAIL": "lab@localhost",
    "GIT_COMMITTER_NAME": "directed-yield lab", "GIT_COMMITTER_EMAIL": "lab@localhost",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
}
SETTINGS = ["core.compression=1", "gc.auto=0", "core.autocrlf=false", "checkout.workers=0", "advice.detachedHead=false",
            "init.defaultBranch=series", "safe.directory=*", "core.fsmonitor=false"]


def command(*words):
    """The argument vector of a git command with the lab's settings."""
    argv = ["git"]
    for setting in SETTINGS:
        argv += ["-c", setting]
    return argv + [str(word) for word in words]


def environment(index=None):
    """The environment that goes with command(); index: a temporary index file."""
    env = run.environment(**IDENTITY)
    if index:
        env["GIT_INDEX_FILE"] = str(index)
    return env


def git(directory, *words, index=None, stdin=None, check=True):
    """Run git in directory and return its output without the final newline."""
    text = run.output(command(*words), cwd=directory, env=environment(index), stdin=stdin, check=check)
    return text[:-1] if text.endswith("\n") else text
