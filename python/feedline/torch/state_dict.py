# SPDX-License-Identifier: Apache-2.0
"""Where an epoch stands, as a small dictionary that JSON can hold.

The keys that torchdata's StatefulDataLoader has mean what they mean there, so
frameworks that adjust them (accelerate takes back what it has fetched ahead)
find them:

    _num_yielded               batches that next() returned
    _sampler_iter_yielded      batches that are behind us, failed ones included
    _index_sampler_state       {"samples_yielded": ...}, or the state of a batch
                               sampler that saves its own
    _sampler_iter_state        that of its iterator, or None
    _iterator_finished         whether the epoch came to its end
    dataset_state,             what the data set and the iterator of a stream
    fetcher_state              save of themselves

and ours are

    version                    of this format
    dataset                    its name, length and fingerprint
    epoch, round, seed         what random transforms draw from
    sampler_epoch              what set_epoch was told, or None
    replicas                   ranks that shared the order
    shift                      places that their order is moved on, as in an
                               epoch that another number of them had begun
    samples_yielded_global     over all of them
    order                      how the order began, or of a finished epoch,
                               what the next one begins from (order_trace.py)
    next                       behind the end: what the next epoch draws from
    draws                      generators that run on from sample to sample
    chains                     which are recorded as wholes
    damaged, real_from         images of a stream that are opened by Pillow

All counts are of what was delivered, not of what was prepared. So a state is
valid for another num_workers and prefetch_factor; where torch's BatchSampler
makes the batches also for another batch_size and, with a DistributedSampler,
another number of replicas: they take turns at what is left, in the same order.

The state of a finished epoch has the seeds of the next one, which the global
generator would have given had it been used for nothing else. They count unless
that was seeded since the state was loaded. Epochs behind the next one draw from
torch's generators. Those that were given to the loader are in the state; the
global one is the program's to save (torch.get_rng_state). Nor is what data sets
draw for themselves in processes of torch's: where torch loads the samples,
order and place are exact, and random transforms draw anew. A stream without a
state of its own is read past what was delivered.
"""

from __future__ import annotations

import copy
import zlib
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Mapping, Optional

import torch

from . import global_draws
from .global_draws import States, state_from_json, state_to_json
from .order_trace import Origin, Pulled, Resume, Taken, TracedSampler
from .order_trace import coming_seeds, copies_from_json, copies_to_json
from .sampler_kinds import draws_its_seed, epoch_of, is_stateful, load_state
from .sampler_kinds import places_behind, replicas, set_epoch, shard_of
from .sampler_kinds import state_of
from .sampler_kinds import stateful_part
from .sampler_parts import Copies

VERSION = 2


@dataclass
class Progress:
    """How far an iterator is; shared with its loader, which it may outlive.

    yielded: batches that were returned; batches, samples: that are behind us.
    seed, round: what this epoch's draws are made from. epoch: epochs of this
    loader before it. shift: as in the state. dataset: what it reads, once
    somebody asked. in_workers: torch's load the samples. fetcher: that of
    torch's in this process. draws: the generators of the next batch, where they
    run on from sample to sample;
    of a stream without a state of its own: of the first one. own_states: of a
    stream that is recorded, behind the last batch. chains: as Chains.decided()
    says. damaged, real_from: images of a stream that are not deferred. resumed:
    the state that it begins from.
    """

    traced: TracedSampler
    epoch: int = 0
    round: int = 0
    seed: int = 0
    yielded: int = 0
    batches: int = 0
    samples: int = 0
    shift: int = 0
    finished: bool = False
    sampler_state: Optional[Dict[str, Any]] = None
    iterator_state: Optional[Dict[str, Any]] = None
    dataset: Optional[Fingerprint] = None
    in_workers: bool = False
    fetcher: Any = None
    draws: Optional[States] = None
    own_states: Optional[Dict[str, Any]] = None
    chains: Optional[Dict[str, Any]] = None
    damaged: List[str] = field(default_factory=list)
    real_from: Optional[int] = None
    resumed: Optional[Dict[str, Any]] = None

    def delivered(self, pulled: Pulled) -> None:
        """A batch, or its error, has reached the consumer."""
        self.batches += 1
        self.samples += pulled.samples
        self.sampler_state = pulled.sampler_state
        self.iterator_state = pulled.iterator_state


