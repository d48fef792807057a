# SPDX-License-Identifier: BSD-3-Clause
"""Whole applications: how they are started on small inputs, and which results they must give.

The list is in `table`. Tests compare the results, records compare the times.
"""
