#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# install.sh PACKAGE...: installs those of these Debian packages that are missing; as root.
set -euo pipefail

installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' "$@" 2>/dev/null | grep -c '^ii' || true)
[[ $installed == "$#" ]] && exit
install="apt-get install -y --no-install-recommends $*"
if [[ $(id -u) != 0 ]]; then
  echo "Debian packages are missing; please run: sudo $install" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null
$install -q >/dev/null
