# SPDX-License-Identifier: Apache-2.0
"""Samples that are dicts of an image and columns: their batches.

The engine has the images of a batch in one tensor. A collate_fn gets each row
as the data set would give it, with a view of that tensor as its image; if it
stacks these views, as most do and default_collate does, the result is that
tensor, without a copy. All else that it does with them is done as ever.
"""

from __future__ import annotations

import numbers
from typing import Any, Dict, List, Optional, Sequence

import torch
from torch.utils.data.dataloader import default_collate

from . import _compat
from .batch_functions import BatchFunction
from .chain import NotNative
from .collated import Collated
from .moving import leaves_of


class Whole:
    """The images of a batch. touched: something else than stacking them all,
    once, was done with one of them."""

    def __init__(self, images: torch.Tensor) -> None:
        self.images = images
        self.stacked = self.touched = False

    def views(self) -> List[torch.Tensor]:
        found = []
        for place, image in enumerate(self.images.unbind(0)):
            view: Any = image.as_subclass(_View)
            view._whole, view._place = self, place
            found.append(view)
        return found

    def is_all_of(self, tensors: Any, dim: int = 0, *, out: Any = None) -> bool:
        """Whether these are the arguments of a torch.stack of all of them."""
        return (
            not self.stacked
            and dim == 0
            and out is None
            and len(tensors) == len(self.images)
            and all(
                type(one) is _View and one._whole is self and one._place == i
                for i, one in enumerate(tensors)
            )
        )


class _View(torch.Tensor):
    """An image of a batch, which knows its place."""

    _whole: Whole
    _place: int

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if function is torch.stack and args and type(args[0][0]) is cls:
            whole = args[0][0]._whole
            if whole.is_all_of(*args, **kwargs):
                whole.stacked = True
                return whole.images
        for one in args:
            if type(one) is cls and function.__name__ != "__get__":
                one._whole.touched = True
        with _compat.as_plain_tensors():
            return function(*args, **kwargs)


class _Unloaded:
    """In place of an image that the function of the data set left in the row:
    as nobody looks at it, it is not loaded."""

    __slots__ = ()


_UNLOADED = _Unloaded()


class Rows:
    """What the samples of a data set of Hugging Face are.

    raw: without its transform. label: the column that the engine has as labels;
    None: there is none.
    """

    def __init__(
        self, raw: Any, function: BatchFunction, label: Optional[str]
    ) -> None:
        self.made, self.label = function.made, label
        self._keys = function.keys
        self._images = {
            name
            for name, feature in raw.features.items()
            if getattr(feature, "_type", "") == "Image"
        }
        others = [
            column
            for column in dict.fromkeys(function.keys.values())
            if column not in self._images
        ]
        self._columns = raw.select_columns(others) if others else None
        # Where samples are such pairs, batches are made without them.
        self.is_pair = len(self._keys) == 2 and others == [label]
        self._checked: Any = None

    def samples(
        self, images: Sequence[torch.Tensor], rows: Sequence[int]
    ) -> List[Dict[str, Any]]:
        """As the data set gives them; images: of these rows."""
        columns: Dict[str, Any] = {}
        if self._columns is not None:
            columns = self._columns[list(rows)]
        left = [_UNLOADED] * len(rows)
        values = {
            key: images if key == self.made else columns.get(column, left)
            for key, column in self._keys.items()
        }
        return [
            {key: value[i] for key, value in values.items()}
            for i in range(len(rows))
        ]

    def collated(self, collate: Any, images: Any, rows: Sequence[int]) -> Any:
        """The samples as a collate_fn gets them."""
        declared = isinstance(collate, Collated)
        parts = images.unbind(0) if declared else Whole(images).views()
        return self.samples(parts, rows)

    def batch(self, images: Any, labels: Any) -> Dict[str, Any]:
        """What default_collate makes of pairs."""
        return {
            key: images if key == self.made else labels for key in self._keys
        }

    def makes(self, collate: Any) -> bool:
        """Whether it is that."""
        return self.is_pair and collate is default_collate

    def check(self, collate: Any, images: torch.Tensor) -> None:
        """Raises NotNative for a collate_fn that does more than stack images,
        as a call with the first rows shows; images: in place of theirs."""
        if self.makes(collate) or collate is self._checked:
            return
        if isinstance(collate, Collated):
            if collate.samples:
                return
            raise NotNative(
                "samples are dicts, which default_collate does not make "
                "arguments of; use collated(fn, samples=True)"
            )
        whole = Whole(images)
        try:
            made = collate(self.samples(whole.views(), range(len(images))))
            stacks = whole.stacked and not whole.touched
            if not stacks or not all(map(_is_known, leaves_of(made))):
                made = None
        except Exception:
            made = None
        if made is None:
            raise NotNative(self._unusual(collate))
        self._checked = collate

    def _unusual(self, collate: Any) -> str:
        left = [
            key
            for key, column in self._keys.items()
            if column in self._images and key != self.made
        ]
        if left and collate is default_collate:
            return (
                f"samples have an image of Pillow's as {left[0]!r}, of which "
                "torch makes no batch; the function of the data set may "
                "delete it"
            )
        return (
            "samples are dicts of "
            + ", ".join(self._keys)
            + f", and collate_fn does more than stack sample[{self.made!r}] "
            "and collect the rest; use feedline.torch.collated(fn, "
            "samples=True), or feedline.torch.Images(ds, transform) for pairs "
            "of image and label"
        )


def _is_known(leaf: Any) -> bool:
    """It holds no image of a row."""
    plain = (str, bytes, numbers.Number, type(None))
    return isinstance(leaf, plain) or type(leaf) is torch.Tensor
