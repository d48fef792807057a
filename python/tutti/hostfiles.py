# SPDX-License-Identifier: BSD-3-Clause
"""Files of hosts: those of the user, and the one that Intel MPI gets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Optional

from tutti import arguments
from tutti.arguments import Host
from tutti.errors import UsageError

# What may follow a name, as Open MPI has it. No more ranks than `slots` are ever asked for.
SLOTS = re.compile(r"(?<![-_])\bslots\s*=\s*(\d+)")
FIELDS = re.compile(r"((max[-_])?slots\s*=\s*\d+\s*)*")


def read(file: Path) -> list[Host]:
    """The hosts of a file: ``a``, ``a:2`` (MPICH, Intel MPI) or ``a slots=2`` (Open MPI) a line."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{file} cannot be read as a file of hosts: {why}") from error
    found = []
    for line in text.splitlines():
        words = line.partition("#")[0].split(maxsplit=1)
        if not words:
            continue
        name, _, count = words[0].partition(":")
        rest = "".join(words[1:])
        slots = SLOTS.search(rest)
        number = arguments.number(count or (slots[1] if slots else "0"))
        if not name or name.startswith(("^", "/")) or number < 0 or not FIELDS.fullmatch(rest):
            raise UsageError(
                f"{file}: '{line.strip()}' is no host, such as a, a:2 or a slots=2; files with "
                "more in them are for the launcher, behind its own option"
            )
        found.append(Host(name, number))
    if not found:
        raise UsageError(f"{file} names no hosts: write one a line")
    return found


def once(hosts: Iterable[Host]) -> tuple[Host, ...]:
    """Each host once, with all of its ranks."""
    ranks: dict[str, int] = {}
    for host in hosts:
        ranks[host.name] = ranks.get(host.name, 0) + host.ranks
    return tuple(Host(name, count) for name, count in ranks.items())


def filled(file: Path, ranks: Optional[int]) -> tuple[Host, ...]:
    """The hosts of a file, with as many ranks as -n says in all: divided among hosts without
    numbers, else host by host as far as the numbers go."""
    hosts = once(read(file))
    if not any(host.ranks for host in hosts):
        if ranks is None:
            raise UsageError(f"--hostfile needs -n, or a number for each host in {file}, as a:2")
        return arguments.divided([host.name for host in hosts], ranks)
    if not all(host.ranks for host in hosts):
        raise UsageError(f"{file} must have a number of ranks for each host, or for none")
    total = sum(host.ranks for host in hosts)
    left = arguments.check_ranks("--hostfile", total) if ranks is None else ranks
    if left > total:
        raise UsageError(f"{file} has room for {total} ranks, and -n says {ranks}")
    found = []
    for host in hosts:
        found.append(Host(host.name, min(host.ranks, left)))
        left -= found[-1].ranks
    return tuple(host for host in found if host.ranks)


def write(file: Path, hosts: Sequence[Host]) -> Path:
    """For Hydra, a host a line."""
    lines = "".join(f"{host.name}:{host.ranks}\n" for host in hosts)
    file.write_text(lines, encoding="utf-8", errors="surrogateescape")
    return file
