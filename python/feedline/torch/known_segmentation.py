# SPDX-License-Identifier: Apache-2.0
"""Segmentation data sets of torchvision, wrapped by its
wrap_dataset_for_transforms_v2: the mask of an image is a file of its own, which
the engine reads and moves as it moves the image.
"""

from __future__ import annotations

from os import fspath
from typing import Any, Dict, List, Sequence

import torch

import feedline

from .chain import NotNative
from .chain_pairs import Pair
from .changes import Items
from .known_sets import Piece
from .known_wrapped import moving_piece, only_methods_of, wraps
from .moving import Moving

_FIELD = "mask"


class Masks(Moving):
    """Of each sample: the file of its mask."""

    def __init__(self, paths: Sequence[Any], where: str) -> None:
        self.paths: List[str] = list(map(fspath, paths))
        from PIL import Image

        for path in self.paths[:1]:
            with Image.open(path) as first:
                mode = first.mode
            if mode not in ("L", "P"):
                raise NotNative(
                    f"{where} has masks of Pillow's mode {mode}; the engine "
                    "has those of L and P"
                )

    def attach(self, dataset: feedline.Dataset) -> None:
        dataset.add_files(_FIELD, self.paths)

    def options(self, pair: Pair) -> Dict[str, Any]:
        return {
            "masks": _FIELD,
            "mask_fill": pair.fill,
            "mask_nearest": "torch",
        }

    def targets(
        self, batch: feedline.Batch, pair: Pair, images: List[torch.Tensor]
    ) -> List[Any]:
        masks, dtype = batch.masks, getattr(torch, pair.dtype)
        found = [
            torch.from_numpy(masks[i])[None].to(dtype)
            for i in range(len(masks))
        ]
        if not pair.target:
            return found
        from torchvision import tv_tensors

        return [tv_tensors.Mask(mask) for mask in found]


def _piece(
    dataset: Any,
    inner: Any,
    where: str,
    images: Sequence[Any],
    masks: Sequence[Any],
) -> Piece:
    only_methods_of(inner, "torchvision.datasets.", where)
    piece = moving_piece(
        dataset,
        where,
        images,
        lambda: images,
        "mask",
        lambda: Masks(masks, where),
    )
    piece.watched.append(Items(masks))
    return piece


@wraps("segmentation_wrapper_factory")
def _voc(dataset: Any, inner: Any, where: str) -> Piece:
    return _piece(dataset, inner, where, inner.images, inner.targets)


@wraps("oxford_iiit_pet_wrapper_factor")
def _pets(dataset: Any, inner: Any, where: str) -> Piece:
    _only(inner._target_types, "segmentation", where)
    return _piece(dataset, inner, where, inner._images, inner._segs)


@wraps("cityscapes_wrapper_factory")
def _cityscapes(dataset: Any, inner: Any, where: str) -> Piece:
    _only(inner.target_type, "semantic", where)
    masks = [files[0] for files in inner.targets]
    return _piece(dataset, inner, where, inner.images, masks)


def _only(kinds: Sequence[str], known: str, where: str) -> None:
    if list(kinds) != [known]:
        raise NotNative(
            f"{where} has targets {list(kinds)}; the engine moves those of "
            f"{known!r} alone"
        )
