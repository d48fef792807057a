#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Debian packages of tests/clients/apps.py, 2.4 GB of disk; as root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

read -ra packages < <(.venv/bin/python tests/clients/apps.py)
installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' "${packages[@]}" 2>/dev/null | grep -c '^ii' || true)
[[ $installed == "${#packages[@]}" ]] && exit
install="apt-get install -y --no-install-recommends ${packages[*]}"
if [[ $(id -u) != 0 ]]; then
  echo "install_apps: please run: sudo $install" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null
$install -q >/dev/null
