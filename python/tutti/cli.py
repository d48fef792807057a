# SPDX-License-Identifier: BSD-3-Clause
"""The `tutti` command: finds the command that is named and turns every error into one sentence."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, Optional

from tutti import remarks
from tutti.errors import TuttiError


class Ended(BaseException):
    """A signal asks this process to end, which first ends what it has started."""


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line and exits with its code."""
    for name in ("stdin", "stdout", "stderr"):  # one that was closed is None
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("r" if name == "stdin" else "w"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):  # names of files are no text, and not every locale has
        if hasattr(stream, "reconfigure"):  # the letters of a title
            whole = stream.encoding.lower().replace("-", "") == "utf8"
            stream.reconfigure(errors="surrogateescape" if whole else "backslashreplace")
    words = list(sys.argv[1:] if arguments is None else arguments)
    code = _run(words or ["--help"])
    with contextlib.suppress(OSError, ValueError):  # closed: _run has said so
        sys.stdout.flush()
        sys.stderr.flush()
    if "matplotlib" in sys.modules:  # it may have files to remove
        sys.exit(code)
    os._exit(code)  # taking the interpreter apart takes longer than most commands


def _run(words: list[str]) -> int:
    debug = words[0] == "--debug"
    try:
        if words[debug:][:1] == ["run"]:
            from tutti import job

            taken_apart = job.split(words[debug + 1 :])
            if job.HELP not in taken_apart.own:
                return job.run(taken_apart)
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _end)
        # To import this takes longer than to start a small job.
        from tutti import application

        return application.main(words)
    except TuttiError as error:
        return _say(str(error), error.exit_code)
    except KeyboardInterrupt:
        return 130
    except Ended as asked:
        return 128 + int(asked.args[0])
    except SystemExit:  # of the library that prints tables: nobody reads them
        return 141
    except BrokenPipeError:
        sys.stderr.close()
        return 141
    except OSError as error:  # no memory, no processes, no room, a list of words that is too long
        if debug:
            raise
        return _say(f"{error.filename or 'the system'}: {error.strerror or error}", 1)
    except Exception as error:  # a bug of ours: never a traceback unless one is asked for
        if debug:
            import traceback

            remarks.say(traceback.format_exc().rstrip())
        return _say(
            f"this is a bug of Tutti, please report it: {type(error).__name__}: {error} "
            "(`tutti --debug ...` shows where)",
            70,
        )


def _end(number: int, _: object) -> NoReturn:
    for each in (signal.SIGTERM, signal.SIGHUP):  # a process and its group may get it, one by one
        signal.signal(each, signal.SIG_IGN)
    raise Ended(number)


def _say(message: str, code: int) -> int:
    remarks.say(f"tutti: {message}")
    return code
