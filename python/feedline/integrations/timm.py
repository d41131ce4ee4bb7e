# SPDX-License-Identifier: Apache-2.0
"""timm: `create_loader` with a native loader inside.

    from feedline.integrations.timm import create_loader

takes the arguments of `timm.data.create_loader` and lets that function make the
transform, the samplers and the `PrefetchLoader` around it. The loader within is
then replaced by a native one, which keeps what `PrefetchLoader` relies on:
batches of (uint8 [N, C, H, W], int64 [N]), a length, `sampler`,
`batch_sampler`, `dataset`, and `mixup_enabled` where the collate_fn mixes. What
has no native form (RandAugment, a random interpolation, sizes by schedule ...)
runs as timm would run it, and `loader.fallback_reason` tells which it was.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from timm.data import loader as timm_loaders
from timm.data.loader import PrefetchLoader
from timm.data.mixup import FastCollateMixup

from feedline.torch import DataLoader
from feedline.torch.collated import Collated

from .rebuild import rebuild

fast_collate: Any = timm_loaders.fast_collate


class WholeBatch(Collated):
    """timm's fast_collate, which has nothing to do for a native batch."""

    def __init__(self) -> None:
        super().__init__(_as_pair)

    def __call__(self, samples: list[Any]) -> Any:
        return fast_collate(samples)


class MixedBatch(Collated, FastCollateMixup):
    """timm's FastCollateMixup over the images of a native batch.

    It is one for `PrefetchLoader`, which asks for the type before it looks for
    `mixup_enabled`; the mixing itself is left to the object that was given.
    """

    def __init__(self, mixup: FastCollateMixup) -> None:
        Collated.__init__(self, mixup, samples=True)

    def __call__(self, samples: list[Any], _: Any = None) -> Any:
        return Collated.__call__(self, samples)

    @property
    def mixup_enabled(self) -> bool:
        """Whether batches are mixed now: timm's scripts end it some day."""
        return bool(self.fn.mixup_enabled)

    @mixup_enabled.setter
    def mixup_enabled(self, value: bool) -> None:
        self.fn.mixup_enabled = value


def create_loader(
    dataset: Any,
    *args: Any,
    loader_options: Optional[dict[str, Any]] = None,
    **kwargs: Any,
) -> Any:
    """`timm.data.create_loader`, with the same arguments, made natively.

    loader_options: arguments of `feedline.torch.DataLoader` beyond timm's, for
    example `{"num_workers": "auto"}`. Returns timm's `PrefetchLoader`, or the
    loader itself for `use_prefetcher=False`; `native_loader` finds the latter
    in either. Raises what timm raises for its arguments.

    With `use_multi_epochs_loader` an epoch ends as any other: workers outlive
    an epoch here anyway.
    """
    made = timm_loaders.create_loader(dataset, *args, **kwargs)
    inside = made.loader if isinstance(made, PrefetchLoader) else made
    changes = {"collate_fn": _recognisable(inside.collate_fn)}
    changes.update(loader_options or {})
    native = rebuild(inside, **changes)
    if not isinstance(made, PrefetchLoader):
        return native
    made.loader = native
    return made


def native_loader(loader: Any) -> DataLoader[Any]:
    """The `feedline.torch.DataLoader` within what `create_loader` returned."""
    inside = getattr(loader, "loader", loader)
    if not isinstance(inside, DataLoader):
        raise TypeError(
            "%s was not made by feedline.integrations.timm.create_loader"
            % type(loader).__name__
        )
    return inside


def _recognisable(collate_fn: Any) -> Any:
    """A collate_fn of timm's as one that works on native batches as well."""
    if collate_fn is fast_collate:
        return WholeBatch()
    if isinstance(collate_fn, FastCollateMixup):
        return MixedBatch(collate_fn)
    return collate_fn


def _as_pair(
    images: torch.Tensor, labels: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    return images, labels