@dataclass
class Fingerprint:
    """Which data set a state belongs to."""

    name: str
    samples: Optional[int]
    fingerprint: Optional[str]

    def __str__(self) -> str:
        text = self.name
        if self.samples is not None:
            text += " of %d samples" % self.samples
        if self.fingerprint:
            text += " (%s)" % self.fingerprint
        return text

    def refuses(self, saved: Dict[str, Any]) -> bool:
        """Whether what was saved is known to be another data set."""
        samples = saved.get("samples")
        if None not in (samples, self.samples) and samples != self.samples:
            return True
        other = saved.get("fingerprint")
        return None not in (other, self.fingerprint) and (
            other != self.fingerprint
        )


def check_dataset(ours: Fingerprint, state: Dict[str, Any]) -> None:
    """Refuses the state of another data set, naming both."""
    saved = state.get("dataset")
    if saved and ours.refuses(saved):
        other = Fingerprint(
            str(saved.get("name")),
            saved.get("samples"),
            saved.get("fingerprint"),
        )
        raise ValueError(
            "the state is that of another data set: saved with %s, loaded "
            "with %s" % (other, ours)
        )


# ---- To a dictionary -------------------------------------------------------


def save(
    progress: Progress, loader: Any, dataset: Fingerprint
) -> Dict[str, Any]:
    """The state of an epoch that was begun."""
    traced = progress.traced
    ranks = replicas(traced.sampler)
    return {
        "version": VERSION,
        "dataset": asdict(dataset),
        "epoch": progress.epoch,
        "round": progress.round,
        "seed": progress.seed,
        "sampler_epoch": (
            traced.origin.epoch
            if _in_middle(progress)
            else epoch_of(traced.sampler)
        ),
        "replicas": ranks,
        "shift": progress.shift,
        "samples_yielded_global": progress.samples * ranks + progress.shift,
        "order": _order(progress),
        "next": _next_seeds(progress, loader) if progress.finished else None,
        "draws": _draws_of(progress),
        "chains": progress.chains,
        "damaged": list(progress.damaged),
        "real_from": progress.real_from,
        "_index_sampler_state": _index_sampler_state(progress),
        "_sampler_iter_state": copy.deepcopy(progress.iterator_state),
        "_sampler_iter_yielded": progress.batches,
        "_num_yielded": progress.yielded,
        "_IterableDataset_len_called": None,
        "_shared_seed": None,
        "_iterator_finished": progress.finished,
        **_data_states(progress, loader),
    }


def _data_states(progress: Progress, loader: Any) -> Dict[str, Any]:
    if progress.own_states is not None:
        return copy.deepcopy(progress.own_states)
    dataset = None if progress.in_workers else loader.dataset
    return data_states(dataset, progress.fetcher)


def _draws_of(progress: Progress) -> Dict[str, Any]:
    states = progress.draws or {}
    return {name: state_to_json(state) for name, state in states.items()}


def _next_seeds(progress: Progress, loader: Any) -> Dict[str, Any]:
    """What the next epoch would draw now; None: what is not the global
    generator's to give. Persistent workers keep their seed."""
    seed, round = None, 0
    shuffled = int(draws_its_seed(progress.traced.sampler))
    if loader.persistent_workers and loader.num_workers > 0:
        seed, round = progress.seed, progress.round + 1
        seeds = coming_seeds(shuffled)
    elif loader.generator is None:
        seed, *seeds = coming_seeds(1 + shuffled)
    else:
        seeds = coming_seeds(shuffled)
    return {
        "seed": seed,
        "round": round,
        "sampler_seed": seeds[0] if seeds else None,
    }


def _in_middle(progress: Progress) -> bool:
    pulled = progress.traced.taken.batches or progress.batches
    return bool(pulled) and not progress.finished


def _order(progress: Progress) -> Dict[str, Any]:
    """How this order began, and how far it was pulled; of a finished epoch,
    what the next one begins from."""
    traced = progress.traced
    draws: States = {}
    order: Dict[str, Any]
    if _in_middle(progress):
        order = traced.origin.to_dict()
    else:
        draws = traced.coming_draws()
        if progress.finished:
            order = {"parts": copies_to_json(traced.parts.copies())}
        else:
            order = traced.origin_now().to_dict()
    order["pulled"] = asdict(traced.taken)
    order["shard"] = shard_of(traced.sampler)
    order["draws_from"] = {k: state_to_json(v) for k, v in draws.items()}
    drawn = draws or traced.origin.draws
    order["marks"] = global_draws.marks() if drawn else {}
    return order


