# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a job have to agree on for a DataLoader whose sampler deals
an order to them: the data set, the order, and how far along it is."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

from .. import agreement
from ._compat import index_sampler_of, is_stream
from .sampler_kinds import epoch_of, inner_sampler
from .state_dict import Fingerprint, Saved

# Of samplers: what decides their order.
_ORDER = ("shuffle", "seed", "drop_last", "block", "lanes", "total_size")


def compare(
    loader: Any,
    fingerprint_of: Callable[[Any], Fingerprint],
    saved: Optional[Saved],
) -> None:
    """With the other ranks, before the first batch. Raises what is wrong."""
    if is_stream(loader):
        return
    index_sampler = index_sampler_of(loader)
    for part in (inner_sampler(index_sampler), index_sampler):
        shard = _shard_of(part)
        if shard is not None:
            terms = _terms(loader, part, fingerprint_of(loader), saved)
            agreement.attend(shard[0], shard[1], terms)
            return


def _shard_of(sampler: Any) -> Optional[Tuple[int, int]]:
    rank = getattr(sampler, "rank", None)
    world = getattr(sampler, "num_replicas", None)
    if isinstance(rank, int) and isinstance(world, int) and world > 1:
        return rank, world
    return None


def _terms(
    loader: Any, sampler: Any, dataset: Fingerprint, saved: Optional[Saved]
) -> Dict[str, Any]:
    terms: Dict[str, Any] = {
        "dataset": dataset.name,
        "samples": dataset.samples,
        "fingerprint": dataset.fingerprint,
        "batch_size": loader.batch_size,
        "drop_last of batches": loader.drop_last,
        "sampler": type(sampler).__name__,
    }
    for name in _ORDER:
        value = getattr(sampler, name, None)
        if isinstance(value, (bool, int)):
            terms["the sampler's " + name] = value
    terms["epoch"] = epoch_of(sampler)
    if saved is not None:
        terms["epoch"] = saved.epoch
        terms["batches before"] = saved.batches
    return terms
