#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Something large under the preload: the compiler builds a part of this project and gets the same
# object files, the programs it built pass, and CPython's own tests end as they do without it.
#
#   build_under_preload.sh PRELOAD_LIBRARY [COMPILER]
#
# PYTHON names the interpreter; without its `test` package, that part is left out, and says so.
set -eu
preload=$1
compiler=${2:-c++}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TUTTI_COMMONS_THRESHOLD=32K

fail() {
  echo "build_under_preload: $*" >&2
  exit 1
}
preloaded() { LD_PRELOAD=$preload "$@"; }

preloaded grep -q "$(basename "$preload")" /proc/self/maps || fail "$preload is not preloaded"

# `cc1plus` is what allocates; the preload reaches it through the driver.
compile() { # prefix, output
  for source in "$root"/src/base/*.cc "$root"/src/commons/bins.cc "$root"/src/commons/extents*.cc \
                "$root"/tests/unit/commons_extents_test.cc; do
    $1 "$compiler" -std=c++20 -O2 -D_GNU_SOURCE -DTUTTI_VERSION='"test"' -I"$root/src" \
      -c "$source" -o "$2/$(basename "$source").o"
  done
}
mkdir "$work/plain" "$work/preloaded"
compile "" "$work/plain"
compile preloaded "$work/preloaded"
count=0
for object in "$work"/plain/*.o; do
  cmp "$object" "$work/preloaded/$(basename "$object")" || fail "the compiler's output differs"
  count=$((count + 1))
done
[ "$count" -gt 5 ] || fail "only $count object files"
preloaded "$compiler" "$work"/preloaded/*.o -lgtest -lgtest_main -lpthread -o "$work/program"
preloaded "$work/program" --gtest_brief=1 > "$work/log" || fail "$(cat "$work/log")"
echo "$count object files are the same with and without the preload"

python=${PYTHON:-python3}
tests="test_list test_dict test_bytes test_array test_memoryview test_bigmem test_json test_re
       test_os test_subprocess test_fork1 test_posix test_mmap test_pickle
       test_zlib test_tempfile test_hashlib test_gc"
if ! "$python" -c 'import test.support' 2> "$work/log"; then
  echo "CPython's tests: left out, $python has no test package"
  exit 0
fi
# Not test_threading: a case of it fails plainly, in some runs only, with some interpreters.
# test_pass_fds_redirected lists all descriptors of a new interpreter and finds that of its commons.
verdicts() { # prefix, output: the result of each test, and of the whole
  # shellcheck disable=SC2086
  (cd "$work" && $1 "$python" -m test -j2 --timeout 100 -i test_pass_fds_redirected $tests) > "$work/$2.log" 2>&1 ||
    echo "exit $?" >> "$work/$2"
  grep -oE 'test_[a-z0-9]+ (passed|failed|skipped|crashed|timed out)' "$work/$2.log" |
    sort -u >> "$work/$2"
  grep -E '^(FAIL|ERROR):' "$work/$2.log" | sort -u >> "$work/$2" || true
}
verdicts "" plain.txt
verdicts preloaded preloaded.txt
[ "$(grep -c passed "$work/plain.txt")" -ge 10 ] || fail "too few of CPython's tests pass plainly"
diff "$work/plain.txt" "$work/preloaded.txt" > "$work/difference" || {
  cat "$work/preloaded.txt.log" >&2
  fail "CPython's tests differ: $(cat "$work/difference")"
}
echo "CPython's tests: $(grep -c passed "$work/preloaded.txt") pass with and without the preload"
