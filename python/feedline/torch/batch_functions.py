# SPDX-License-Identifier: Apache-2.0
"""Functions of `with_transform`: what they make of a batch.

Such a function takes a batch as a dict of lists and may do anything with it. In
practice it hands each image to a transform, and passes columns on:

    def preprocess(batch):
        batch["pixel_values"] = [
            transform(image.convert("RGB")) for image in batch["image"]
        ]
        return batch

It may be a method, or an object with a __call__. A rehearsal (rehearsal.py)
finds out, with batches of several sizes, and of images of every mode where that
is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Container, Dict, List, Optional, Sequence

import torch

from .rehearsal import Cell, Refused, Rehearsal


@dataclass
class BatchFunction:
    """keys: of a sample, in their order, and the column that each is of; that
    of `made` is the image, by `transform`."""

    image: str
    made: str
    transform: Any
    to_rgb: bool
    keys: Dict[str, str]


# Those of Pillow's images that are not RGB (PIL.ImageMode).
_OTHERS = (
    "1 L P RGBA CMYK YCbCr LAB HSV I F LA PA RGBX RGBa La "
    "I;16 I;16L I;16B I;16N"
).split()
# The rows of a stacked tensor are those of the list.
_KNOWN = ((torch.stack, list),)


def read_batch_function(
    given: Any, columns: Sequence[str], images: Container[str]
) -> Optional[BatchFunction]:
    """What a function does to batches of these columns, some of which are
    images; None where that is not known."""
    asked: List[str] = []

    def run(mode: str, count: int) -> BatchFunction:
        batch = {
            name: [
                Cell((name, row), mode if name in images else None, asked)
                for row in range(count)
            ]
            for name in columns
        }
        return _read(Rehearsal(_KNOWN).of_call(given)(batch), count)

    try:
        runs = [run("RGB", 1), run("RGB", 3)]
        if asked:  # an image that is RGB need not be converted
            converted = [run(mode, 1) for mode in _OTHERS]
            for one in runs:
                one.to_rgb = converted[0].to_rgb
            runs += converted
    except Exception:  # of whatever kind: it did something else
        return None
    first = runs[0]
    alike = all(
        one.transform is first.transform
        and (one.image, one.made, one.to_rgb)
        == (first.image, first.made, first.to_rgb)
        and list(one.keys.items()) == list(first.keys.items())
        for one in runs
    )
    return first if alike else None


def _read(made: Any, count: int) -> BatchFunction:
    if type(made) is not dict or not all(type(key) is str for key in made):
        raise Refused
    cells = {key: _first(values, count) for key, values in made.items()}
    (key,) = (key for key, cell in cells.items() if cell._steps)
    image = cells[key]
    ((_, transform),) = image._steps
    keys = {key: cell._name[0] for key, cell in cells.items()}
    return BatchFunction(keys[key], key, transform, image._to_rgb, keys)


def _first(values: Any, count: int) -> Cell:
    """Of a column; the others are like it, each in its row."""
    if type(values) not in (list, tuple) or len(values) != count:
        raise Refused
    first: Cell = values[0]
    for row, cell in enumerate(values):
        if type(cell) is not Cell or cell._name != (first._name[0], row):
            raise Refused
        steps = [step for _, step in cell._steps]
        if cell._to_rgb != first._to_rgb or len(steps) != len(first._steps):
            raise Refused
        if any(a is not b for a, (_, b) in zip(steps, first._steps)):
            raise Refused
    if first._to_rgb and not first._steps:
        raise Refused
    return first
