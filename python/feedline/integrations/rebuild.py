# SPDX-License-Identifier: Apache-2.0
"""A native loader with the arguments of another one.

A data loader keeps each argument of its constructor in an attribute of that
name: torch's does, and so does ours, because Lightning reads them back in the
same way. What a framework has built can therefore be built once more as
`feedline.torch.DataLoader`, with its samplers and sizes.
"""

from __future__ import annotations

import inspect
from typing import Any, Optional

import torch.utils.data as data

from feedline.torch import DataLoader

# Which samples come, and in what batches. torch has turned a `shuffle` into a
# sampler, so that it need not be told again.
OF_THE_ORDER = (
    "dataset batch_size shuffle sampler batch_sampler drop_last".split()
)
# What torch refuses to hear about where there are no workers.
OF_THE_WORKERS = (
    "prefetch_factor persistent_workers multiprocessing_context".split()
)


def order_of(loader: data.DataLoader[Any]) -> dict[str, Any]:
    """The arguments that give another loader the samples of this one.

    The samplers themselves, no copies: both loaders walk the same objects.
    """
    order: dict[str, Any] = {"dataset": loader.dataset}
    batches = loader.batch_sampler
    if isinstance(loader.dataset, data.IterableDataset):
        order["batch_size"] = loader.batch_size
        order["drop_last"] = loader.drop_last
    elif loader.batch_size is None and type(batches) is data.BatchSampler:
        # Said by its parts, so that the new loader knows its batch_size.
        order["sampler"] = batches.sampler
        order["batch_size"] = batches.batch_size
        order["drop_last"] = batches.drop_last
    elif loader.batch_size is None and batches is not None:
        order["batch_sampler"] = batches
    else:
        order["sampler"] = loader.sampler
        order["batch_size"] = loader.batch_size
        order["drop_last"] = loader.drop_last
    return order


def settings_of(loader: data.DataLoader[Any]) -> dict[str, Any]:
    """All other arguments that `feedline.torch.DataLoader` has and it too."""
    names = list(inspect.signature(DataLoader.__init__).parameters)[1:]
    absent = OF_THE_ORDER + ([] if loader.num_workers else OF_THE_WORKERS)
    found = {
        name: getattr(loader, name)
        for name in names
        if name not in absent and hasattr(loader, name)
    }
    if isinstance(loader, DataLoader):  # a subclass may use these names
        found.update(vars(loader._feedline.given))
    return found


def rebuild(
    loader: data.DataLoader[Any],
    order: Optional[data.DataLoader[Any]] = None,
    **changes: Any,
) -> DataLoader[Any]:
    """A `feedline.torch.DataLoader` like `loader`, but for `changes`.

    order: another loader, whose data set and samplers are to be taken.
    Raises what the constructor raises for the arguments.
    """
    arguments = settings_of(loader)
    arguments.update(order_of(order if order is not None else loader))
    arguments.update(changes)
    return DataLoader(**arguments)
