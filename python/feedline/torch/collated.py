# SPDX-License-Identifier: Apache-2.0
"""A collate_fn that works on whole batches, natively and in torch's loader.

A collate_fn takes a list of samples, and what it does with them cannot be seen
from outside: with one of the user's own a native batch would have to be taken
to pieces first. Most of them begin with `default_collate` and go on with the
batch, as MixUp and CutMix do in torchvision's training script:

    collate_fn=lambda samples: mixup(*default_collate(samples))

Written as

    collate_fn=collated(mixup)

the same thing says what it is. torch's own loader calls it with samples, as any
other; ours calls the function with the batch that it has.

**Where it runs.** In the thread that asks for the batch. In torch's loader with
workers it would run in one of them, with the random numbers of that worker: so
that it leaves the global generators alone here too, it runs with generators
seeded from the epoch's seed and the place of the batch, and the former states
come back behind it. Its draws are therefore the same for any number of workers
and in a resumed epoch. With `num_workers=0` torch runs it with the global
generators, and so do we. (Generators of a GPU are as the user left them.)
"""

from __future__ import annotations

import random
import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, Optional, Sequence

import torch
from torch.utils.data.dataloader import default_collate

from ._compat import collate_functions, returns_tv_tensors

# An odd constant near 2**64 divided by the golden ratio: seeds of neighbouring
# batches have no bits in common.
SPREAD = 0x9E3779B97F4A7C15


class Collated:
    """A function of a whole batch in the form of a collate_fn."""

    def __init__(self, fn: Callable[..., Any], samples: bool = False) -> None:
        if not callable(fn):
            raise TypeError(
                "collated() takes a function, but got %s" % type(fn).__name__
            )
        self.fn: Any = fn
        self.samples = samples

    def __call__(self, samples: List[Any]) -> Any:
        """As a collate_fn: the samples of a batch, as a data set gave them."""
        if self.samples:
            return self.fn(samples)
        return self.fn(*default_collate(samples))

    def of_batch(self, batch: Sequence[Any], seed: Optional[int] = None) -> Any:
        """What the collate_fn makes of a batch (images, labels).

        images [N, ...] and labels int64 [N] are the function's to change;
        labels of another type are collated, or with `samples` as they are.
        With a seed the global random generators are those of the batch
        meanwhile.
        """
        if seed is None:
            return self._call(batch)
        with seeded(seed):
            return self._call(batch)

    def _call(self, batch: Sequence[Any]) -> Any:
        if not self.samples:
            return self.fn(*batch)
        images, labels = batch
        if isinstance(labels, torch.Tensor):
            labels = labels.tolist()
        return self.fn(list(zip(images.unbind(0), labels)))

    def __repr__(self) -> str:
        more = ", samples=True" if self.samples else ""
        return "collated(%r%s)" % (self.fn, more)


def collated(fn: Callable[..., Any], samples: bool = False) -> Collated:
    """A collate_fn that keeps a loader native.

    fn: called with the result of default_collate, here `fn(images, labels)`
    with images [N, C, H, W] and labels int64 [N]; what it returns is the batch.
    With samples=True it is called with a list of (image [C, H, W], label) pairs
    instead, like any collate_fn: each image is a view of the batch, and the
    function runs in the consumer's thread, so it should be quick.
    """
    return Collated(fn, samples)


def seed_of_batch(base_seed: int, batch: int) -> int:
    """The seed of the batch'th batch of the epoch with this base seed."""
    return (base_seed + (batch + 1) * SPREAD) % 2**63


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """The generators of torch (CPU), random and numpy, seeded for a while.

    numpy's only where the process has loaded it.
    """
    numpy = sys.modules.get("numpy")
    former = (
        torch.get_rng_state(),
        random.getstate(),
        numpy.random.get_state() if numpy else None,
    )
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    if numpy:
        numpy.random.seed(seed % 2**32)
    try:
        yield
    finally:
        torch.set_rng_state(former[0])
        random.setstate(former[1])
        if numpy:
            numpy.random.set_state(former[2])


# ---- Switches ---------------------------------------------------------------
#
# Some settings of a whole program change what default_collate makes of images
# and labels; torch then makes the batches. Otherwise a batch of images is a
# plain tensor, also with v2's transforms, and so is a batch of int labels.


_usual = dict(collate_functions())


def reason_in_switches() -> Optional[str]:
    """Which of them differs from the usual one; None: none does."""
    for kind, function in collate_functions().items():
        mine = isinstance(kind, type) and issubclass(kind, (torch.Tensor, int))
        if mine and _usual.get(kind) is not function:
            return (
                "default_collate_fn_map has %s, which is not torch's; take it "
                "out" % kind.__name__
            )
    if returns_tv_tensors():
        return (
            'tv_tensors.set_return_type("TVTensor") is in force; set "Tensor"'
        )
    return None
