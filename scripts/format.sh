#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Formats the sources and writes the generated pages; with --check it says whether they are up to date.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -t sources < <(find src tests bench examples scripts \( -name '*.cc' -o -name '*.h' -o -name '*.c' \) | sort)
format_sources() {
  if command -v clang-format-15 >/dev/null; then
    clang-format-15 "$@" "${sources[@]}"
  else
    echo "sources in C and C++ are left out: there is no clang-format-15"
  fi
}
if [[ ${1:-} == --check ]]; then
  format_sources --dry-run -Werror
  .venv/bin/ruff format --check .
  .venv/bin/python scripts/gen_docs.py --check
else
  format_sources -i
  .venv/bin/ruff format .
  .venv/bin/python scripts/gen_docs.py
fi
