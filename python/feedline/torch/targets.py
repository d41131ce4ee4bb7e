# SPDX-License-Identifier: Apache-2.0
"""Labels that are no ints: kept in Python, and collated as torch does.

The engine has an int64 for each sample. Where a data set has labels of another
type, or a target_transform, the labels of a batch are looked up by the samples'
positions in the data set, transformed and collated when the batch is
handed over, in the thread that asked for it. Images do not wait for that.

Numbers, and arrays or tensors of one type and shape, are a column: one tensor,
of which a batch takes rows, as a copy instead of an object for each sample.
"""

from __future__ import annotations

import json
import sys
from functools import cached_property
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

import torch


class Targets:
    """The labels of a plan's samples; transform: the target_transform."""

    def __init__(
        self, values: List[Any], transform: Optional[Callable[[Any], Any]]
    ) -> None:
        self.values = values
        self.transform = transform

    @cached_property
    def column(self) -> Optional[torch.Tensor]:
        """All of them, as default_collate would stack them; None: they are
        none that it does."""
        return column_of(self.values) if self.transform is None else None

    def of(self, positions: Iterable[int]) -> Tuple[Any, ...]:
        """As the data set gives them. What the transform raises is raised."""
        found = (self.values[position] for position in positions)
        if self.transform is None:
            return tuple(found)
        return tuple(map(self.transform, found))


# Types that default_collate makes numbers of, and their dtypes.
_NUMBERS: Dict[type, torch.dtype] = {
    int: torch.int64,
    bool: torch.bool,
    float: torch.float64,
}


def column_of(values: List[Any]) -> Optional[torch.Tensor]:
    """The labels in one tensor; None where they are not of one type."""
    kinds = set(map(type, values))
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind in _NUMBERS:
        try:
            return torch.tensor(values, dtype=_NUMBERS[kind])
        except (RuntimeError, OverflowError, ValueError):
            return None  # default_collate, too
    numpy = sys.modules.get("numpy")
    if kind is torch.Tensor:
        tensors = values
    elif numpy is not None and kind is numpy.ndarray:
        if any(value.dtype.kind not in "biuf" for value in values):
            return None
        tensors = [torch.as_tensor(value) for value in values]
    else:
        return None
    first = tensors[0]
    alike = all(
        one.shape == first.shape
        and one.dtype == first.dtype
        and one.device.type == "cpu"
        and one.layout == torch.strided
        and not one.requires_grad
        for one in tensors
    )
    return torch.stack(tensors) if alike else None


def read_labels(labels: Any, converted: bool) -> List[Any]:
    """The labels of a data set: ints if default_collate made int64 of them.

    converted: the data set itself makes an int of each.
    """
    if converted:
        return [int(label) for label in labels]
    whole = str(getattr(labels, "dtype", "")) in ("int64", "torch.int64")
    if whole and len(labels.shape) == 1:
        return list(labels.tolist())
    found = list(labels)
    kinds = [kind.__name__ for kind in set(map(type, found))]
    if kinds == ["int64"]:
        return [int(label) for label in found]
    return found


def one_label(labels: Any, index: int) -> Any:
    """What read_labels has of one sample."""
    return read_labels(labels[index : index + 1], False)[0]


def are_ints(labels: List[Any]) -> bool:
    """Whether the engine can have them."""
    return set(map(type, labels)) <= {int}


def as_bytes(labels: List[Any]) -> bytes:
    """For a fingerprint that is the same in another process: what JSON does not
    have counts by its numbers, if it has some, else by its type."""

    def named(value: Any) -> Any:
        tolist = getattr(value, "tolist", None)
        return type(value).__qualname__ if tolist is None else tolist()

    return json.dumps(labels, default=named, skipkeys=True).encode()


def changed(data: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """What a collate_fn made, with its tensors changed."""
    if isinstance(data, torch.Tensor):
        return change(data)
    if isinstance(data, dict):
        return {key: changed(value, change) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(changed(value, change) for value in data))
    if isinstance(data, (list, tuple)):
        return type(data)(changed(value, change) for value in data)
    return data


def moved(data: Any, device: str) -> Any:
    """Collated labels with their tensors on a device."""
    return changed(data, lambda one: one.to(device, non_blocking=True))
