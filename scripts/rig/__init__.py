# SPDX-License-Identifier: BSD-3-Clause
"""What scripts and tests share: the MPIs, how programs are run on them, and what programs print.

`wheels` starts programs as users do, by `tutti run`. `mpis` starts them as tests need it, with the
library preloaded; it knows Debian's MPIs, too. `cluster` makes hosts of namespaces, and `spanning`
starts programs on them.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
