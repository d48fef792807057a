#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Formats the sources and writes the generated pages; with --check it says whether they are up to date.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -t sources < <(find src tests bench examples scripts \( -name '*.cc' -o -name '*.h' -o -name '*.c' \) | sort)
if [[ ${1:-} == --check ]]; then
  clang-format-15 --dry-run -Werror "${sources[@]}"
  .venv/bin/ruff format --check .
  .venv/bin/python scripts/gen_docs.py --check
else
  clang-format-15 -i "${sources[@]}"
  .venv/bin/ruff format .
  .venv/bin/python scripts/gen_docs.py
fi
