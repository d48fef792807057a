# SPDX-License-Identifier: BSD-3-Clause
"""Asks tutti-probe, the compiled program that looks at this machine and knows the library."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from tutti import paths
from tutti.errors import InstallationError


def machine() -> dict[str, Any]:
    """Cores, caches, NUMA nodes, memory and the limits of this process."""
    return dict(_ask("machine"))


def memory() -> list[dict[str, Any]]:
    """The ways to a peer's memory, each tried: name, available, reason, advice."""
    return list(_ask("memory"))


def options() -> list[dict[str, str]]:
    """The library's table of options: name, type, default, meaning."""
    return list(_ask("options"))


def model(cores: int) -> dict[str, Any]:
    """What src/model/ says of 1 to `cores` ranks; see docs/model.md."""
    return dict(_ask("model", str(cores)))


def _ask(*words: str) -> Any:
    program = str(paths.probe_program())
    # What the user preloads is for the application, and must not change what is seen here.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        done = subprocess.run(
            [program, *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if done.returncode == 0:
            return json.loads(done.stdout)
        problem = done.stderr.strip() or f"exit code {done.returncode}"
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    raise InstallationError(f"{program} {' '.join(words)} failed: {problem}")
