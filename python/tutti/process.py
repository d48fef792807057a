# SPDX-License-Identifier: BSD-3-Clause
"""Runs the launcher as if it had been started in Tutti's place, and asks Tutti's own programs."""

from __future__ import annotations

import errno
import functools
import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Optional

from tutti.errors import InstallationError

FORWARDED = {
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
    signal.SIGUSR1, signal.SIGUSR2,
}  # fmt: skip
IGNORED_BY_PYTHON = {signal.SIGPIPE, signal.SIGXFSZ}
PR_SET_PDEATHSIG = 1
SI_KERNEL = 0x80  # the terminal's signals come from the kernel, to the whole foreground group


def hear_of_children() -> None:
    """Who has started this process may ignore their ends, and that is inherited."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def run(
    words: list[str],
    environment: Mapping[str, str],
    meanwhile: Optional[Callable[[], object]] = None,
) -> int:
    """Starts `words`, hands signals on, and returns the exit code as a shell would see it.

    The launcher stays in this process group and keeps stdin, so that it can read the terminal. A
    Ctrl-C therefore reaches it without our help, and must not reach it twice: Open MPI takes a
    second one as an order to kill the job at once. A signal sent to this process alone is sent on.
    What is called `meanwhile` has the time until the job is over.
    """
    hear_of_children()
    waited = FORWARDED | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    try:
        child = _spawn(words, environment, before, meanwhile)
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
            arrived = signal.sigwaitinfo(waited)
            if arrived.si_signo == signal.SIGCHLD or arrived.si_code == SI_KERNEL:
                continue
            os.kill(child, arrived.si_signo)
    finally:
        while signal.sigtimedwait(waited, 0):  # what arrived too late to matter
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    code = os.waitstatus_to_exitcode(ended[1])
    return code if code >= 0 else 128 - code


def _spawn(
    words: list[str],
    environment: Mapping[str, str],
    mask: Iterable[int],
    meanwhile: Optional[Callable[[], object]],
) -> int:
    """As os.posix_spawn, but what is started gets a SIGTERM when this process ends, even if that is
    killed: launchers end their jobs then. The kernel takes the end of the thread that forks for
    that of the process; here it is the only one.
    """
    parent = os.getpid()
    reader, writer = os.pipe()  # closed by exec
    child = os.fork()
    if child == 0:
        try:
            for number in FORWARDED | IGNORED_BY_PYTHON:  # no more handlers of Python's
                if number in IGNORED_BY_PYTHON or callable(signal.getsignal(number)):
                    signal.signal(number, signal.SIG_DFL)
            _end_with(parent)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.execve(words[0], words, environment)
        except BaseException as error:
            os.write(writer, str(getattr(error, "errno", None) or errno.EINVAL).encode())
        finally:
            os._exit(127)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        if meanwhile is not None:
            meanwhile()
        problem = pipe.read()
    if problem:
        os.waitpid(child, 0)
        raise OSError(int(problem), os.strerror(int(problem)), words[0])
    return child


def _end_with(parent: int) -> None:
    """Has the kernel send this process a SIGTERM when its parent ends."""
    call = prctl()
    if call is None:
        return
    call(PR_SET_PDEATHSIG, int(signal.SIGTERM))
    if os.getppid() != parent:  # it has ended before that
        os._exit(128 + signal.SIGTERM)


def end_with_this() -> Callable[[], None]:
    """The same for what `subprocess.Popen` starts, as its `preexec_fn`.

    It takes no lock that another thread of this process may hold.
    """
    prctl()  # not to be looked for between fork and exec
    return functools.partial(_end_with, os.getpid())


@functools.cache
def prctl() -> Any:
    """The system call, which Python has not; None if this one was built without ctypes."""
    try:
        import ctypes  # this takes some milliseconds

        found = ctypes.CDLL(None).prctl
        found.argtypes = [ctypes.c_int, ctypes.c_ulong]
    except (ImportError, OSError, AttributeError):
        return None
    return found


def output_of(
    words: list[str],
    environment: Mapping[str, str],
    timeout_s: float,
    meanwhile: Optional[Callable[[], object]] = None,
) -> str:
    """What a program that reads nothing prints; raises OSError, TimeoutError among them."""
    hear_of_children()
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        try:
            nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
            printed = [(os.POSIX_SPAWN_DUP2, writer, stream) for stream in (1, 2)]
            child = os.posix_spawn(
                words[0],
                words,
                environment,
                file_actions=[nothing, *printed],
                setsigdef=IGNORED_BY_PYTHON,
            )
        finally:
            os.close(writer)
        output = b""
        end = time.monotonic() + timeout_s
        try:
            if meanwhile is not None:
                meanwhile()
            while select.select([pipe], [], [], max(0, end - time.monotonic()))[0]:
                more = pipe.read(65536)
                if not more:
                    return output.decode(errors="replace")
                output += more
            raise TimeoutError(f"not within {timeout_s:.0f} s")
        except BaseException:  # a signal to end among them
            os.kill(child, signal.SIGKILL)
            raise
        finally:
            os.waitpid(child, 0)


def ask(program: Path, *words: str, timeout_s: Optional[float] = None) -> Any:
    """What a compiled program of Tutti's answers, which is JSON."""
    import json
    import subprocess  # `tutti run` has no use for it

    # What the user preloads is for the application, and must not change what is seen here.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        done = subprocess.run(
            [str(program), *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
        if done.returncode == 0:
            return json.loads(done.stdout)
        problem = done.stderr.strip() or f"exit code {done.returncode}"
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    raise InstallationError(f"{program} {' '.join(words)} failed: {problem}")
