# SPDX-License-Identifier: BSD-3-Clause
"""What all records have in common: their options, and the files that they write."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rig import ROOT
from rig.text import console
from rig.wheels import Mpi, RigError, mpis
from tutti.errors import TuttiError

from records import machine
from records.report import markdown, show

Either = TypeVar("Either")
QUIET_LOAD = 0.5  # processes that want to run, on average of the last minute


def say_if_busy(described: dict, screen: Console) -> None:
    load = described["load_before"]
    if load > QUIET_LOAD:
        screen.print(f"The machine is busy (load {load}): expect noise.", style="red")


def head(described: dict) -> dict:
    """What a record begins with: when it was made, of which commit, and where."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"date": now, "commit": machine.commit(), "machine": described}


def in_turn(turn: int, both: Sequence[Either]) -> Sequence[Either]:
    """Who is first changes, as what one leaves behind the other may find."""
    return both if turn % 2 else both[::-1]


def page(
    what: str, described: dict, how: str, about: str, head: Sequence[str], rows: Iterable[list[str]]
) -> str:
    """A record as Markdown: where and how it was made, what its table has, and the table."""
    lines = [
        f"# {what}",
        "",
        f"{described['cpu']}, {described['cores']} cores, Linux {described['kernel']}, commit "
        f"{machine.commit()}; {how}.",
        about,
        "",
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def write(results: Path, suffix: str, record: dict, page: str) -> str:
    """Both files, and what to say of them; names may have dots in them, so no with_suffix()."""
    path = str(results / (machine.file_name(record["machine"]) + suffix))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(f"{path}.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    Path(f"{path}.md").write_text(page)
    return f"Written to {path}.json and .md"


def add_common_options(parser: argparse.ArgumentParser, minutes: float | None = None) -> None:
    parser.add_argument("--mpis", type=Path, default=ROOT / ".mpi", help="folder of the MPIs")
    parser.add_argument("--only", nargs="*", help="names of folders in it, instead of all three")
    add_results_option(parser)
    parser.add_argument("--quick", action="store_true", help="few samples, to try the script")
    if minutes is not None:
        text = f"that it may take ({minutes:g})"
        parser.add_argument("--minutes", type=float, default=minutes, help=text)


def add_results_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", type=Path, default=ROOT / "results")


class Recording:
    """From the options to the two files in results/."""

    def __init__(self, given: argparse.Namespace, suffix: str = ""):
        self.suffix, self.results, self.quick = suffix, given.results, given.quick
        self.console = console(170)
        self.machine = machine.describe()
        say_if_busy(self.machine, self.console)
        self.begin = time.monotonic()
        self.end = self.begin + 60 * vars(given).get("minutes", float("inf"))
        self.all = mpis(given.mpis.absolute())
        only = given.only or list(self.all)
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
            **head(self.machine),
            "mpis": names,
            "seconds": round(time.monotonic() - self.begin),
            **measured,
        }
        for failure in record.get("failures", ()):
            self.console.print(f"failed: {failure}", style="red", markup=False, highlight=False)
        show(self.console, record["verdicts"], names)
        written = write(self.results, self.suffix, record, markdown(record))
        self.console.print(f"{written} in {record['seconds']} s", highlight=False)
        return 0
