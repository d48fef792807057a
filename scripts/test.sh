#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `make test`: every check and test, a step each, with its time. Ends with one line that says
# whether all of them passed; the exit code says the same.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

declare -a failed=()
steps=0
logs=build/test
rm -rf "$logs"
mkdir -p "$logs"

# step NAME COMMAND...: runs it, keeps what it prints, and remembers a failure.
step() {
  local name=$1 begin=$SECONDS
  shift
  steps=$((steps + 1))
  printf '\n== %s\n' "$name"
  if "$@" 2>&1 | tee "$logs/${name//\//-}.log"; then
    printf '== %s: passed in %d s\n' "$name" $((SECONDS - begin))
  else
    printf '== %s: FAILED after %d s (%s)\n' "$name" $((SECONDS - begin)) "$*"
    failed+=("$name")
  fi
}

# What failed is said again at the end, for whoever keeps no more of a long log.
finish() {
  if [[ ${#failed[@]} -gt 0 ]]; then
    local list name
    for name in "${failed[@]}"; do
      printf '\n== %s, the last lines\n' "$name"
      tail -n 60 "$logs/${name//\//-}.log" | cut -c 1-240
    done
    list=$(printf ', %s' "${failed[@]}")
    printf '\nmake test: FAILED: %s (%d steps run in %d s)\n' "${list:2}" "$steps" "$SECONDS"
    exit 1
  fi
  printf '\nmake test: all %d steps passed in %d s\n' "$steps" "$SECONDS"
  exit 0
}

# Nothing can be said about what was not built.
required() {
  step "$@"
  [[ ${#failed[@]} -eq 0 ]] || finish
}

python=.venv/bin/python
run_pytest() { "$python" -m pytest -p no:cacheprovider "$@"; }
lacks=-rfEs  # says what a machine lacks, for which tests are skipped
# Two tests at a time: they wait for launchers and small programs more than they compute.
run_two_pytests() { run_pytest -n 2 "$@"; }
# A line a test is too much to read: only the failures, the totals and what was skipped.
run_ctest() {
  local log=build/ctest.log code=0
  ctest --test-dir build/release --output-on-failure -j "$(nproc)" >"$log" 2>&1 || code=$?
  if [[ $code != 0 ]]; then grep -vE 'Passed|^ *Start ' "$log"; else grep -E 'tests passed|\(Skipped\)' "$log"; fi
  return "$code"
}

required "setup" scripts/setup.sh tests
required "build" scripts/build.sh
step "layers" run_pytest tests/layers
step "format" scripts/format.sh --check
step "ruff" .venv/bin/ruff check .
step "mypy" .venv/bin/mypy python/tutti tests/layers/layers.py
step "unit tests" run_ctest
# Open MPI's libfabric components look for networks at each start, which takes a second, hundreds of
# times. What examples show runs as it does for users.
export OMPI_MCA_btl=^ofi OMPI_MCA_mtl=^ofi
run_pytest_as_users_do() { (unset OMPI_MCA_btl OMPI_MCA_mtl && run_pytest "$@"); }
# A pytest run each: every folder has fixtures of its own.
for folder in tests/*/; do
  folder=${folder%/}
  compgen -G "$folder/test_*.py" >/dev/null || continue
  case $folder in
    tests/layers) ;;
    tests/cli | tests/fortran) step "$folder" run_two_pytests "$folder" ;;
    tests/cluster) step "$folder" run_pytest $lacks "$folder" ;;
    tests/examples) step "$folder" run_pytest_as_users_do "$folder" ;;
    tests/mpi)
      step "$folder, two at a time" run_two_pytests $lacks "$folder" -m "not alone"
      step "$folder, alone" run_pytest $lacks "$folder" -m alone
      ;;
    *) step "$folder" run_pytest "$folder" ;;
  esac
done
finish
