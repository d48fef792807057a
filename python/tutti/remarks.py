# SPDX-License-Identifier: BSD-3-Clause
"""What Tutti has to say beside the job, on standard error."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def say(text: str) -> None:
    """Where nobody can hear it (a pipe without a reader, a full disk) the job goes on, and its exit
    code stays."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:  # what was not written would be tried again, up to the last moment
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
