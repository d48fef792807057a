# SPDX-License-Identifier: BSD-3-Clause
"""`tutti doctor` of several hosts: what is the same everywhere once, and what differs by host."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from tutti.hosts import Answer
from tutti.reporters.checks import Check, print_checks
from tutti.reporters.quantities import plural

MOST_NAMES = 4  # the largest group of more hosts is "the other" ones
FREE_MIB = re.compile(r"\d+(?= MiB of it free)")  # is never the same on two hosts

Said = TypeVar("Said")


class Looked(NamedTuple):
    """What there is to say about a host."""

    machine: str
    usable_cores: int
    checks: Sequence[Check]


def print_hosts(looked: Mapping[str, Looked], silent: Sequence[Answer], what: str) -> None:
    """The hosts by name, those that have no answer, and what was looked for."""
    rows = [
        Check("host", False, f"{answer.host.name}: {answer.problem}", answer.advice)
        for answer in silent
    ]
    titles = dict.fromkeys(check.title for each in looked.values() for check in each.checks)
    for title in titles:
        by_host = {
            name: check
            for name, each in looked.items()
            for check in each.checks
            if check.title == title
        }
        for names, check in _grouped(_least_free(by_host)):
            rows.append(
                replace(check, reason=f"{names}: {check.reason}" if names else check.reason)
            )
    cores = sum(each.usable_cores for each in looked.values())
    hosts = plural(len(looked) + len(silent), "host")
    cores_in_all = f", {plural(cores, 'usable core')} in all" if looked else ""
    headings = [f"{len(looked)} of {hosts} looked at: {what}{cores_in_all}"]
    for names, machine in _grouped({name: each.machine for name, each in looked.items()}):
        headings.append(f"{names or 'each'}: {machine}")
    print_checks(headings, rows)


def _grouped(by_host: Mapping[str, Said]) -> list[tuple[str, Said]]:
    """Names of hosts that say the same, and what they say; no names if all do."""
    groups: dict[Said, list[str]] = {}
    for name, said in by_host.items():
        groups.setdefault(said, []).append(name)
    if len(groups) < 2:
        return [("", said) for said in groups]
    largest = max(groups.values(), key=len)
    return [
        (
            f"the other {len(names)} hosts"
            if names is largest and len(names) > MOST_NAMES
            else ", ".join(names),
            said,
        )
        for said, names in groups.items()
    ]


def _least_free(by_host: Mapping[str, Check]) -> Mapping[str, Check]:
    """The checks, where memory that is free at the moment does not tell hosts apart."""
    free = {int(n) for check in by_host.values() for n in FREE_MIB.findall(check.reason)}
    if len(free) < 2:
        return by_host
    words = f"at least {min(free)}"
    return {
        name: replace(check, reason=FREE_MIB.sub(words, check.reason))
        for name, check in by_host.items()
    }
