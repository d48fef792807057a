#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Debian packages of scripts/apps/table.py, 2.4 GB of disk; as root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

names="from apps.table import APPS; print(*(app.package for app in APPS if app.package))"
read -ra packages < <(PYTHONPATH=scripts .venv/bin/python -c "$names")
exec scripts/install.sh "${packages[@]}"
