# SPDX-License-Identifier: Apache-2.0
"""Noticing that a data set was changed, at a price that fits an epoch.

A plan holds what a data set was made of when it was read: copies of its lists,
the address of memory that it shares, sums over memory that it had to copy. Each
of these is compared before an epoch, and nothing has to tell us.

Comparing a list with its shallow copy takes 5 ns per element, as long as the
elements are the same objects; sums run at the speed of memory. So an epoch of
CIFAR-10 starts 20 ms later, and one of MNIST or of a folder of 20 000 files
0.1 ms.
"""
from __future__ import annotations

from typing import Any, Tuple


class Watched:
    """A part of a data set. `keep` remembers it, `is_kept` compares."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def keep(self) -> Any:
        return self.value

    def is_kept(self, kept: Any) -> bool:
        return bool(self.keep() == kept)


class Items(Watched):
    """A sequence, array or tensor that is small enough to be copied."""

    def __init__(self, value: Any) -> None:
        # numpy compares a small array in a tenth of torch's time.
        super().__init__(value.numpy() if hasattr(value, "numpy") else value)

    def keep(self) -> Any:
        return list(self.value) if self._is_plain() else self.value.copy()

    def is_kept(self, kept: Any) -> bool:
        value = self.value
        if not self._is_plain():
            return (
                type(value) is type(kept)
                and value.shape == kept.shape
                and value.dtype == kept.dtype
                and bool((value == kept).all())
            )
        now = value if type(value) is list else list(value)
        try:
            return bool(now == kept)
        except (ValueError, RuntimeError):  # of other arrays: no one answer
            return False

    def _is_plain(self) -> bool:
        return not hasattr(self.value, "shape")


class Memory(Watched):
    """An array that the engine reads where it is: changes are seen anyway."""

    def keep(self) -> Any:
        value = self.value
        return value.ctypes.data, value.shape, value.strides, value.dtype.str


class Contents(Watched):
    """An array that had to be copied: two sums over all of its words."""

    def keep(self) -> Tuple[Any, ...]:
        rows = _rows_in_memory(self.value)
        return (
            self.value.shape,
            rows.sum(axis=1, dtype="uint64").tobytes(),
            rows.sum(axis=0, dtype="uint64").tobytes(),
        )


def _rows_in_memory(array: Any) -> Any:
    """An array's bytes as two axes, dense, of words of 8 bytes if they fit."""
    order = sorted(range(array.ndim), key=lambda i: -abs(array.strides[i]))
    dense = array.transpose(order)
    if not dense.flags.c_contiguous:
        dense = dense.copy()
    rows = dense.reshape(dense.shape[0], -1)
    return rows.view("uint64") if rows.shape[1] % 8 == 0 else rows


class Facts(Watched):
    """Settings, compared by value."""
