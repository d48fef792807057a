# SPDX-License-Identifier: BSD-3-Clause
"""Run an MPI program with Tutti's collectives.

Everything after `--` is the program and its arguments; what stands before it and is not an option
of Tutti goes to the launcher as it is. Without launcher options the `--` may be left out:

    tutti run -n 8 ./app --its-own-option
    tutti run -n 8 --bind-to core -- ./app
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Optional

import typer
from typer.core import TyperCommand

from tutti import arguments, launch, mpi, paths, process
from tutti.errors import CannotExecuteError, NotFoundError, NotMpiError, UsageError, nearest

# The launcher looks for programs there.
ELSEWHERE = {"--wdir", "-wdir", "--wd", "-wd", "--path", "-path"}


class Command(TyperCommand):
    """Takes Tutti's options out of the words; the rest is the launcher's and the program's."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        takes_value = {
            name: not getattr(p, "is_flag", False) for p in self.get_params(ctx) for name in p.opts
        }
        own, launcher, program = split(args, takes_value)
        ctx.meta["launcher"], ctx.meta["program"] = launcher, program
        return super().parse_args(ctx, own)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", "[LAUNCHER OPTIONS --]", "PROGRAM", "[ARGUMENTS]"]


def split(words: list[str], takes_value: dict[str, bool]) -> tuple[list[str], list[str], list[str]]:
    """Tutti's options, the launcher's options, and the program with its arguments."""
    own: list[str] = []
    others: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        name = word.split("=", 1)[0] if word.startswith("--") else word
        if word == "--":
            return own, others, words[at + 1 :]
        if name in takes_value:
            count = 2 if takes_value[name] and "=" not in word else 1
            own += words[at : at + count]
            at += count
        elif word.startswith("-") or others:
            others.append(word)
            at += 1
        else:
            return own, [], words[at:]
    if others:
        hint = nearest(others[0], takes_value)
        raise UsageError(
            f"`tutti run` has no option {others[0]}{hint}; to hand it to the launcher, "
            "put `--` before the program"
        )
    return own, [], []


def register(app: typer.Typer) -> None:
    app.command("run", cls=Command, help=__doc__)(run)


def run(
    ctx: typer.Context,
    ranks_text: Optional[str] = arguments.RANKS,
    mpi_path: Optional[str] = arguments.MPI,
    comm_cores_text: Optional[str] = arguments.COMM_CORES,
    trace: Optional[Path] = typer.Option(
        None, "--trace", metavar="FILE", help="Record what runs on each core, for `tutti trace`."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No summary at the end."),
    allow_root: bool = arguments.ALLOW_ROOT,
) -> None:
    launcher_options, program = ctx.meta["launcher"], ctx.meta["program"]
    if not program:
        raise UsageError("there is no program to run: `tutti run -n 2 ./app`")
    ranks = arguments.rank_count(ranks_text)
    comm_cores = arguments.communication_cores(comm_cores_text)
    trace = trace_file(trace)
    found = mpi.find(mpi_path)
    check_program(program[0], launcher_options)
    job = launch.Job(program, ranks, launcher_options, allow_root)
    with tempfile.TemporaryDirectory(prefix="tutti-") as directory:
        report = Path(os.environ.get("TUTTI_REPORT") or Path(directory) / "report.json").absolute()
        before, before_trace = _written(report), _written(trace)
        words = report.with_name(report.name + ".fatal")  # what ranks said last
        heard = words.stat().st_size if words.exists() else 0
        more = options_of(comm_cores, trace)
        code = _start(found, job, report, more, quiet)
        if words.exists():
            said = words.read_bytes()[heard:].decode(errors="replace")
            _summary().print_last_words(said)
            code = code or int(bool(said))  # launchers may forget
        reported = _written(report) != before
        traced = trace if _written(trace) != before_trace else None
        if reported and not quiet:
            _summary().print_summary(_summary().read(report), str(found), traced)
        elif trace is not None and code != 0 and not quiet:
            _summary().print_no_trace()
    if not reported:
        code = _without_report(program[0], code, launch.placed_by_user(job, os.environ))
    raise typer.Exit(code)


def trace_file(named: Optional[Path]) -> Optional[Path]:
    """Where the trace goes, wherever a rank may run; None without one."""
    if named is None and os.environ.get("TUTTI_TRACE"):
        named = Path(os.environ["TUTTI_TRACE"])
    if named is None:
        return None
    arguments.check_outputs(named)
    file = named.resolve()
    if file.exists() and not file.is_file():
        raise UsageError(f"{named} cannot be written: it is no ordinary file")
    if not os.access(file.parent, os.W_OK):
        raise UsageError(f"{named} cannot be written: {file.parent} is not yours to write to")
    if os.environ.get("TUTTI_OFF") == "1":
        raise UsageError("there is nothing to trace with TUTTI_OFF=1: unset it, or drop --trace")
    return file


def options_of(comm_cores: int, trace: Optional[Path]) -> dict[str, str]:
    """The library's options that the command line has set."""
    options = launch.core_variables(comm_cores)
    return options if trace is None else {**options, "TUTTI_TRACE": str(trace)}


def _start(
    found: mpi.Mpi, job: launch.Job, report: Path, options: dict[str, str], quiet: bool
) -> int:
    with paths.preloadable_library() as library:
        variables = launch.rank_variables(found, library, os.environ, report)
        variables.update(options)
        started = launch.build(found, job, variables, os.environ)
        if not quiet:
            for note in started.notes:
                print(f"tutti: {note}", file=sys.stderr)
        meanwhile = None if quiet else _summary
        return process.run(started.words, started.environment, meanwhile)


def _summary() -> Any:
    """What prints the summary: to import it takes as long as to start a small job."""
    return importlib.import_module("tutti.reporters.summary")


def _written(file: Optional[Path]) -> Optional[int]:
    return file.stat().st_mtime_ns if file is not None and file.exists() else None


def check_program(word: str, launcher_options: list[str]) -> None:
    """One clear sentence for what a launcher would say on a page, once a rank."""
    if not Path(word).is_absolute() and not ELSEWHERE.isdisjoint(launcher_options):
        return
    if os.sep not in word:
        if shutil.which(word) is None:
            here = Path(word).is_file()
            hint = f" (did you mean './{word}'?)" if here else ""
            raise NotFoundError(f"there is no program '{word}' in PATH{hint}")
        return
    path = Path(word)
    if not path.exists():
        raise NotFoundError(f"there is no program {word}")
    if path.is_dir():
        raise CannotExecuteError(f"{word} is a directory, not a program")
    if not os.access(path, os.X_OK):
        raise CannotExecuteError(f"{word} is not executable (chmod +x, or name its interpreter)")


def _without_report(program: str, code: int, elsewhere: bool) -> int:
    # A job that failed or was stopped writes no report, and its own exit code says more. Nor does
    # one whose rank 0 is on another node leave it here.
    if code != 0 or elsewhere or os.environ.get("TUTTI_OFF") == "1":
        return code
    raise NotMpiError(
        f"{program} ended without calling MPI_Init and MPI_Finalize under Tutti: is it an MPI "
        "program, built for this MPI and not linked statically with it?"
    )
