# SPDX-License-Identifier: BSD-3-Clause
"""What Tutti must reach: a table a record, and the verdicts on what was measured."""
