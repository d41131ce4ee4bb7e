# SPDX-License-Identifier: Apache-2.0
"""Samples that have more than image and label: batches of their fields, as
default_collate makes them of the samples of `Images(..., output=...)`.

Text and bytes become tuples, JSON what it holds, numbers tensors of int64 and
float64; several of each sample are a tensor of int64 or float32. In batches of
webdataset's own all but numbers is a list.
"""

from __future__ import annotations

from array import array
from typing import Any, List, Optional, Sequence, Tuple

import torch
from torch.utils.data.dataloader import default_collate

import feedline

from ..fields import Field
from .targets import moved


def checked(
    output: Optional[Sequence[str]], dataset: feedline.Dataset
) -> Optional[Tuple[str, ...]]:
    """None where samples are pairs of image and label. Raises ValueError."""
    if output is None or tuple(output) == ("image", "label"):
        return None
    known = ["image", "label", *dataset.fields]
    for name in output:
        if name not in known:
            raise ValueError(
                "output has %r, and samples have %s; fields are chosen as the "
                'data set is opened ("...?fields=NAME")'
                % (name, ", ".join(known))
            )
    if "image" not in output:
        raise ValueError("output has no image")
    return tuple(output)


def of_sample(
    output: Tuple[str, ...],
    pair: Tuple[Any, Any],
    dataset: feedline.Dataset,
    index: int,
) -> Tuple[Any, ...]:
    """A sample; pair: its image and label."""
    parts = dict(zip(("image", "label"), pair))
    return tuple(
        parts[name] if name in parts else _of_one(dataset, index, name)
        for name in output
    )


def _of_one(dataset: feedline.Dataset, index: int, name: str) -> Any:
    value = dataset._value(index, name)
    if not isinstance(value, array):
        return value
    dtype = torch.int64 if value.typecode == "q" else torch.float32
    return torch.tensor(value, dtype=dtype)


def of_batch(
    output: Tuple[str, ...],
    data: List[Any],
    batch: feedline.Batch,
    missed: Sequence[int],
    dataset: feedline.Dataset,
    lists: bool,
) -> List[Any]:
    """data: images and labels. missed: places of samples that the engine could
    not make, and the data set did. lists: what is no number becomes one."""
    parts = dict(zip(("image", "label"), data))
    fields = batch.fields
    at = batch.sample_index if missed else []
    for name in output:
        if name not in parts:
            mended = {i: _of_one(dataset, at[i], name) for i in missed}
            parts[name] = moved(
                _collated(fields[name], mended, lists), data[0].device.type
            )
    return [parts[name] for name in output]


def _collated(field: Field, mended: "dict[int, Any]", lists: bool) -> Any:
    if field.is_number:
        numbers = torch.from_numpy(field.numpy().copy())
        if field.width and numbers.is_floating_point():
            numbers = numbers.to(torch.float32)
        for place, value in mended.items():
            numbers[place] = value
        return numbers
    values = field.tolist()
    for place, value in mended.items():
        values[place] = value
    samples: Any = tuple(values)
    return values if lists else default_collate(samples)
