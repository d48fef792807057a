#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/options.md from the library's own table (src/base/options.def).

Run with .venv/bin/python; with --check it only says whether the file is up to date.
"""

from __future__ import annotations

import re
import sys

from rig import ROOT
from tutti.commands.config import variable
from tutti.reporters.options import Row, markdown

TABLE = ROOT / "src" / "base" / "options.def"
PAGE = ROOT / "docs" / "options.md"
# As the C preprocessor reads it: (accessor, type, default, meaning).
OPTION = re.compile(r'^TUTTI_OPTION\((\w+), (\w+), "(.*?)", "(.*)"\)$', re.MULTILINE)
HEAD = """<!-- Written by scripts/gen_docs.py from src/base/options.def. -->
# Options

Every option of the library is an environment variable. `tutti run` hands all `TUTTI_*` variables to
the ranks, and `tutti config` shows their values. A variable that is no option is warned about once,
and so is a value that an option cannot have.
Sizes may be written 8, 32K, 4M or 1G; a flag is 0 or 1.

"""


def page() -> str:
    """The page as it should be."""
    rows = OPTION.findall(TABLE.read_text())
    return HEAD + markdown(Row(variable(name), *rest) for name, *rest in rows)


def main() -> int:
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page())
        return 0
    if PAGE.read_text() == page():
        return 0
    print(f"{PAGE} is out of date: run .venv/bin/python scripts/gen_docs.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
