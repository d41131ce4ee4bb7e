# SPDX-License-Identifier: Apache-2.0
"""shuffle="block" as a sampler of torch's (docs/shuffle.md)."""

from __future__ import annotations

import ctypes
from typing import Iterator, List, Optional, Sized

import torch
from torch.utils.data import Sampler

from .._library import lib
from ..errors import check

_STEP = 1024  # samples of a rank that are computed at once


class BlockSampler(Sampler[int]):
    """An exact shuffle that reads blocks of neighbours, each sample once.

    dataset: whose samples, for its length. block: consecutive samples in one.
    lanes: blocks that are mixed with each other. seed: with set_epoch(), the
    order, the same on every rank; None: a seed that each epoch draws from
    `generator`, or from torch's own. The order of (seed, epoch) is that of
    feedline.Loader(shuffle="block").

    num_replicas and rank: as in DistributedSampler, but 1 and 0 if not given;
    with several ranks a seed is needed. Ranks get equally many samples, for
    which the order is continued at its start, or cut with drop_last=True.
    """

    def __init__(
        self,
        dataset: Sized,
        block: int = 64,
        lanes: int = 64,
        *,
        num_replicas: int = 1,
        rank: int = 0,
        seed: Optional[int] = None,
        generator: Optional[torch.Generator] = None,
        drop_last: bool = False,
    ) -> None:
        if not 0 <= rank < num_replicas:
            raise ValueError(
                "rank should be between 0 and %d, but got rank=%r"
                % (num_replicas - 1, rank)
            )
        if num_replicas > 1 and seed is None:
            raise ValueError("several ranks need a seed that they share")
        self.dataset = dataset
        self.block = block
        self.lanes = lanes
        self.num_replicas = num_replicas
        self.rank = rank
        self.seed = seed
        self.generator = generator
        self.drop_last = drop_last
        self.epoch: int = 0
        self._elements(0, 0, 0, 0)  # refuses what is out of bounds

    def set_epoch(self, epoch: int) -> None:
        """epoch: whose order comes next, where there is a seed."""
        self.epoch = epoch

    def __len__(self) -> int:
        extra = 0 if self.drop_last else self.num_replicas - 1
        return (len(self.dataset) + extra) // self.num_replicas

    def __iter__(self) -> Iterator[int]:
        seed, epoch = self.seed, self.epoch
        if seed is None:
            drawn = torch.empty((), dtype=torch.int64)
            seed, epoch = int(drawn.random_(generator=self.generator)), 0
        count, total = len(self.dataset), len(self) * self.num_replicas
        step = _STEP * self.num_replicas
        for first in range(0, total, step):
            last = min(first + step, total)
            order = self._elements(seed, epoch, first, min(last, count))
            for place in range(max(first, count), last):
                again = place % count
                order += self._elements(seed, epoch, again, again + 1)
            yield from order[self.rank :: self.num_replicas]

    def _elements(
        self, seed: int, epoch: int, first: int, last: int
    ) -> List[int]:
        number = max(0, last - first)
        out = (ctypes.c_uint64 * number)()
        check(
            lib.block_order(
                max(1, len(self.dataset)),
                self.block,
                self.lanes,
                seed,
                epoch,
                first if number else 0,
                number,
                out,
            )
        )
        return list(out)
