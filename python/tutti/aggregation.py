# SPDX-License-Identifier: BSD-3-Clause
"""When one message for several is worth it: Mamidala et al. 2007, section 5, equations 1 to 5.

A node sends messages of equal length, one after another. Each takes the time to start it or to
transmit it, whichever is more. Times are in us.
"""

from __future__ import annotations

from dataclasses import dataclass

SCATTER = 32  # processes


@dataclass(frozen=True)
class Network:
    """What the paper found by scatters of 1 B and of 16 KiB to 32 processes."""

    startup_us: float  # T_startup: of a message, beside others
    byte_us: float  # beta
    constant_us: float = 0  # C, of that scatter; negative where some messages start side by side

    @property
    def switch_bytes(self) -> float:
        """Longer messages are not worth joining (equation 5)."""
        return self.startup_us / self.byte_us

    def time_us(self, messages: int, size: float) -> float:
        """Of so many messages of `size` bytes from one node (equations 2 and 3, without C)."""
        transmission_us = size * self.byte_us
        if self.startup_us > transmission_us:
            return messages * self.startup_us + transmission_us
        return self.startup_us + messages * transmission_us

    def scatter_us(self, size: float) -> float:
        """Of a Scatter as the paper's, for which C was found (Figure 4a)."""
        small = self.startup_us > size * self.byte_us
        return self.time_us(SCATTER - 1, size) + (self.constant_us if small else 0)


@dataclass(frozen=True)
class Alltoall:
    """What a node sends in an Alltoall of blocks of `size` bytes."""

    nodes: int
    ranks: int  # of each node

    def unpacked_us(self, network: Network, size: float) -> float:
        """A message a block."""
        return network.time_us((self.nodes - 1) * self.ranks**2, size)

    def packed_us(self, network: Network, size: float) -> float:
        """A message a node."""
        return network.time_us(self.nodes - 1, self.ranks**2 * size)
