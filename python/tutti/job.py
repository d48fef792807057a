# SPDX-License-Identifier: BSD-3-Clause
"""What `tutti run` does.

It starts as often as programs do, so this imports little: `--help` alone needs the other commands'
library for command lines.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from tutti import (
    arguments,
    files,
    hostfiles,
    launch,
    launcher_words,
    mpi,
    paths,
    process,
    remarks,
)
from tutti.arguments import Host, Option
from tutti.errors import CannotExecuteError, NotFoundError, NotMpiError, UsageError, nearest

TRACE = Option(("--trace",), "Record what runs on each core, for `tutti trace`.", "FILE")
QUIET = Option(("--quiet", "-q"), "No summary at the end.")
HELP = Option(("--help",), "Show this message and exit.")
OPTIONS = (
    arguments.RANKS,
    arguments.HOSTS,
    arguments.HOSTFILE,
    arguments.MPI,
    arguments.COMM_CORES,
    TRACE,
    QUIET,
    arguments.ALLOW_ROOT,
    HELP,
)
NAMED = {name: option for option in OPTIONS for name in option.names}

# The launcher looks for programs there.
ELSEWHERE = {"--wdir", "-wdir", "--wd", "-wd", "--path", "-path"}


class Words(NamedTuple):
    """A command line, taken apart."""

    own: dict[Option, str]  # the last value of each; a flag's is empty
    launcher: list[str]
    program: list[str]


def split(words: Sequence[str]) -> Words:
    """Tutti's options, the launcher's options, and the program with its arguments."""
    own: dict[Option, str] = {}
    others: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word == "--":
            return Words(own, others, list(words[at + 1 :]))
        option = NAMED.get(name)
        if option is not None:
            if option.metavar is None:
                if equals:
                    raise _usage(f"option '{name}' does not take a value")
            elif not equals:
                at += 1
                if at == len(words):
                    raise _usage(f"option '{name}' requires an argument")
                value = words[at]
            own[option] = value
        elif word.startswith("-") or others:
            others.append(word)
        else:
            return Words(own, [], list(words[at:]))
        at += 1
    if others and HELP not in own:
        hint = nearest(others[0], NAMED)
        raise UsageError(
            f"`tutti run` has no option {others[0]}{hint}; to hand it to the launcher, "
            "put `--` before the program"
        )
    return Words(own, [], [])


def _usage(problem: str) -> UsageError:
    return UsageError(f"{problem} (`tutti run --help` shows what it takes)")


def run(words: Words) -> int:
    """The exit code of the job, or of what kept it from running."""
    own, launcher_options, program = words
    if not program:
        raise UsageError("there is no program to run: `tutti run -n 2 ./app`")
    quiet = QUIET in own
    ranks = arguments.rank_count(own.get(arguments.RANKS))
    job = launch.Job(program, ranks, launcher_options, arguments.ALLOW_ROOT in own)
    job = job._replace(hosts=hosts_of(own, job.all_ranks))
    if ranks is None and job.hosts:
        job = job._replace(ranks=sum(host.ranks for host in job.hosts))
    trace = trace_file(Path(own[TRACE]) if TRACE in own else None, job)
    found = mpi.find(own.get(arguments.MPI))
    check_program(program[0], launcher_options)
    elsewhere = launch.placed_by_user(job, os.environ)
    comm_cores = arguments.communication_cores(
        own.get(arguments.COMM_CORES), here=not launch.names_hosts(job, os.environ)
    )
    with paths.temporary_directory() as directory:
        if job.hosts and found.family == "intel":
            job = job._replace(machine_file=hostfiles.write(directory / "hosts", job.hosts))
        kept = report_file(elsewhere)
        report = kept or directory / "report.json"
        before, before_trace = _written(report), _written(trace)
        last_words = report.with_name(report.name + ".fatal")  # what ranks said last
        heard = last_words.stat().st_size if last_words.exists() else 0
        more = options_of(comm_cores, trace)
        untouched = _written(directory)
        code = _start(found, job, report, more, quiet)
        if last_words.exists():
            said = last_words.read_bytes()[heard:].decode(errors="replace")
            _summary().print_last_words(said)
            code = code or int(bool(said))  # launchers may forget
        reported = _written(report) != before
        tried = _written(directory) not in (None, untouched)  # a rank, to write its report
        traced = trace if _written(trace) != before_trace else None
        if reported and not quiet:
            trouble = _summary().print_report(report, str(found), traced, _again(own))
            code = code or trouble
        elif trace is not None and code != 0 and not quiet:
            _summary().print_no_trace()
    if code == 0 and not reported and not elsewhere and not launch.is_off(job, os.environ):
        _without_report(program[0], kept, directory.parent if tried else None, quiet)
    return code


def hosts_of(own: dict[Option, str], ranks: Optional[int]) -> tuple[Host, ...]:
    """The hosts that the command line names, with their ranks; none: the launcher decides."""
    named, file = own.get(arguments.HOSTS), own.get(arguments.HOSTFILE)
    arguments.check_one_says_hosts(named, file)
    if file is not None:
        return hostfiles.filled(Path(file), ranks)
    return arguments.hosts(named, ranks)


def _again(own: dict[Option, str]) -> list[str]:
    """Options that another command needs, too, to find the same MPI and start it."""
    words = []
    for option in (arguments.MPI, arguments.ALLOW_ROOT):
        if option in own:
            words += [option.names[0], *([own[option]] if option.metavar is not None else ())]
    return words


def report_file(elsewhere: bool) -> Optional[Path]:
    """Where the user wants the report, if at all; rank 0 may run elsewhere."""
    named = os.environ.get("TUTTI_REPORT")
    if not named:
        return None
    file = Path(named).absolute()
    if not elsewhere:
        _check_ordinary(file)
    return file


def trace_file(named: Optional[Path], job: launch.Job) -> Optional[Path]:
    """Where the trace goes, wherever a rank may run; None without one."""
    if named is None and os.environ.get("TUTTI_TRACE"):
        named = Path(os.environ["TUTTI_TRACE"])
    if named is None:
        return None
    _check_ordinary(named)
    file = named.resolve()
    if not os.access(file.parent, os.W_OK):
        raise UsageError(f"{named} cannot be written: {file.parent} is not yours to write to")
    if launch.is_off(job, os.environ):
        raise UsageError("there is nothing to trace with TUTTI_OFF=1: unset it, or drop --trace")
    return file


def _check_ordinary(file: Path) -> None:
    """A file for the library to write: no device, nor this command's output under another name."""
    arguments.check_outputs(file)
    if not file.exists():
        return
    outputs = [os.fstat(stream) for stream in (1, 2)]
    if not file.is_file() or any(os.path.samestat(file.stat(), output) for output in outputs):
        raise UsageError(f"{file} cannot be written: it is no ordinary file")


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
                remarks.say(f"tutti: {note}")
        meanwhile = None if quiet else _summary
        return process.run(started.words, started.environment, meanwhile)


