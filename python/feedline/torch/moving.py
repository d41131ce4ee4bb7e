# SPDX-License-Identifier: Apache-2.0
"""Targets that move with their images: how a batch of them is handed over.

The engine has moved boxes or masks by the draws of their images. Here they
become the samples that the data set would have given, and the collate_fn gets
those. One is called if it only puts them in another order, as

    lambda batch: tuple(zip(*batch))

does, which is what detection scripts have; `arranges` tries it on two samples
that nobody has seen before. Images share the batch's memory and hold it.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Sequence

import torch
from torch.utils.data.dataloader import default_collate

import feedline

from .. import _c
from ..batch import image_bytes
from ._compat import collates
from .chain_pairs import Pair
from .collated import Collated


class Moving:
    """Of a piece: what moves with its images.

    largest: width and height that none of them exceeds, as far as known.
    """

    largest = (2048, 2048)

    def options(self, pair: Pair) -> Dict[str, Any]:
        """Of the loader."""
        return {}

    def attach(self, dataset: feedline.Dataset) -> None:
        """Gives the engine's data set what it needs."""

    def check(self, pair: Pair, samples: Sequence[int]) -> None:
        """Whether torch could make all of these. Raises NotNative."""

    def targets(
        self, batch: feedline.Batch, pair: Pair, images: List[torch.Tensor]
    ) -> List[Any]:
        raise NotImplementedError


def samples_of(batch: feedline.Batch, moving: Moving, pair: Pair) -> List[Any]:
    """The samples of a batch, as the data set gives them."""
    images = images_of(batch)
    targets = moving.targets(batch, pair, images)
    if pair.image:
        from torchvision import tv_tensors

        images = [tv_tensors.Image(image) for image in images]
    return list(zip(images, targets))


def images_of(batch: feedline.Batch) -> List[torch.Tensor]:
    """Each image as a tensor [C, H, W], whether they are of one size or not."""
    dtype = getattr(torch, batch.images.dtype)
    hold = batch.export(_c.LABELS)
    found = []
    for i in range(len(batch)):
        data, axes = image_bytes(batch.info, i, hold)
        found.append(torch.from_numpy(data).view(dtype).view(axes))
    return found


# ---- The collate_fn ---------------------------------------------------------


def arranges(collate: Any) -> bool:
    """Whether it only puts the parts of samples in another order."""
    if isinstance(collate, Collated):
        return collate.samples
    probe = [(object(), object()), (object(), object())]
    try:
        made = collate([*probe])
    except Exception:
        return False
    leaves = list(_leaves(made))
    wanted = [part for sample in probe for part in sample]
    return len(leaves) == len(wanted) and {id(one) for one in leaves} == {
        id(one) for one in wanted
    }


def _leaves(made: Any) -> Any:
    if type(made) in (list, tuple):
        for part in made:
            yield from _leaves(part)
    else:
        yield made


def reasons_in_loader(loader: Any) -> Iterator[str]:
    """What is not done with samples that move."""
    given, collate = loader._feedline.given, loader.collate_fn
    for name, usual in (("on_error", "raise"), ("layout", None)):
        if getattr(given, name) != usual:
            yield (
                f"{name}={getattr(given, name)!r} is not for images with "
                "targets that move; leave it out"
            )
    if str(given.device or "cpu") != "cpu":
        yield (
            "images with targets that move are made in host memory; leave out "
            "device, and move them after the loader"
        )
    if not collates(loader):
        yield (
            "samples with targets that move come in batches; give the loader a "
            "batch_size"
        )
    elif collate is not default_collate and not arranges(collate):
        yield (
            "collate_fn is one of your own; one that only rearranges samples, "
            "as lambda batch: tuple(zip(*batch)), is native, and any other as "
            "feedline.torch.collated(fn, samples=True)"
        )
