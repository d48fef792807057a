# SPDX-License-Identifier: BSD-3-Clause
"""A NumPy program that computes alone: transforms of 256 MiB, and a product of matrices. Prints
seconds of each as a JSON object."""

from __future__ import annotations

import json
import time

import numpy as np

begin = time.perf_counter()
waves = np.fft.rfft(np.ones((8, 1 << 22)))
transformed = time.perf_counter()
left, right = (np.full((1 << 13, 1 << 12), value) for value in (1.0, 2.0))
filled = time.perf_counter()
product = left[:800] @ right[:4096]
multiplied = time.perf_counter()
print(json.dumps({"FFT": transformed - begin, "matrix product": multiplied - filled}))
