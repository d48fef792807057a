#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# install.sh PACKAGE... [--if-known PACKAGE...]: installs those of these Debian packages that are
# missing; as root, else it names them. What the distribution does not know of those behind
# --if-known is named and left out. Where there is no Debian, all are named, and that is all.
set -euo pipefail

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }
am_root() { [[ $(id -u) == 0 ]]; }
update() {
  apt-get update -q >/dev/null || fail "apt-get update failed; are the package servers reachable?"
}

# The index of a fresh image is empty, and says nothing about what there is.
has_index() { apt-cache policy | grep '^ *[0-9]* [a-z+]*:' >/dev/null; }

is_known() {
  local said
  said=$(LC_ALL=C apt-get install -s "$1" 2>&1) && return
  ! grep -qE '^E: (Unable to locate package|Package .* has no installation candidate)' <<<"$said"
}

if ! command -v dpkg-query >/dev/null; then
  wanted=" $*"
  say "this is no Debian: please have the equivalents of${wanted/ --if-known/} installed"
  exit
fi

# The second letter is the state; the first is what is wanted, which may be to hold it. A package
# may stand for others: libtcmalloc-minimal4t64 is libtcmalloc-minimal4, too.
installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}, ${Provides}\n' | sed -n 's/^.i //p' |
  tr , '\n' | sed 's/^ *//; s/[ (:].*//')

declare -a missing=() perhaps=() unknown=()
declare -n list=missing
for package in "$@"; do
  if [[ $package == --if-known ]]; then
    declare -n list=perhaps
  elif ! grep -qxF -e "$package" <<<"$installed"; then
    list+=("$package")
  fi
done
if [[ ${#perhaps[@]} -gt 0 ]] && am_root && ! has_index; then update; fi
for package in "${perhaps[@]}"; do
  if has_index && ! is_known "$package"; then unknown+=("$package"); else missing+=("$package"); fi
done
if [[ ${#unknown[@]} -gt 0 ]]; then
  say "this distribution has no ${unknown[*]}: what needs them is skipped, or says so"
fi
[[ ${#missing[@]} -gt 0 ]] || exit 0

install="apt-get install -y --no-install-recommends ${missing[*]}"
am_root || fail "Debian packages are missing; please run: $(has_index || echo "sudo apt-get update && ")sudo $install"
say "installing Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
update  # an old index names versions that are gone
$install -q >/dev/null || fail "failed: $install"
