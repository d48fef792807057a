# SPDX-License-Identifier: BSD-3-Clause
"""`tutti config` shows every row of src/base/options.def; docs/options.md is made from the same."""

from __future__ import annotations

import subprocess
import sys

import gen_docs
from conftest import ROOT
from tutti import probe
from tutti.commands.config import variable
from tutti.reporters import options

NAMES = [name for name, *_ in gen_docs.rows()]


def test_every_option_is_there(tutti):
    result = tutti("config")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0].split() == ["variable", "value", "default", "meaning"]
    assert [line.split()[0] for line in lines[1:]] == [f"TUTTI_{name.upper()}" for name in NAMES]


def test_values_come_from_the_environment(tutti):
    result = tutti("config", TUTTI_SPIN="123")
    [line] = [row for row in result.out.splitlines() if row.startswith("TUTTI_SPIN ")]
    assert line.split()[1:3] == ["123", "2000"]


def test_an_unknown_variable_is_named(tutti):
    result = tutti("config", TUTTI_MEMROY="cma")
    assert result.code == 0
    last = result.out.splitlines()[-1]
    assert last.rstrip() == "TUTTI_MEMROY is not an option of Tutti (did you mean 'TUTTI_MEMORY'?)"


def test_the_page_is_up_to_date():
    check = [sys.executable, str(ROOT / "scripts" / "gen_docs.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_says_what_the_library_says():
    page = (ROOT / "docs" / "options.md").read_text()
    rows = [
        options.Row(variable(o["name"]), o["type"], o["default"], o["meaning"])
        for o in probe.options()
    ]
    assert page.endswith("\n\n" + options.markdown(rows))
