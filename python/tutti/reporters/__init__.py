# SPDX-License-Identifier: BSD-3-Clause
"""Reporters print what the commands found; they never measure and never start anything."""
