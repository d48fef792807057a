# SPDX-License-Identifier: BSD-3-Clause
"""Asks tutti-probe, the compiled program that looks at this machine and knows the library."""

from __future__ import annotations

from typing import Any

from tutti import paths, process


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
    """What src/lab/model.h says of 1 to `cores` ranks; see docs/model.md."""
    return dict(_ask("model", str(cores)))


def _ask(*words: str) -> Any:
    return process.ask(paths.probe_program(), *words, timeout_s=60)
