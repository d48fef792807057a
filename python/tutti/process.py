# SPDX-License-Identifier: BSD-3-Clause
"""Runs the launcher as if it had been started in Tutti's place, and asks Tutti's own programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from tutti.errors import InstallationError

FORWARDED = {
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
    signal.SIGUSR1, signal.SIGUSR2,
}  # fmt: skip
SI_KERNEL = 0x80  # the terminal's signals come from the kernel, to the whole foreground group


def run(
    words: Sequence[str],
    environment: Mapping[str, str],
    meanwhile: Optional[Callable[[], object]] = None,
) -> int:
    """Starts `words`, hands signals on, and returns the exit code as a shell would see it.

    The launcher stays in this process group and keeps stdin, so that it can read the terminal. A
    Ctrl-C therefore reaches it without our help, and must not reach it twice: Open MPI takes a
    second one as an order to kill the job at once. A signal sent to this process alone is sent on.
    What is called `meanwhile` has the time until the job is over.
    """
    waited = FORWARDED | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    try:
        child = subprocess.Popen(
            list(words),
            env=dict(environment),
            # Safe here: this program has one thread.
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),  # noqa: PLW1509
        )
        if meanwhile is not None:
            meanwhile()
        while child.poll() is None:
            arrived = signal.sigwaitinfo(waited)
            if arrived.si_signo == signal.SIGCHLD or arrived.si_code == SI_KERNEL:
                continue
            os.kill(child.pid, arrived.si_signo)
    finally:
        while signal.sigtimedwait(waited, 0):  # what arrived too late to matter
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def ask(program: Path, *words: str, timeout_s: Optional[float] = None) -> Any:
    """What a compiled program of Tutti's answers, which is JSON."""
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
