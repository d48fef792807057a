#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `make test-aarch64`: builds the library and the unit tests for 64-bit Arm, and runs those in qemu's
# emulation of its programs, which has this machine's kernel. Tests of what the emulation lacks are
# skipped, and say so (tests/support/emulated.cc).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install.sh g++-aarch64-linux-gnu qemu-user
cmake --preset aarch64 -DTUTTI_TESTS=ON >/dev/null
cmake --build --preset aarch64
# The emulation has a note of every page, which takes it seconds for the usual range.
export TUTTI_COMMONS_RANGE=4G
# It is some ten times slower: few seeds, and without those tests of which one of them takes minutes.
export TUTTI_TEST_SCHEDULES=2
slow='ManyRanks\.|CommonsFork.WhatHandlersGuard|Faults.WhatIsTooLongInPlace'
ctest --test-dir build/aarch64 --output-on-failure -j "$(nproc)" --exclude-regex "$slow"
