#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Formats the sources; with --check it only says whether they are.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -t sources < <(find src tests bench examples \( -name '*.cc' -o -name '*.h' -o -name '*.c' \) | sort)
if [[ ${1:-} == --check ]]; then
  clang-format-15 --dry-run -Werror "${sources[@]}"
  .venv/bin/ruff format --check .
else
  clang-format-15 -i "${sources[@]}"
  .venv/bin/ruff format .
fi
