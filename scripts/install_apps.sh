#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Debian packages of tests/clients/apps.py, 2.4 GB of disk; as root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

read -ra packages < <(PYTHONPATH=scripts .venv/bin/python tests/clients/apps.py)
exec scripts/install.sh "${packages[@]}"
