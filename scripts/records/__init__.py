# SPDX-License-Identifier: BSD-3-Clause
"""Measurements that are kept in results/. scripts/record.py is the way in.

`blocking`, `collectives`, `nonblocking` and `applications` measure, a subcommand each. `bars` says
what the first three must reach. `recording` and `report` write it down.
"""