def _index_sampler_state(progress: Progress) -> Dict[str, Any]:
    part = progress.traced.stateful
    state = copy.deepcopy(
        progress.sampler_state
        if progress.batches
        else progress.traced.first_state
    )
    if part is not None and part is progress.traced.sampler:
        return state or {}
    counted: Dict[str, Any] = {"samples_yielded": progress.samples}
    if part is not None:
        counted["sampler_state"] = state
    return counted


# ---- From a dictionary -----------------------------------------------------


class Moment:
    """torch's global generator when a state was loaded."""

    def __init__(self) -> None:
        self.seed = torch.initial_seed()
        self.state = torch.get_rng_state()

    def seeded_since(self) -> bool:
        """Whether the program has seeded it, and did not only draw from it."""
        now = torch.get_rng_state()
        if torch.equal(now, self.state):
            return False
        seed = torch.initial_seed()
        fresh = torch.Generator().manual_seed(seed).get_state()
        return seed != self.seed or torch.equal(now, fresh)


@dataclass
class Next:
    """What the epoch behind a finished one draws from."""

    seed: Optional[int] = None
    round: int = 0
    sampler_seed: Optional[int] = None


@dataclass
class Behind:
    """What a sampler begins from behind a finished epoch."""

    parts: Copies
    draws_from: States
    marks: Dict[str, int]


@dataclass
class Saved:
    """What a loader needs to know of a state that it was given."""

    state: Dict[str, Any]
    finished: bool
    epoch: int
    round: int
    seed: Optional[int]
    yielded: int
    batches: int
    resume: Optional[Resume] = None
    next: Optional[Next] = None
    behind: Optional[Behind] = None
    traced: Optional[TracedSampler] = None
    loaded: Moment = field(default_factory=Moment)

    @property
    def samples(self) -> int:
        return self.resume.samples if self.resume else 0

    @property
    def shift(self) -> int:
        return self.resume.shift if self.resume else 0

    @property
    def chains(self) -> Optional[Dict[str, Any]]:
        """Which chains were recorded as wholes; None: it does not say."""
        found = self.state.get("chains")
        return dict(found) if found else None

    @property
    def draws(self) -> Optional[States]:
        """The generators of the next batch, where a state has them."""
        found = self.state.get("draws")
        return _states_from(found) if found else None


def read(state: Any, index_sampler: Any) -> Saved:
    """Understands a state; ValueError for what is none."""
    _check_keys(state)
    try:
        saved = _read(state)
        order = state["order"]
        if saved.finished and "draws" not in order:
            saved.behind = Behind(
                copies_from_json(order["parts"]),
                _draws_from(order),
                order["marks"],
            )
        else:
            saved.resume = _resume(saved, index_sampler)
    except _MALFORMED as error:
        raise ValueError(
            "not a state of feedline.torch.DataLoader: %s" % error
        ) from None
    return saved


# What the reading of a wrong value raises; not a number, not Base64 ...
_MALFORMED = (
    ValueError,
    TypeError,
    AttributeError,
    KeyError,
    OverflowError,
    zlib.error,
)


def _check_keys(state: Any) -> None:
    if not isinstance(state, dict):
        raise ValueError(
            "load_state_dict() takes a dict, but got %s" % type(state).__name__
        )
    missing = [
        key
        for key in ("_num_yielded", "_sampler_iter_yielded", "version", "order")
        if key not in state
    ]
    if missing:
        raise ValueError(
            "not a state of feedline.torch.DataLoader: %s missing"
            % ", ".join(missing)
        )
    if state["version"] != VERSION:
        raise ValueError(
            "the state has version %r, and this feedline reads version %d"
            % (state["version"], VERSION)
        )


def _read(state: Dict[str, Any]) -> Saved:
    coming = state.get("next")
    saved = Saved(
        state=state,
        finished=bool(state.get("_iterator_finished")),
        epoch=int(state.get("epoch") or 0),
        round=int(state.get("round") or 0),
        seed=state.get("seed"),
        yielded=int(state["_num_yielded"]),
        batches=int(state["_sampler_iter_yielded"]),
        next=None if coming is None else Next(**coming),
    )
    if min(saved.epoch, saved.round, saved.yielded, saved.batches) < 0:
        raise ValueError("a count is negative")
    return saved


