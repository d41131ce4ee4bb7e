# SPDX-License-Identifier: Apache-2.0
"""Hugging Face accelerate: a native loader behind `Accelerator.prepare`.

`Accelerator.prepare` takes a loader apart and makes a plain torch loader of the
pieces, so the class of the loader that it was given is lost:

    loader = feedline.torch.DataLoader(dataset, batch_size=64, shuffle=True)
    loader = prepare_loader(loader, accelerator)          # this line is new
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

`prepare_loader` lets accelerate make its own wrapper, which knows shards,
seeds, devices, `gather_for_metrics` and the end of an epoch, and then puts a
native loader inside. The wrapper is marked as prepared: a later `prepare`
leaves it alone.
"""

from __future__ import annotations

import weakref
from typing import Any, Optional

import accelerate
import torch
import torch.utils.data as data
from accelerate import data_loader as wrappers

from feedline.errors import NotSupported
from feedline.torch import DataLoader

from .rebuild import rebuild, settings_of

# A wrapper of accelerate's around a loader; its class says DataLoader.
Prepared = Any


def prepare_loader(
    loader: data.DataLoader[Any],
    accelerator: accelerate.Accelerator,
    device_placement: Optional[bool] = None,
) -> Prepared:
    """What `accelerator.prepare(loader)` returns, with a native loader inside.

    loader: a `feedline.torch.DataLoader`, whose arguments are kept, or torch's.
    device_placement: as for `Accelerator.prepare_data_loader`; where accelerate
    would move batches to a CUDA device the native loader makes them there.

    The result shards by process, has `set_epoch`, `remainder`,
    `end_of_dataloader`, `state_dict` and `load_state_dict`, and hands on the
    attributes of the loader inside: `native`, `fallback_reason`, `stats()`.
    Raises feedline.NotSupported where accelerate makes a wrapper of another
    kind (XLA), or is too old to have one that can be opened.
    """
    if isinstance(loader, DataLoader):
        loader._is_accelerate_prepared = False  # and no need to warn of it
    prepared = accelerator.prepare_data_loader(
        loader, device_placement=device_placement
    )
    return make_native(prepared, like=loader)


def skip_first_batches(loader: Prepared, num_batches: int = 0) -> Prepared:
    """`accelerate.skip_first_batches` for a loader of `prepare_loader`.

    The rest of the epoch: the skipped batches are neither read nor decoded.
    A loader that is not ours is accelerate's matter, as ever.
    """
    rest = wrappers.skip_first_batches(loader, num_batches)
    inside = getattr(loader, "base_dataloader", None)
    if not isinstance(inside, DataLoader):
        return rest
    # accelerate forgets these three, which its own constructor takes.
    for name in ("_drop_last", "_non_blocking", "use_stateful_dataloader"):
        setattr(rest, name, getattr(loader, name))
    return make_native(rest, like=inside)


def make_native(
    prepared: Prepared,
    like: Optional[data.DataLoader[Any]] = None,
    **changes: Any,
) -> Prepared:
    """Puts a native loader into a wrapper of accelerate's, and returns it.

    like: the loader that accelerate was given, for the arguments that it does
    not know. changes: arguments that are to be others.
    """
    plain = getattr(prepared, "base_dataloader", None)
    if not isinstance(plain, data.DataLoader):
        raise NotSupported(
            "accelerate %s made a %s: feedline needs a wrapper with a loader "
            "inside, as accelerate 1.0 and newer make them for CPUs and GPUs"
            % (accelerate.__version__, type(prepared).__name__)
        )
    pattern = like if like is not None else plain
    if settings_of(pattern).get("device") is None:
        changes = {**_placement(prepared), **changes}
    prepared.base_dataloader = rebuild(pattern, order=plain, **changes)
    prepared.dl_state_dict = {}  # the beginning, until a batch has come
    prepared._is_accelerate_prepared = True
    _count_epochs(prepared)
    return prepared


def _count_epochs(prepared: Prepared) -> None:
    """accelerate counts the epochs of a loader, tells each to the samplers, and
    begins at 0 when a state is loaded: it is told where that is."""
    if not hasattr(prepared, "iteration"):
        return
    wrapper = weakref.ref(prepared)

    def told(epoch: int) -> None:
        found = wrapper()
        if found is not None:
            found.iteration = epoch

    prepared.base_dataloader._feedline.epochs.on_load = told


def _placement(prepared: Prepared) -> dict[str, Any]:
    """Batches are made on the GPU to which they would have been sent."""
    device = getattr(prepared, "device", None)
    if not isinstance(device, torch.device) or device.type != "cuda":
        return {}
    return {"device": device, "pin_memory": False}
