#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds a preset of its own (tsan, asan, clang) and runs the unit tests in it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=$1
cmake --preset "$preset" -DTUTTI_TESTS=ON >/dev/null
cmake --build --preset "$preset"
# In the simulator, and where layouts and kernels are tried, one thread does all: there is nothing
# to race with, and it takes long.
threads=()
[[ $preset == tsan ]] && threads=(--exclude-regex 'Schedules\.|ManyRanks|Simulator|LayoutPack|ReduceKernels')
ctest --test-dir "build/$preset" --output-on-failure -j "$(nproc)" "${threads[@]}"
