#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Everything that `make build` and `make demo` need: Debian packages (installed when root, else
# named), .venv for Python, .mpi/NAME for each MPI from PyPI, and .clients/NAME for the test suites
# of other people's packages. `setup.sh tests`: also the Debian packages of scripts/
# debian-packages-tests.txt. Does nothing, quickly, where nothing is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }
rows() { grep -v '^#' "$1" || true; }  # a list file without its comments

# debian_packages LIST [LIST]: of the second, those that the distribution has.
debian_packages() {
  local packages
  mapfile -t packages < <(rows "$1"; [[ $# == 1 ]] || { echo --if-known; rows "$2"; })
  scripts/install.sh "${packages[@]}"
}

# The first Python that is new enough and can make environments.
find_python() {
  local candidate
  for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' \
        2>/dev/null; then
      "$candidate" -c 'import sys; print(sys.executable)'
      return
    fi
  done
  fail "no Python of version 3.10 or later with venv and ensurepip was found (Debian: python3-venv)"
}

# environment DIRECTORY REQUIREMENT...: makes it anew unless its stamp says it is just this one. The
# stamp names the place too, because an environment does not survive being moved.
environment() {
  local directory=$1 stamp
  shift
  stamp=$(printf '%s\n' "$python" "$PWD" "$@" | sha256sum | cut -d' ' -f1)
  if [[ -x $directory/bin/python && $(cat "$directory/.stamp" 2>/dev/null) == "$stamp" ]]; then
    return
  fi
  say "making $directory"
  rm -rf "$directory"
  mkdir -p "$(dirname "$directory")"
  "$python" -m venv "$directory"
  "$directory/bin/python" -m pip install --quiet --disable-pip-version-check "$@" ||
    fail "pip could not install: $*"
  printf '%s' "$stamp" >"$directory/.stamp"
}

# sources NAME: unpacks those of the version in .venv into .clients/NAME.
sources() {
  local name=$1 folder=.clients/$1 version archive
  version=$(.venv/bin/python -c \
    "import importlib.metadata as m; print(m.version('$name'))") || fail "$name is not in .venv"
  [[ $(cat "$folder/.stamp" 2>/dev/null) == "$version" ]] && return
  say "making $folder"
  rm -rf "$folder"
  mkdir -p "$folder/download"
  .venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps \
    --no-binary="$name" --dest "$folder/download" "$name==$version" ||
    fail "pip could not fetch the sources of $name $version"
  archive=("$folder"/download/*.tar.gz)
  tar -xzf "${archive[0]}" -C "$folder" --strip-components=1
  rm -r "$folder/download"
  printf '%s' "$version" >"$folder/.stamp"
}

case $PWD in
  *[[:space:]:\;\&\|\<\>\(\)\$\`\\\"\'\*\?\[\]\{\}\!\#=]*)
    fail "the MPIs' compiler scripts do not work in $PWD: please move to a path without spaces and" \
      "signs that a shell or env takes for its own" ;;
esac
debian_packages scripts/debian-packages.txt ${1:+"scripts/debian-packages-$1.txt"}
python=$(find_python)
mapfile -t requirements < <(rows scripts/requirements.txt)
environment .venv "${requirements[@]}"
while read -r name packages; do
  # shellcheck disable=SC2086
  environment ".mpi/$name" $packages
done < <(rows scripts/mpis.txt)
# The test suites of packages in .venv, which only their sources have: .clients/NAME.
for name in mpi4py mpi4py-fft; do
  sources "$name"
done
say "everything is there"
