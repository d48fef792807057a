# SPDX-License-Identifier: BSD-3-Clause
"""A tool that counts every call of the MPI functions that it wraps, as profilers do, and what it
counts under Tutti and without.

It wraps whatever the MPI's libraries have under two names, MPI_X and PMPI_X, mpi_x_ and pmpi_x_ and
so on, and when its process ends writes a line for each function that was called into a file of its
rank, $TOOL_COUNTS.RANK.

Two kinds of wrapper, as a tool's code is after optimisation: one calls the function and comes back,
to look at the clock again, the other jumps to it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from rig.mpis import LIBRARY, PROGRAMS, Mpi, built

Counts = dict[str, dict[str, int]]

C_NAME = re.compile(r"MPIX?_[A-Z]\w*[a-z]\w*")
FORTRAN_NAME = re.compile(r"mpix?_\w+|MPIX?_[A-Z_]+")
# Functions of functions, and what Open MPI has between C and Fortran.
NOT_CALLED = re.compile(r"_fn|_FN|_f$|_f08$|_null$|_NULL$")

HEAD = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((visibility("hidden"))) unsigned long tool_counts[{number}];
__attribute__((visibility("hidden"))) void* tool_next[{number}];
static const char* const names[] = {{{names}}};
__attribute__((constructor)) static void find_next(void) {{
  for (int i = 0; i < {number}; ++i) tool_next[i] = dlsym(RTLD_NEXT, names[i]);
}}
__attribute__((destructor)) static void write_counts(void) {{
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (rank == NULL) rank = getenv("PMI_RANK");
  char path[4096];
  snprintf(path, sizeof path, "%s.%s", getenv("TOOL_COUNTS"), rank);
  FILE* file = NULL;
  for (int i = 0; i < {number}; ++i) {{
    if (tool_counts[i] == 0) continue;
    if (file == NULL) file = fopen(path, "w");
    fprintf(file, "%s %lu\\n", names[i], tool_counts[i]);
  }}
  if (file != NULL) fclose(file);
}}
"""
# Both leave registers alone, so they fit every function; a call copies the words on the stack, of
# which no function has more.
CODE = r"""
__asm__(R"(.text
.macro jumps name, count, to:vararg
  .globl \name
  .type \name, @function
\name:
  incq tool_counts+\count(%rip)
  jmp \to
.endm
.macro calls name, count, to:vararg
  .globl \name
  .type \name, @function
\name:
  push %rbp
  mov %rsp, %rbp
  incq tool_counts+\count(%rip)
  .irp word, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
  push 16+8*\word(%rbp)
  .endr
  call \to
  leave
  ret
.endm
{functions}
)");
"""


