# SPDX-License-Identifier: Apache-2.0
"""What is known of a sampler: its ranks, its epoch, whether it saves itself,
and how torch's own classes draw."""

from __future__ import annotations

import copy
import sys
from typing import Any, Dict, Iterator, List, Optional

import torch
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler
from torch.utils.data import SubsetRandomSampler, WeightedRandomSampler
from torch.utils.data.distributed import DistributedSampler

from .block_sampler import BlockSampler


def is_stateful(thing: object) -> bool:
    """Whether it can save its own state, in torchdata's sense.

    The iterators of torchdata's own samplers can, with a generator's state in
    each; theirs is the loader's to note, once.
    """
    if type(thing).__name__ == "_BatchSamplerIterator":
        return False
    return callable(getattr(thing, "state_dict", None)) and callable(
        getattr(thing, "load_state_dict", None)
    )


def state_of(thing: Any) -> Optional[Dict[str, Any]]:
    """A copy of its state; None if it does not save one."""
    if not is_stateful(thing):
        return None
    state: Dict[str, Any] = copy.deepcopy(thing.state_dict())
    return state


def load_state(thing: Any, state: Dict[str, Any]) -> None:
    """Gives it a state back; ValueError if it does not take one."""
    if not is_stateful(thing):
        raise ValueError(
            "the state has one of a sampler, and the sampler of this loader "
            "has no load_state_dict"
        )
    thing.load_state_dict(copy.deepcopy(state))


def inner_sampler(index_sampler: Any) -> Any:
    """The sampler of single samples below a batch sampler, or itself."""
    return getattr(index_sampler, "sampler", index_sampler)


def stateful_part(index_sampler: Any) -> Any:
    """The one of the two that saves its own state; None if neither does."""
    for part in (index_sampler, inner_sampler(index_sampler)):
        if is_stateful(part):
            return part
    return None


def replicas(index_sampler: Any) -> int:
    """The ranks that share the order: a DistributedSampler's num_replicas."""
    for part in (inner_sampler(index_sampler), index_sampler):
        number = getattr(part, "num_replicas", None)
        if isinstance(number, int) and number > 0:
            return number
    return 1


def places_behind(index_sampler: Any, delivered: int) -> int:
    """How many places an order is moved on where other ranks delivered so many
    samples of it, all of them together, and ours take turns at the rest."""
    known = type(inner_sampler(index_sampler)) in (
        DistributedSampler,
        BlockSampler,
    )
    return delivered % replicas(index_sampler) if known else 0


def moved_on(sampler: Any, shift: int) -> Iterator[Any]:
    """What this rank of a DistributedSampler or BlockSampler delivers of an
    order that is moved on: all ranks equally much, as those classes do it."""
    whole = copy.copy(sampler)
    whole.num_replicas, whole.rank = 1, 0
    whole.num_samples = whole.total_size = len(sampler.dataset)
    order = list(whole)
    ranks = sampler.num_replicas
    turns, rest = divmod(max(0, len(order) - shift), ranks)
    if rest > 0 and not sampler.drop_last:
        turns += 1
    for turn in range(turns):
        yield order[(shift + sampler.rank + turn * ranks) % len(order)]


def shard_of(index_sampler: Any) -> List[Any]:
    """What tells the ranks of one order apart."""
    here = torch.distributed.is_available()
    found = [
        getattr(part, name, None)
        for part in (inner_sampler(index_sampler), index_sampler)
        for name in ("rank", "num_replicas", "process_index", "num_processes")
    ]
    if here and torch.distributed.is_initialized():
        found.append(torch.distributed.get_rank())
    return [one for one in found if isinstance(one, int)]


def epoch_of(index_sampler: Any) -> Optional[int]:
    """What set_epoch told the sampler, where it has such a thing."""
    for part in (inner_sampler(index_sampler), index_sampler):
        number = getattr(part, "epoch", None)
        if isinstance(number, int) and callable(
            getattr(part, "set_epoch", None)
        ):
            return number
    return None


def set_epoch(index_sampler: Any, epoch: int) -> None:
    """Tells the epoch to every sampler that wants to know it."""
    for part in {
        id(p): p for p in (inner_sampler(index_sampler), index_sampler)
    }.values():
        if callable(getattr(part, "set_epoch", None)):
            part.set_epoch(epoch)


ALL = sys.maxsize
# Those that draw nothing, or everything at the first pull.
_DRAWN_AT_ONCE = (
    list,
    tuple,
    range,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    DistributedSampler,
    BlockSampler,
)


def _dealt(index_sampler: Any) -> Any:
    """The sampler whose samples come as they are, or in torch's own batches;
    None below another batch sampler, which may ask it for anything."""
    sampler = inner_sampler(index_sampler)
    plain = sampler is index_sampler or type(index_sampler) is BatchSampler
    return sampler if plain else None


def _draws_again(sampler: Any) -> bool:
    """Whether it gives a sample twice, or goes through all of them twice."""
    count = len(sampler.data_source)
    return bool(sampler.replacement or sampler.num_samples > count)


def repeats(index_sampler: Any) -> bool:
    """Whether a sample may come more than once; True where nobody knows."""
    sampler = _dealt(index_sampler)
    if type(sampler) is RandomSampler:
        return _draws_again(sampler)
    if type(sampler) in (DistributedSampler, BlockSampler):
        return bool(len(sampler.dataset) < sampler.num_replicas)
    return type(sampler) is not SequentialSampler


def draws_its_seed(index_sampler: Any) -> bool:
    """Whether the first pull draws one seed from the global generator."""
    sampler = _dealt(index_sampler)
    return type(sampler) is RandomSampler and sampler.generator is None


def draws_nothing(index_sampler: Any) -> bool:
    """Whether the global generators are known to be left alone."""
    sampler = _dealt(index_sampler)
    if type(sampler) in (SequentialSampler, DistributedSampler):
        return True
    given = getattr(sampler, "generator", None) is not None
    return given and type(sampler) in (
        RandomSampler,
        SubsetRandomSampler,
        WeightedRandomSampler,
    )


def waits_for_epoch(index_sampler: Any) -> bool:
    """Whether it is told the epoch, and nobody sees that it is asked late."""
    return draws_nothing(index_sampler) and epoch_of(index_sampler) is not None


def batches_known_ahead(index_sampler: Any) -> int:
    """How many batches of an epoch may be pulled before they are asked for.

    Nobody may notice that: no generator moves at another time than with torch,
    and no code of the user's runs at another time. ALL with the order's end; 0
    for a sampler that is not known.
    """
    sampler = _dealt(index_sampler)
    # Without a generator it seeds one of its own at the first pull.
    if type(sampler) in _DRAWN_AT_ONCE or draws_its_seed(index_sampler):
        return ALL
    if type(sampler) is not RandomSampler or _draws_again(sampler):
        return 0
    # It draws once more at the end of the order, which is not to be reached
    # before the program does.
    return len(index_sampler) - 1


def batch_samples(index: Any) -> int:
    """The samples that one pulled index stands for."""
    if isinstance(index, (int, str)):
        return 1
    try:
        return len(index)
    except TypeError:
        return 1
