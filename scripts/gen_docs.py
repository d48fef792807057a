#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/options.md from the library's own table (src/base/options.def).

Run with .venv/bin/python; with --check it only says whether the file is up to date.
"""

from __future__ import annotations

import ast
import subprocess
import sys

from rig import ROOT
from tutti.commands.config import variable
from tutti.reporters.options import Row, markdown

TABLE = ROOT / "src" / "base" / "options.def"
PAGE = ROOT / "docs" / "options.md"
# What makes the preprocessor write a row of the table as a Python tuple, strings beside each other.
AS_TUPLE = "-DTUTTI_OPTION(name,type,fallback,meaning)=(#name,#type,fallback,meaning),"
HEAD = """<!-- Written by scripts/gen_docs.py from src/base/options.def. -->
# Options

Every option of the library is an environment variable. `tutti run` hands all `TUTTI_*` variables to
the ranks, and `tutti config` shows their values. A variable that is no option is warned about once,
and so is a value that an option cannot have.
Sizes may be written 8, 32K, 4M or 1G; a flag is 0 or 1.

"""


def rows() -> list[tuple[str, str, str, str]]:
    """(accessor, type, default, meaning) of each option, as the C preprocessor reads the table."""
    words = ["c++", "-E", "-P", "-xc++", f"-I{ROOT / 'src'}", AS_TUPLE, str(TABLE)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return list(ast.literal_eval(f"[{done.stdout}]"))


def page() -> str:
    """The page as it should be."""
    return HEAD + markdown(Row(variable(name), *rest) for name, *rest in rows())


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