def _resume(saved: Saved, index_sampler: Any) -> Resume:
    state = saved.state
    ranks_then = int(state.get("replicas") or 1)
    ranks_now = replicas(index_sampler)
    saved.batches = saved.batches * ranks_then // ranks_now
    part = stateful_part(index_sampler)
    own = state.get("_index_sampler_state") or {}
    samples = own.get("samples_yielded")
    whole = part is not None and part is index_sampler
    if whole or not isinstance(samples, int):
        delivered = int(state.get("samples_yielded_global") or 0)
    else:
        delivered = samples * ranks_then + int(state.get("shift") or 0)
    order = state["order"]
    return Resume(
        origin=Origin.from_dict(order),
        samples=delivered // ranks_now,
        batches=saved.batches,
        shift=places_behind(index_sampler, delivered),
        pulled=Taken(**order["pulled"]),
        shard=list(order["shard"]),
        draws_from=_draws_from(order),
        marks=order["marks"],
        sampler_state=_sampler_state(own, part, index_sampler),
        iterator_state=state.get("_sampler_iter_state"),
    )


def _draws_from(order: Dict[str, Any]) -> States:
    return _states_from(order["draws_from"])


def _states_from(saved: Mapping[str, Any]) -> States:
    return {name: state_from_json(name, one) for name, one in saved.items()}


def _sampler_state(
    own: Dict[str, Any], part: Any, index_sampler: Any
) -> Optional[Dict[str, Any]]:
    if part is not None and part is index_sampler:
        return own
    return own.get("sampler_state")


def apply_epoch(saved: Saved, index_sampler: Any) -> None:
    """Tells the samplers which epoch the state is of."""
    epoch = saved.state.get("sampler_epoch")
    if epoch is not None and epoch_of(index_sampler) is not None:
        set_epoch(index_sampler, int(epoch))


def begin_behind(saved: Saved, traced: TracedSampler) -> None:
    """The sampler as it was when the epoch had ended."""
    assert saved.behind is not None
    traced.parts.restore_anew(saved.behind.parts)
    index_sampler = traced.sampler
    part = stateful_part(index_sampler)
    own = saved.state.get("_index_sampler_state") or {}
    state = _sampler_state(own, part, index_sampler)
    if part is None or state is None or not is_stateful(part):
        return
    if has_more(traced, state, saved.behind.parts):
        load_state(part, state)


def has_more(
    traced: TracedSampler, state: Dict[str, Any], parts: Copies
) -> bool:
    """Whether a sampler that is given its own state gives samples. One that
    was at its end begins anew without it."""
    load_state(traced.stateful, state)
    with global_draws.restored():
        left = next(iter(traced.sampler), None)
    traced.parts.restore(parts)
    return left is not None


# ---- States of data sets ----------------------------------------------------
#
# A data set, or the iterator of a stream, may have state_dict and
# load_state_dict, as in torchdata: how far it has read, or its random numbers.
# Their states go into the loader's under torchdata's keys and are restored
# before the next batch:
#
#     dataset_state    of the data set; None where its iterator is the data set
#     fetcher_state    of the iterator of a stream
#
# Only objects of this process are asked, never the copies in torch's workers.

DATASET = "dataset_state"
FETCHER = "fetcher_state"
ITERATOR = "dataset_iter_state"
ENDED = "fetcher_ended"


def data_states(dataset: Any, fetcher: Any) -> Dict[str, Any]:
    """The states of a data set and its iterator, None where there is none.

    dataset: None where worker processes have it. fetcher: torch's, in which
    the iterator of a stream is; None where the samples are not loaded by torch
    in this process.
    """
    iterator = getattr(fetcher, "dataset_iter", None)
    found: Dict[str, Any] = {DATASET: None, FETCHER: None}
    if iterator is not dataset:
        found[DATASET] = state_of(dataset)
    if iterator is not None:
        found[FETCHER] = {
            ITERATOR: state_of(iterator),
            ENDED: bool(fetcher.ended),
        }
    return found


def load_dataset(dataset: Any, state: Mapping[str, Any]) -> None:
    """Before its iterator is made, and in no sandbox: the state may be that of
    a global generator."""
    own = state.get(DATASET)
    if own is not None and is_stateful(dataset):
        load_state(dataset, own)


def load_iterator(fetcher: Any, state: Mapping[str, Any]) -> bool:
    """Whether a stream goes on by a state of its own; if not, what was
    delivered has to be read past."""
    noted: Optional[Mapping[str, Any]] = state.get(FETCHER)
    iterator = getattr(fetcher, "dataset_iter", None)
    if noted is None or iterator is None:
        return False
    if noted.get(ITERATOR) is not None and is_stateful(iterator):
        load_state(iterator, noted[ITERATOR])
    elif state.get(DATASET) is None or not is_stateful(fetcher.dataset):
        return False
    fetcher.ended = bool(noted.get(ENDED))
    return True
