# SPDX-License-Identifier: Apache-2.0
"""Labels that are no ints: kept in Python, and collated as torch does.

The engine has an int64 for each sample. Where a data set has labels of another
type, or a target_transform, that number is the sample's position, and the
labels of a batch are looked up, transformed and collated when the batch is
handed over, in the thread that asked for it. Images do not wait for that.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Iterable, List, Optional, Tuple

import torch


class Targets:
    """The labels of a plan's samples; transform: the target_transform."""

    def __init__(
        self, values: List[Any], transform: Optional[Callable[[Any], Any]]
    ) -> None:
        self.values = values
        self.transform = transform

    def of(self, positions: Iterable[int]) -> Tuple[Any, ...]:
        """As the data set gives them. What the transform raises is raised."""
        found = (self.values[position] for position in positions)
        if self.transform is None:
            return tuple(found)
        return tuple(map(self.transform, found))


def read_labels(labels: Any, converted: bool) -> List[Any]:
    """The labels of a data set: ints if default_collate made int64 of them.

    converted: the data set itself makes an int of each.
    """
    if converted:
        return [int(label) for label in labels]
    if str(getattr(labels, "dtype", "")) in ("int64", "torch.int64"):
        return list(labels.tolist())
    found = list(labels)
    kinds = [kind.__name__ for kind in set(map(type, found))]
    if kinds == ["int64"]:
        return [int(label) for label in found]
    return found


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


def moved(data: Any, device: str) -> Any:
    """Collated labels with their tensors on a device."""
    if isinstance(data, torch.Tensor):
        return data.to(device, non_blocking=True)
    if isinstance(data, dict):
        return {key: moved(value, device) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(moved(value, device) for value in data))
    if isinstance(data, (list, tuple)):
        return type(data)(moved(value, device) for value in data)
    return data
