# SPDX-License-Identifier: GPL-2.0
"""One module per emulator.

Each has `command(boot, console)`: the argument vector that boots a machine.Boot with its console going to the file `console`,
or, when console is None, to the terminal; and may have a class `Console`, which tells the machine's lines from what the emulator
itself prints: `feed(line)` returns a line or None, `error` says what went missing.
"""
