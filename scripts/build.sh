#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# build.sh [TARGET...]: builds into build/release, everything or just these targets (tutti_package: all
# that is installed), and installs the package into .venv. pip works in the same build directory, so
# it finds everything compiled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mkdir -p build
cmake --preset release -DTUTTI_TESTS=ON >build/configure.log 2>&1 ||
  { cat build/configure.log >&2; exit 1; }
cmake --build --preset release ${1:+--target "$@"}
# No isolation: the build tools are in .venv already. No dependencies: setup installed them.
targets=$(IFS=';'; printf '%s' "$*")
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
  --force-reinstall -Cbuild-dir=build/release -Ccmake.define.TUTTI_TESTS=true \
  ${targets:+-Cbuild.targets="$targets"} .
