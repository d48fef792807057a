# SPDX-License-Identifier: BSD-3-Clause
"""What can go wrong for the user: one class a kind, each with its exit code.

The message is one sentence that says what is wrong and, where there is one, the way out. Anything
that is not a TuttiError is a bug of Tutti and keeps its traceback under ``--debug``.
"""

from collections.abc import Iterable


class TuttiError(Exception):
    """A problem that the user can mend."""

    exit_code = 1


class UsageError(TuttiError):
    """The command line asks for something that does not exist."""

    exit_code = 2


class NotMpiError(TuttiError):
    """The application ended without ever calling MPI_Init under Tutti."""

    exit_code = 3


class NoMpiError(TuttiError):
    """No MPI launcher, or one that Tutti does not know."""

    exit_code = 4


class InstallationError(TuttiError):
    """A piece that the package should contain is missing or does not work."""

    exit_code = 5


class BenchError(TuttiError):
    """The benchmark started but did not finish."""

    exit_code = 6


class TraceError(TuttiError):
    """A file is not the trace that it should be."""

    exit_code = 7


class HostError(TuttiError):
    """A host cannot be reached, or has not the same Tutti."""

    exit_code = 8


class CannotExecuteError(TuttiError):
    """The application is there but cannot be executed (the shell's exit code for it)."""

    exit_code = 126


class NotFoundError(TuttiError):
    """The application is not there (the shell's exit code for it)."""

    exit_code = 127


def nearest(word: str, known: Iterable[str]) -> str:
    """``" (did you mean 'x'?)"`` for the known word most like `word`, or an empty string."""
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" (did you mean '{close[0]}'?)" if close else ""