def symbols(libraries: list[Path]) -> set[str]:
    """What these libraries define."""
    command = ["nm", "-D", "--defined-only", *map(str, libraries)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^\w+ [TW] (\w+)", listed, re.MULTILINE))


def inner_names(defined: set[str]) -> dict[str, str]:
    """What can be wrapped, and what a wrapper calls then: of C and of Fortran."""
    result = {}
    for inner in sorted(defined):
        for begin, outer in (("PMPI", "MPI"), ("pmpir_", "mpi_"), ("pmpi", "mpi")):
            name = outer + inner[len(begin) :]
            if inner.startswith(begin) and name in defined and not NOT_CALLED.search(name):
                result.setdefault(name, inner)
    return result


def write_tool(defined: set[str], which: str, by: str, how: str) -> str:
    """C source. `which`: "c", "fortran" or "both" names; `by`: "pmpi", or "next" for the next
    function of the same name; `how`: "jumps" or "calls".
    """
    wrapped = {
        name: inner
        for name, inner in inner_names(defined).items()
        if (which != "fortran" and C_NAME.fullmatch(name))
        or (which != "c" and FORTRAN_NAME.fullmatch(name))
    }
    names = ",".join(f'"{name}"' for name in wrapped)
    functions = [
        f"{how} {name}, {8 * i}, "
        + (f"{inner}@PLT" if by == "pmpi" else f"*tool_next+{8 * i}(%rip)")
        for i, (name, inner) in enumerate(wrapped.items())
    ]
    head = HEAD.format(number=len(wrapped), names=names)
    return head + CODE.replace("{functions}", "\n".join(functions))


def libraries(mpi: Mpi, executable: Path) -> list[Path]:
    """Those of the MPI that a program is linked with."""
    listed = subprocess.run(
        ["ldd", str(executable)],
        env=os.environ | mpi.environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [Path(path) for path in re.findall(r"=> (\S*/libmpi\S*)", listed)]


def make(mpi: Mpi, executable: Path, which: str, by: str, how: str, *, shared: bool = True) -> Path:
    """The tool for an MPI and the names of the libraries that `executable` has."""
    name = f"tool-{executable.name}-{which}-{by}-{how}"
    tool = PROGRAMS / mpi.name / (name + (".so" if shared else ".o"))

    def compile_it(tool: Path) -> None:
        found = libraries(mpi, executable)
        source = tool.with_suffix(".c")
        source.write_text(write_tool(symbols(found), which, by, how))
        kind = ["-shared", "-Wl,-z,lazy", "-Wl,--no-as-needed"] if shared else ["-c"]
        linked = [str(each) for each in found] if shared else []
        subprocess.run(["cc", "-fPIC", *kind, str(source), *linked, "-o", str(tool)], check=True)

    return built(tool, [Path(__file__), executable], compile_it)


def run(
    mpi: Mpi, command: list[str], preload: list[Path], directory: Path, *tools: str
) -> tuple[Counts, dict[str, int]]:
    """What the tool counted, a rank each, and how many calls of each collective Tutti took."""
    counts, report = directory / "counts", directory / "report.json"
    for each in directory.iterdir():
        each.unlink()
    variables = {"LD_PRELOAD": ":".join(map(str, preload)), "TUTTI_REPORT": str(report)}
    variables["TOOL_COUNTS"] = str(counts)
    words = [f"{name}={value}" for name, value in variables.items()]
    result = mpi.run(2, ["env", f"--chdir={directory}", *words, *command, *tools])
    assert result.returncode == 0 and " 0 wrong" in result.stdout, result.stdout[-3000:]
    seen = {}
    for each in sorted(directory.glob("counts.*")):
        lines = (line.split() for line in each.read_text().splitlines())
        seen[each.name] = {name: int(count) for name, count in lines}
    taken = {}
    if LIBRARY in preload:
        taken = {row["collective"]: row["taken"] for row in json.loads(report.read_text())["calls"]}
        assert taken
    return seen, taken


def differences(bare: Counts, seen: Counts) -> list[str]:
    """What a tool counted otherwise than without Tutti."""
    return [
        f"{rank}: {name} {bare.get(rank, {}).get(name, 0)} bare, {seen.get(rank, {}).get(name, 0)}"
        for rank in sorted(bare.keys() | seen.keys())
        for name in sorted(bare.get(rank, {}).keys() | seen.get(rank, {}).keys())
        if bare.get(rank, {}).get(name, 0) != seen.get(rank, {}).get(name, 0)
    ]


class Compared:
    """Runs of one program under Tutti, against one without and one without a tool."""

    def __init__(
        self,
        mpi: Mpi,
        command: list[str],
        tool: Path,
        directory: Path,
        ignored: str = "$^",  # names that this is in
    ) -> None:
        self.mpi, self.command, self.directory = mpi, command, directory
        self.ignored = re.compile(ignored, re.IGNORECASE)
        self.compare_with(tool)
        _, self.taken = run(mpi, command, [LIBRARY], directory)
        assert len(self.taken) >= 17

    def compare_with(self, tool: Path) -> None:
        seen, _ = run(self.mpi, self.command, [tool], self.directory)
        self.bare = self.without_ignored(seen)
        assert len(self.bare) == 2

    def same(self, preload: list[Path], *tools: str, command: list[str] | None = None) -> None:
        seen, taken = run(self.mpi, command or self.command, preload, self.directory, *tools)
        others = differences(self.bare, self.without_ignored(seen))
        assert not others, others
        assert taken == self.taken, f"{taken} are not {self.taken}"

    def without_ignored(self, seen: Counts) -> Counts:
        return {
            rank: {name: count for name, count in counts.items() if not self.ignored.search(name)}
            for rank, counts in seen.items()
        }

    def unseen(self, *tools: str) -> None:
        seen, taken = run(self.mpi, self.command, [LIBRARY], self.directory, *tools)
        assert not seen, seen
        assert taken == self.taken, f"{taken} are not {self.taken}"
