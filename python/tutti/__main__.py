# SPDX-License-Identifier: BSD-3-Clause
from tutti.cli import main

if __name__ == "__main__":
    main()
