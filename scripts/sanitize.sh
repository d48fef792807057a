#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds presets of their own (tsan, asan, clang) and runs the unit tests in each, whatever became
# of the one before.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A test asks for more memory than there is. A sanitizer is not to end it there.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}allocator_may_return_null=1"
export TSAN_OPTIONS="${TSAN_OPTIONS:+$TSAN_OPTIONS:}allocator_may_return_null=1"

build() {
  cmake --preset "$1" -DTUTTI_TESTS=ON >/dev/null && cmake --build --preset "$1"
}

run() {
  # In the simulator, and where layouts and kernels are tried, one thread does all: there is nothing
  # to race with, and it takes long.
  local threads=()
  [[ $1 == tsan ]] && threads=(--exclude-regex 'Schedules\.|Leaders(By)?\.|LargeBlocks|ManyRanks|Simulator|LayoutPack|ReduceKernels')
  ctest --test-dir "build/$1" --output-on-failure -j "$(nproc)" "${threads[@]}"
}

declare -a failed=()
for preset in "$@"; do
  { build "$preset" && run "$preset"; } || failed+=("$preset")
done
[[ ${#failed[@]} -eq 0 ]] || { echo "failed: ${failed[*]}"; exit 1; }
