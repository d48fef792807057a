# SPDX-License-Identifier: BSD-3-Clause
"""The order of the layers holds, and each check can fail."""

from __future__ import annotations

import subprocess
from pathlib import Path

import layers
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SRC = ROOT / "src"
ORDER = layers.order((SRC / "README.md").read_text())
LISTED = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]


@pytest.fixture(scope="module")
def files() -> list[str]:
    listed = subprocess.run(LISTED, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def test_the_readme_names_the_layers():
    assert ORDER[0] == "base"
    assert ORDER[-1] == "preload"


def test_every_folder_is_in_the_readme():
    assert layers.unknown_folders(SRC, ORDER) == []


def test_no_file_includes_upward():
    assert layers.upward_includes(SRC, ORDER) == []


def test_mpi_stays_in_its_layer():
    assert layers.mpi_names(SRC) == []


def test_only_arch_and_the_kernels_know_the_processor(files: list[str]):
    assert layers.isa_names(ROOT, files) == []


def test_licence_lines(files: list[str]):
    assert layers.unlicensed(ROOT, files) == []


def test_no_file_is_too_long(files: list[str]):
    assert layers.too_long(ROOT, files) == []


def test_the_glossary_names_files_with_its_words():
    glossary = (ROOT / "docs" / "glossary.md").read_text()
    assert layers.stale_words(glossary, ROOT / "src") == []


def test_no_function_is_too_long():
    assert layers.long_functions(SRC) == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for layer in ("base", "os", "mpi"):
        (tmp_path / layer).mkdir()
    (tmp_path / "os" / "os.h").write_text('#include "base/base.h"\n#include <mutex>\n')
    (tmp_path / "mpi" / "mpi.cc").write_text("#include <mpi.h>\nint f() { return MPI_SUCCESS; }\n")
    return tmp_path


def test_a_good_tree_passes(tree: Path):
    assert layers.upward_includes(tree, ["base", "os", "mpi"]) == []
    assert layers.mpi_names(tree) == []
    assert layers.unknown_folders(tree, ["base", "os", "mpi"]) == []


def test_an_upward_include_is_found(tree: Path):
    (tree / "base" / "base.h").write_text('  #  include "os/os.h"\n')
    found = layers.upward_includes(tree, ["base", "os", "mpi"])
    assert found == ["base/base.h: includes os/os.h"]


def test_an_include_of_no_layer_is_found(tree: Path):
    (tree / "os" / "os.cc").write_text('#include "os.h"\n#include "../base/base.h"\n')
    found = layers.upward_includes(tree, ["base", "os", "mpi"])
    assert found == ["os/os.cc: includes os.h", "os/os.cc: includes ../base/base.h"]


def test_an_unknown_folder_is_found(tree: Path):
    assert layers.unknown_folders(tree, ["base", "mpi"]) == ["os"]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("#include <mpi.h>\n", ["os/x.cc: includes mpi.h"]),
        ("int a = MPI_SUM + PMPI_Bcast;\n", ["os/x.cc: MPI_SUM", "os/x.cc: PMPI_Bcast"]),
        ('// MPI_SUM\n/* MPI_SUM\n */ const char* s = "MPI_Bcast";\n', []),
    ],
)
def test_an_mpi_name_is_found(tree: Path, code: str, found: list[str]):
    (tree / "os" / "x.cc").write_text(code)
    assert layers.mpi_names(tree) == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("#if defined(__x86_64__)\n#endif\n", ["src/os/x.cc: __x86_64__"]),
        ("#include <emmintrin.h>\n", ["src/os/x.cc: emmintrin.h"]),
        (
            "void f() { _mm_pause(); __builtin_ia32_pause(); }\n",
            ["src/os/x.cc: _mm_pause", "src/os/x.cc: __builtin_ia32_pause"],
        ),
        ('void f() { asm volatile("nop"); }\n', ["src/os/x.cc: assembly"]),
        ('__asm__(R"(nop)");\n', ["src/os/x.cc: assembly"]),
        ('// __x86_64__\nvoid f(int x) { asm volatile("" : "+r"(x)); }\n', []),
    ],
)
def test_the_name_of_a_processor_is_found(tmp_path: Path, code: str, found: list[str]):
    for folder in ("os", "arch", "reduce"):
        (tmp_path / "src" / folder).mkdir(parents=True)
        (tmp_path / "src" / folder / "x.cc").write_text(code)
    files = [f"src/{folder}/x.cc" for folder in ("os", "arch", "reduce")]
    assert layers.isa_names(tmp_path, files) == found


def test_a_missing_licence_and_a_long_file_are_found(tree: Path):
    (tree / "long.py").write_text("\n" * (layers.MOST_LINES + 1))
    assert layers.unlicensed(tree, ["os/os.h", "long.py"]) == ["os/os.h"]
    assert layers.too_long(tree, ["os/os.h", "long.py"]) == ["long.py"]


@pytest.mark.parametrize("indent", ["", "  "])
@pytest.mark.parametrize(("more", "found"), [(0, []), (1, ["os/x.cc:3: 61"])])
def test_a_long_function_is_found(tree: Path, indent: str, more: int, found: list[str]):
    body = [f"{indent}  f();"] * (layers.MOST_LINES_OF_A_FUNCTION - 5 + more)
    body[9:9] = ["#define X 1", "// f"]
    begin = ["#include <x>", f"{indent}template <class T>", f"{indent}void f(int a,"]
    lines = [*begin, f"{indent}       int b) {{", *body, f"{indent}}}", ""]
    (tree / "os" / "x.cc").write_text("\n".join(lines))
    assert layers.long_functions(tree) == found


def test_stale_words_are_found(tree: Path):
    (tree / "engine").mkdir(exist_ok=True)
    (tree / "engine" / "team.h").write_text("// The ranks of\n// one job, and their wait policy.\n")
    rows = [
        "| word | what it is | the field's term | where |",
        "| ranks of one job; team | | | `engine/team.h` |",
        "| wait policy (of all) | | | `engine/*.h`, `engine/node.h` |",
    ]
    assert layers.stale_words("\n".join(rows), tree) == [
        "team is not in `engine/team.h`",
        "engine/node.h is not there",
    ]
