# SPDX-License-Identifier: GPL-2.0
"""One module per emulator.

Each has `command(boot, console)`: the argument vector that boots a machine.Boot with its console going to the file `console`,
or, when console is None, to the terminal; and may have `finish(lines)`, which cleans the console's lines of what the emulator
itself prints.
"""
