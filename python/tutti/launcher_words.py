# SPDX-License-Identifier: BSD-3-Clause
"""Reads the launcher's options, whichever launcher it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Optional

from tutti.arguments import number

COUNTING = {"-n", "--n", "-np", "--np", "-c"}
# Before NAME=VALUE, or NAME alone, in Open MPI; before NAME=VALUE, or a name and a value, in Hydra.
HANDING_ON = {"-x", "--x"}
SETTING = {"-genv", "--genv", "-env", "--env"}
# How many values an option has. Of one that is not here only its launcher knows: it is taken to
# have one, unless another option comes next.
VALUES = {
    **{
        f"{dashes}{name}": 2
        for dashes in ("-", "--")
        for name in ("mca", "gmca", "omca", "gomca", "prtemca", "gprtemca", "pmixmca", "gpmixmca")
    },
    **{
        f"{dashes}{name}": 0
        for dashes in ("-", "--")
        for name in (
            "allow-run-as-root", "display-map", "envall", "envnone", "genvall", "genvnone", "l",
            "nooversubscribe", "oversubscribe", "prepend-rank", "report-bindings", "tag-output",
            "use-hwthread-cpus", "v", "verbose",
        )
    },
}  # fmt: skip


class Given(NamedTuple):
    """An option with its values; or a word that is neither, without."""

    name: str
    values: list[str]

    @property
    def words(self) -> list[str]:
        return [self.name, *self.values]


class Setting(NamedTuple):
    """A variable of the ranks; without a value it has the one that is here."""

    name: str
    value: Optional[str]


def read(words: Sequence[str]) -> Iterator[Given]:
    at = 0
    while at < len(words):
        end = at + 1 + _values(words[at], words[at + 1 :])
        yield Given(words[at], list(words[at + 1 : end]))
        at = end


def _values(word: str, rest: Sequence[str]) -> int:
    name, joined, value = word.partition("=")
    if not name.startswith("-"):
        return 0
    if joined:  # -env=NAME VALUE
        return int(name in SETTING and "=" not in value)
    if word in SETTING:
        return 1 if rest and "=" in rest[0] else 2
    return VALUES.get(word, int(bool(rest) and not rest[0].startswith("-")))


def names(words: Sequence[str]) -> set[str]:
    """Of the options, without their values."""
    return {given.name.partition("=")[0] for given in read(words)}


def leading(words: Sequence[str]) -> list[str]:
    """The options before a program, which is the first word that can be no value."""
    found: list[str] = []
    for given in read(words):
        if not given.name.startswith("-"):
            break
        found += given.words
    return found


def count(options: Sequence[str]) -> int:
    """How many ranks they ask for."""
    counts = (values[0] for name, values in read(options) if name in COUNTING and values)
    return max(0, number(next(counts, "0")))


def setting(given: Given) -> Optional[Setting]:
    """The variable that it sets; None if it sets none."""
    option, equals, joined = given.name.partition("=")  # as in --env=NAME=VALUE
    words = [joined, *given.values] if equals else given.values
    if option not in SETTING | HANDING_ON or not words:
        return None
    name, equals, value = words[0].partition("=")
    if not equals:
        return Setting(name, words[1] if len(words) > 1 else None)
    return Setting(name, value)


def values_of(variable: str, options: Iterable[Given]) -> list[Optional[str]]:
    """That the options give to a variable, in their order."""
    found = (setting(given) for given in options)
    return [each.value for each in found if each is not None and each.name == variable]
