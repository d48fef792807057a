# SPDX-License-Identifier: BSD-3-Clause
"""One rank of a unittest suite that somebody else wrote: every test's verdict goes into a file.

What the ranks print is mixed up by the launcher, and a rank that hangs prints nothing. So each rank
writes a JSON line when a test begins and another when it ends into a file of its own, and a test
that takes too long ends the rank with the stack of every thread.

    suite.py RECORDS LIMIT_S FOLDER [OPTION...]

FOLDER has a `main.py` with a unittest program (mpi4py's) that takes the options, or the options
name modules whose tests are functions (mpi4py-fft's). Python finds modules of FOLDER: whoever
starts this has put it into PYTHONPATH.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import sys
import time
import unittest
from pathlib import Path
from typing import Any, TextIO


class Record(unittest.TextTestResult):
    """A result that writes itself down at once."""

    records: TextIO
    stacks: TextIO
    limit_s: float

    def write(self, test: unittest.TestCase, verdict: str, text: str = "") -> None:
        line = {"test": test.id(), "verdict": verdict, "at_s": time.monotonic(), "text": text}
        self.records.write(json.dumps(line) + "\n")
        self.records.flush()

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's names
        super().startTest(test)
        self.write(test, "begun")
        faulthandler.dump_traceback_later(self.limit_s, exit=True, file=self.stacks)

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().stopTest(test)
        faulthandler.cancel_dump_traceback_later()
        self.write(test, "ended")

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        super().addError(test, err)
        self.write(test, "failed", self.errors[-1][1])

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        super().addFailure(test, err)
        self.write(test, "failed", self.failures[-1][1])

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.write(test, "failed", f"{subtest}: {err[1]!r}")

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        super().addUnexpectedSuccess(test)
        self.write(test, "failed", "unexpected success")

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        super().addSkip(test, reason)
        self.write(test, "skipped", reason)


def run(records: Path, limit_s: float, folder: Path, options: list[str]) -> None:
    # The rank is known only after MPI_Init, which may hang too: files are named by process, and by
    # host, as hosts number theirs alike.
    name = str(records / f"{os.uname().nodename}-{os.getpid()}")
    with Path(name + ".jsonl").open("w") as log, Path(name + ".stacks").open("w") as stacks:
        Record.records, Record.stacks, Record.limit_s = log, stacks, limit_s
        faulthandler.dump_traceback_later(limit_s, exit=True, file=stacks)
        runner = unittest.TextTestRunner(resultclass=Record, verbosity=1)
        if not (folder / "main.py").exists():
            sys.exit(not runner.run(functions(options)).wasSuccessful())
        sys.argv = [str(folder / "main.py"), *options]
        importlib.import_module("main").TestProgram(module=None, testRunner=runner)


def functions(modules: list[str]) -> unittest.TestSuite:
    found = unittest.TestSuite()
    for module in map(importlib.import_module, modules):
        for name, value in vars(module).items():
            if name.startswith("test_"):
                found.addTest(unittest.FunctionTestCase(value))
    return found


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run(Path(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
