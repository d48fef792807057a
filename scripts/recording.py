# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts that write records have in common: their options, and the record itself."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import machine
from report import markdown, show
from rich.console import Console
from rig import ROOT
from rig.wheels import Mpi, RigError, mpis
from tutti.errors import TuttiError

QUIET_LOAD = 0.5  # processes that want to run, on average of the last minute


def say_if_busy(described: dict, console: Console) -> None:
    load = described["load_before"]
    if load > QUIET_LOAD:
        console.print(f"The machine is busy (load {load}): expect noise.", style="red")


class Recording:
    """From the command line to the two files in results/."""

    def __init__(self, about: str, *, suffix: str = "", minutes: float | None = None):
        parser = argparse.ArgumentParser(description=about.splitlines()[0])
        parser.add_argument("--mpis", type=Path, default=ROOT / ".mpi", help="folder of the MPIs")
        parser.add_argument(
            "--only", nargs="*", help="names of folders in it, instead of all three"
        )
        parser.add_argument("--results", type=Path, default=ROOT / "results")
        parser.add_argument("--quick", action="store_true", help="few samples, to try the script")
        if minutes is not None:
            text = f"that it may take ({minutes:g})"
            parser.add_argument("--minutes", type=float, default=minutes, help=text)
        arguments = parser.parse_args()
        self.suffix, self.results, self.quick = suffix, arguments.results, arguments.quick
        self.console = Console()
        if not self.console.is_terminal:
            self.console = Console(width=170)
        self.machine = machine.describe()
        say_if_busy(self.machine, self.console)
        self.begin = time.monotonic()
        self.end = self.begin + 60 * arguments.minutes if minutes is not None else float("inf")
        self.all = mpis(arguments.mpis.absolute())
        only = arguments.only or list(self.all)
        self.kept: list[Mpi] = [mpi for name, mpi in self.all.items() if name in only]

    def names(self) -> dict[str, str]:
        return {mpi.name: str(mpi.found) for mpi in self.kept}

    def run(self, measure: Callable[[Recording], dict]) -> int:
        """Writes and shows what `measure` returns: the verdicts and what else is to be kept."""
        try:
            names, measured = self.names(), measure(self)
        except (RigError, TuttiError) as error:
            self.console.print(f"record: {error}", style="red", markup=False, highlight=False)
            return 1
        record = {
            "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "commit": machine.commit(),
            "machine": self.machine,
            "mpis": names,
            "seconds": round(time.monotonic() - self.begin),
            **measured,
        }
        for failure in record.get("failures", ()):
            self.console.print(f"failed: {failure}", style="red", markup=False, highlight=False)
        show(self.console, record["verdicts"], names)
        self.results.mkdir(parents=True, exist_ok=True)
        path = self.results / (machine.file_name(self.machine) + self.suffix)
        # The name may have dots in it: no with_suffix().
        text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
        Path(f"{path}.json").write_text(text)
        Path(f"{path}.md").write_text(markdown(record))
        self.console.print(
            f"Written to {path}.json and .md in {record['seconds']} s", highlight=False
        )
        return 0
