# SPDX-License-Identifier: BSD-3-Clause
"""What `make demo` (scripts/demo.py) is made of."""
