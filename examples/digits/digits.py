# SPDX-License-Identifier: BSD-3-Clause
"""Data-parallel training of a small neural network on scikit-learn's handwritten digits.

    mpirun -n 2 python digits.py [--epochs 40] [--hidden 2] [--overlap]

Every rank holds the whole network and a part of each batch. It computes the gradients of its part;
one Allreduce adds them up, as a flat vector of float32 (1.2 MB), and all ranks take the same step.
With --overlap each layer has an Iallreduce of its own. It begins when the layer's gradient is
there, and goes on while that of the layer before is computed.
"""

from __future__ import annotations

import argparse
import os
import zlib
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the ranks are the parallelism

import numpy as np
from mpi4py import MPI
from sklearn.datasets import load_digits

PIXELS, HIDDEN, CLASSES = 64, 512, 10  # how wide the layers are
BATCH = 240  # images of all ranks together: divisible by 1, 2, 3, 4, 5, 6, 8
STEP = 0.1
MOMENTUM = 0.9


class Network:
    """Fully connected layers with ReLU and a softmax; all weights in one flat vector."""

    def __init__(self, seed: int, hidden: int = 2):
        widths = (PIXELS, *[HIDDEN] * hidden, CLASSES)
        shapes = [shape for a, b in zip(widths, widths[1:]) for shape in ((a, b), (b,))]
        sizes = [int(np.prod(shape)) for shape in shapes]
        self.weights = np.zeros(sum(sizes), np.float32)
        self.gradient = np.zeros_like(self.weights)
        ends = np.cumsum(sizes)[:-1]
        self._parts = [slice(*p) for p in zip([0, *ends[1::2]], [*ends[1::2], sum(sizes)])]
        self._weights = [w.reshape(s) for w, s in zip(np.split(self.weights, ends), shapes)]
        self._gradient = [g.reshape(s) for g, s in zip(np.split(self.gradient, ends), shapes)]
        random = np.random.default_rng(seed)
        for matrix in self._weights[::2]:
            matrix[:] = random.normal(0, np.sqrt(2 / len(matrix)), matrix.shape)

    def outputs(self, images: np.ndarray) -> list[np.ndarray]:
        """What each layer gives, (images, width) each; first the images, last the scores."""
        values = [images]
        *hidden, last = zip(self._weights[::2], self._weights[1::2])
        for matrix, bias in hidden:
            values.append(np.maximum(values[-1] @ matrix + bias, 0))
        matrix, bias = last
        values.append(values[-1] @ matrix + bias)
        return values

    def differentiate(
        self, images: np.ndarray, labels: np.ndarray, done: Callable[[slice], object]
    ) -> None:
        """Sets `gradient` to that of the summed cross-entropy; done(part) says what is set."""
        values = self.outputs(images)
        scores = values[-1] - values[-1].max(axis=1, keepdims=True)
        error = np.exp(scores)
        error /= error.sum(axis=1, keepdims=True)
        error[np.arange(len(labels)), labels] -= 1
        for layer in reversed(range(len(self._parts))):
            np.matmul(values[layer].T, error, out=self._gradient[2 * layer])
            np.sum(error, axis=0, out=self._gradient[2 * layer + 1])
            done(self._parts[layer])
            if layer > 0:
                error = error @ self._weights[2 * layer].T * (values[layer] > 0)

    def accuracy(self, images: np.ndarray, labels: np.ndarray) -> float:
        return float(np.mean(self.outputs(images)[-1].argmax(axis=1) == labels))


def load() -> tuple[np.ndarray, ...]:
    """1440 images to learn from and 357 to test with, shuffled the same way on all ranks."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(labels))
    images, labels = (images[order] / 16).astype(np.float32), labels[order]
    return images[:1440], labels[:1440], images[1440:], labels[1440:]


def train(network: Network, comm: MPI.Comm, epochs: int, overlap: bool, images, labels) -> float:
    """Returns the seconds spent in Allreduce, or in Iallreduce and the wait for it."""
    rank, ranks = comm.Get_rank(), comm.Get_size()
    total = np.empty_like(network.gradient)
    velocity = np.zeros_like(network.weights)
    random = np.random.default_rng(2)
    in_allreduce = 0.0
    requests: list[MPI.Request] = []

    def done(part: slice) -> None:
        nonlocal in_allreduce
        if overlap:
            start = MPI.Wtime()
            requests.append(comm.Iallreduce(network.gradient[part], total[part], MPI.SUM))
            in_allreduce += MPI.Wtime() - start

    for _ in range(epochs):
        order = random.permutation(len(labels))
        for first in range(0, len(order), BATCH):
            mine = order[first : first + BATCH][rank::ranks]
            network.differentiate(images[mine], labels[mine], done)
            start = MPI.Wtime()
            if overlap:
                MPI.Request.Waitall(requests)
                requests.clear()
            else:
                comm.Allreduce(network.gradient, total, MPI.SUM)
            in_allreduce += MPI.Wtime() - start
            velocity *= MOMENTUM
            velocity -= STEP / BATCH * total
            network.weights += velocity
    return in_allreduce


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument(
        "--hidden", type=int, default=2, help="layers between the first and the last"
    )
    parser.add_argument("--overlap", action="store_true", help="sum up while computing")
    options = parser.parse_args()
    epochs = options.epochs
    comm = MPI.COMM_WORLD
    images, labels, test_images, test_labels = load()
    network = Network(0, options.hidden)
    comm.Barrier()
    start = MPI.Wtime()
    in_allreduce = train(network, comm, epochs, options.overlap, images, labels)
    seconds = MPI.Wtime() - start
    seconds = comm.allreduce(seconds, MPI.MAX)
    least, most = (comm.allreduce(in_allreduce, how) for how in (MPI.MIN, MPI.MAX))
    if comm.Get_rank() == 0:
        print(f"ranks {comm.Get_size()}  gradient {network.gradient.nbytes} bytes  epochs {epochs}")
        print(f"accuracy {network.accuracy(test_images, test_labels):.4f}")
        print(f"weights {zlib.crc32(network.weights.tobytes()):08x}")
        print(f"time {seconds:.3f} s")
        print(f"in Allreduce {least:.3f} s to {most:.3f} s")


if __name__ == "__main__":
    main()
