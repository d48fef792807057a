# SPDX-License-Identifier: BSD-3-Clause
"""Measurements that are kept in results/. scripts/record.py is the way in.

Each subcommand is a module. Those of one machine are `blocking`, `collectives`, `nonblocking`,
`applications` and `openmpi6`; `bars` says what the first three must reach. Those between hosts of
namespaces begin with `nodes`. `recording` and `report` write it down.
"""
