#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds everything into build/release, tests included, and installs the package into .venv. pip
# works in the same build directory, so it finds everything compiled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mkdir -p build
cmake --preset release -DTUTTI_TESTS=ON >build/configure.log 2>&1 || { cat build/configure.log >&2; exit 1; }
cmake --build --preset release
# No isolation: the build tools are in .venv already. No dependencies: setup installed them.
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
  --force-reinstall -Cbuild-dir=build/release -Ccmake.define.TUTTI_TESTS=true .
