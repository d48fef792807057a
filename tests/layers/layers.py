# SPDX-License-Identifier: BSD-3-Clause
"""What src/README.md promises about the layers, as functions that list what breaks it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

# Not layers of the library: what stands beside it, and what each may use.
PROGRAMS = {
    "lab": {"base", "arch", "memory", "segment", "choice", "fabric", "lab"},
    "probe": {"base", "os", "lab", "probe"},
    "simulate": {
        *(
            "base",
            "os",
            "reduce",
            "choice",
            "fabric",
            "coll",
            "progress",
            "lab",
            "probe",
            "simulate",
        ),
    },
}
SUFFIXES = {".h", ".cc", ".def"}
MOST_LINES = 600
MOST_LINES_OF_A_FUNCTION = 60

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"')
# Who may know the processor: arch/, and the kernels, which choose among instruction sets.
KNOW_THE_PROCESSOR = ("src/arch/", "src/reduce/", "bench/reduce/")
ISA_NAME = re.compile(
    r"\b(?:__x86_64__|__aarch64__|__i386__|__(?:SSE|AVX|ARM|BMI)\w*|_mm\d*_\w+|__builtin_ia32_\w+"
    r"|\w*mmintrin\.h|x86intrin\.h|arm_\w+\.h|HWY_ARCH_\w+|hwy/\w+)"
)
# Assembly without an instruction only keeps the compiler from knowing something.
ASSEMBLY = re.compile(r'\b(?:asm|__asm__)\s*(?:volatile|__volatile__)?\s*\((?!\s*""\s*:)')
MPI_NAME = re.compile(r"\bP?MPI_\w+")


def order(readme: str) -> list[str]:
    """The layers, lowest first, from the first table of src/README.md."""
    return re.findall(r"^\| `(\w+)/` \|", readme.split("Beside the library")[0], re.MULTILINE)


def sources(src: Path) -> Iterator[Path]:
    return (p for p in sorted(src.rglob("*")) if p.suffix in SUFFIXES)


def unknown_folders(src: Path, layers: list[str]) -> list[str]:
    folders = {p.relative_to(src).parts[0] for p in sources(src)}
    return sorted(folders - set(layers) - set(PROGRAMS))


def upward_includes(src: Path, layers: list[str]) -> list[str]:
    """``file: includes x/y.h`` for each include of a layer above, or of no layer at all."""
    problems = []
    for path in sources(src):
        layer = path.relative_to(src).parts[0]
        allowed = PROGRAMS.get(layer) or set(layers[: layers.index(layer) + 1])
        for included in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE):
            if "/" not in included or included.split("/")[0] not in allowed:
                problems.append(f"{path.relative_to(src)}: includes {included}")
    return problems


def mpi_names(src: Path) -> list[str]:
    """Uses of mpi.h or of an MPI name in the code of any layer but mpi/."""
    problems = []
    for path in sources(src):
        if path.relative_to(src).parts[0] == "mpi":
            continue
        code = COMMENT.sub("", path.read_text())
        if re.search(r'#\s*include\s+[<"](.*/)?mpi\.h[>"]', code):
            problems.append(f"{path.relative_to(src)}: includes mpi.h")
        problems += [f"{path.relative_to(src)}: {n}" for n in MPI_NAME.findall(TEXT.sub("", code))]
    return problems


def isa_names(root: Path, files: list[str]) -> list[str]:
    """``file: name`` for what belongs to one processor, but in arch/ and the kernels."""
    problems = []
    for name in files:
        if not name.endswith((".cc", ".h")) or name.startswith(KNOW_THE_PROCESSOR):
            continue
        code = COMMENT.sub("", (root / name).read_text())
        found = [*ISA_NAME.findall(code), *(["assembly"] if ASSEMBLY.search(code) else [])]
        problems += [f"{name}: {what}" for what in found]
    return problems


def unlicensed(root: Path, files: list[str]) -> list[str]:
    """C++ files whose first line is not the licence's SPDX line."""
    wanted = "// SPDX-License-Identifier: BSD-3-Clause"
    chosen = [name for name in files if name.endswith((".cc", ".h", ".def"))]
    return [n for n in chosen if not (root / n).read_text().startswith(wanted)]


def too_long(root: Path, files: list[str]) -> list[str]:
    chosen = [name for name in files if name.endswith((".cc", ".h", ".py", ".sh"))]
    return [n for n in chosen if (root / n).read_text().count("\n") > MOST_LINES]


def stale_words(glossary: str, src: Path) -> list[str]:
    """Words of the glossary that are in none of the files that its row names, and such files."""
    found = []
    for line in glossary.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 4 or "`" not in cells[3]:
            continue
        text = ""
        for path in re.findall(r"`([^`]+)`", cells[3]):
            named = [each for each in src.glob(path) if each.is_file()]
            files = named or [each for each in (src / path).rglob("*") if each.is_file()]
            if not files:
                found.append(f"{path} is not there")
            text += "".join(each.read_text() for each in files)
        for word in re.split(r"[,;] ", re.sub(r"\([^)]*\)|`", "", cells[0])):
            parts = re.split(r"[ -]", word.strip().removesuffix("_x"))
            # In a name or a text, perhaps at the end of a line; not inside or behind another word.
            pattern = r"[\s_-]*(?://\s*)?".join(map(re.escape, parts))
            if not re.search(rf"(?<![a-z]){pattern}", text, re.IGNORECASE):
                found.append(f"{word.strip()} is not in {cells[3]}")
    return found


def long_functions(src: Path) -> list[str]:
    """``file:line: lines`` for each function with more lines, its signature included.

    Source is laid out by clang-format: a body ends with a brace under the signature's beginning.
    """
    problems = []
    for path in sources(src):
        begins = {0: 0, 2: 0}  # by indent: the last line that begins there
        for number, line in enumerate(path.read_text().splitlines(), 1):
            indent = len(line) - len(line.lstrip())
            if indent not in begins or re.match(r"\s*($|//|#)", line):
                continue
            length = number - begins[indent] + 1
            if line.strip() == "}" and length > MOST_LINES_OF_A_FUNCTION:
                problems.append(f"{path.relative_to(src)}:{begins[indent]}: {length}")
            begins[indent] = number
    return problems