def _summary() -> Any:
    """What prints the summary: there is time to import it while the job runs."""
    return importlib.import_module("tutti.reporters.summary")


def _written(file: Optional[Path]) -> Optional[int]:
    return file.stat().st_mtime_ns if file is not None and file.exists() else None


def check_program(word: str, launcher_options: list[str]) -> None:
    """One clear sentence for what a launcher would say on a page, once a rank."""
    if not Path(word).is_absolute() and not ELSEWHERE.isdisjoint(
        launcher_words.names(launcher_options)
    ):
        return
    if os.sep not in word:
        if shutil.which(word) is None:
            here = files.is_file(Path(word))
            hint = f" (did you mean './{word}'?)" if here else ""
            raise NotFoundError(f"there is no program '{word}' in PATH{hint}")
        return
    try:
        Path(word).stat()
    except PermissionError as error:
        raise CannotExecuteError(f"{word} cannot be reached: permission denied") from error
    except OSError as error:
        raise NotFoundError(f"there is no program {word}") from error
    if files.is_directory(Path(word)):
        raise CannotExecuteError(f"{word} is a directory, not a program")
    if not os.access(word, os.X_OK):
        raise CannotExecuteError(f"{word} is not executable (chmod +x, or name its interpreter)")


def _without_report(program: str, kept: Optional[Path], tried: Optional[Path], quiet: bool) -> None:
    """Why a job that has succeeded has none, though its rank 0 was here. One that failed or was
    stopped writes none, and its own exit code says more."""
    if tried is not None:  # in a folder of this job alone
        if not quiet:
            remarks.say(
                "tutti: there is no summary: the report could not be written: is there room in "
                f"{tried}?"
            )
        return
    if kept is not None:
        raise NotMpiError(
            f"{program} left no report: either {kept} could not be written, or it did not call "
            "MPI_Init and MPI_Finalize under Tutti"
        )
    raise NotMpiError(
        f"{program} ended without calling MPI_Init and MPI_Finalize under Tutti: is it an MPI "
        "program, built for this MPI and not linked statically with it?"
    )
