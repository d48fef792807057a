# SPDX-License-Identifier: BSD-3-Clause
"""One file a command: a docstring, which is its help, and `register`."""
