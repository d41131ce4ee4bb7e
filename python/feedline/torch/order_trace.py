# SPDX-License-Identifier: Apache-2.0
"""The order of an epoch: pulled from torch's samplers, and found again later.

The order is whatever the sampler of the loader says, iterated by the same calls
in the same places as torch's own iterators do it, so it draws the same random
numbers. `TracedSampler` stands in front of it and notes two things: how the
order began, and how many samples each pulled batch has. From that an order can
be taken up again in the middle, in another process, without saving it:

    nothing is drawn    begin again and leave out what was delivered
    RandomSampler       its seed, which is read off the global generator before
                        the sampler draws it: one number
    a generator         its state before the order began
    the global one      the same, for samplers that draw from it themselves
    a sampler with a    its own state, as it was behind the last batch that was
    state_dict          delivered

A resumed epoch draws nothing from the global generator: what it needs was drawn
when it began. Only where that was still to come, because the state was taken
before the first pull, it draws as the first run did. A generator that was given
is, behind the first pull, where it was in the first run.
"""

from __future__ import annotations

import base64
import copy
import sys
import zlib
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional

import torch
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler
from torch.utils.data import SubsetRandomSampler, WeightedRandomSampler
from torch.utils.data.distributed import DistributedSampler

from ._compat import index_sampler_of
from .block_sampler import BlockSampler

# The global generator's state before the sampler was asked for an iterator, or
# before the first pull, where only that draws.
GLOBAL = "global"
GLOBAL_AT_PULL = "global_at_pull"


# ---- What a sampler is -----------------------------------------------------


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


def innermost_sampler(index_sampler: Any) -> Any:
    """The same, below a batch sampler that deals another one's batches, as
    accelerate's do."""
    below = getattr(index_sampler, "batch_sampler", None)
    return inner_sampler(index_sampler if below is None else below)


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
    """Whether torch's global generator is known to be left alone."""
    return type(_dealt(index_sampler)) is SequentialSampler


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


# ---- Generators ------------------------------------------------------------


def generators(loader: Any) -> Dict[str, torch.Generator]:
    """The generators that were given to the loader or its samplers, once."""
    index_sampler = index_sampler_of(loader)
    found: Dict[str, torch.Generator] = {}
    for name, owner in (
        ("loader", loader),
        ("sampler", innermost_sampler(index_sampler)),
        ("batch_sampler", index_sampler),
    ):
        generator = getattr(owner, "generator", None)
        if isinstance(generator, torch.Generator) and not any(
            generator is other for other in found.values()
        ):
            found[name] = generator
    return found


def packed(state: torch.Tensor) -> str:
    """A generator's state as text."""
    return base64.b64encode(zlib.compress(bytes(state.tolist()), 9)).decode()


def unpacked(text: str) -> torch.Tensor:
    return torch.tensor(
        list(zlib.decompress(base64.b64decode(text))), dtype=torch.uint8
    )


@contextmanager
def global_state(
    state: Optional[torch.Tensor], stays: bool = False
) -> Iterator[None]:
    """torch's global generator in another state for a while; None: as it is.

    stays: what is drawn inside stays drawn if it was in that state before.
    """
    if state is None:
        yield
        return
    former = torch.get_rng_state()
    torch.set_rng_state(state)
    try:
        yield
    finally:
        if not (stays and torch.equal(former, state)):
            torch.set_rng_state(former)


def draw_seed() -> int:
    """From the global generator, as torch's samplers and loaders do it."""
    return int(torch.empty((), dtype=torch.int64).random_().item())


def coming_seeds(count: int) -> List[int]:
    """The seeds that would be drawn next; draws nothing."""
    former = torch.get_rng_state()
    seeds = [draw_seed() for _ in range(count)]
    torch.set_rng_state(former)
    return seeds


# ---- How an order began ----------------------------------------------------


@dataclass
class Origin:
    """What makes an order come again.

    seed_follows: the loader's own seed was drawn after the sampler was asked
    for an iterator and before the first pull, as with num_workers=0. drawn:
    whether the first pull had been made; if not, its draw is still to come.
    """

    sampler_seed: Optional[int] = None
    generators: Dict[str, torch.Tensor] = field(default_factory=dict)
    seed_follows: bool = False
    drawn: bool = True

    def to_dict(self) -> Dict[str, Any]:
        """As JSON values."""
        return {
            "sampler_seed": self.sampler_seed,
            "generators": {k: packed(v) for k, v in self.generators.items()},
            "seed_follows": self.seed_follows,
            "drawn": self.drawn,
        }

    @staticmethod
    def from_dict(saved: Dict[str, Any]) -> "Origin":
        return Origin(
            saved.get("sampler_seed"),
            {k: unpacked(v) for k, v in saved.get("generators", {}).items()},
            bool(saved.get("seed_follows")),
            bool(saved.get("drawn", True)),
        )


@dataclass
class Resume:
    """Where an order is to be taken up: leave out so many samples, or, where a
    batch sampler of the user's makes the batches, so many batches; or let the
    sampler load its own state."""

    origin: Origin
    samples: int
    batches: int
    sampler_state: Optional[Dict[str, Any]] = None
    iterator_state: Optional[Dict[str, Any]] = None


# ---- The sampler in between ------------------------------------------------


@dataclass
class Pulled:
    """What is known of a batch of indices that was pulled."""

    samples: int
    sampler_state: Optional[Dict[str, Any]]
    iterator_state: Optional[Dict[str, Any]]


class TracedSampler:
    """An index sampler that notes how its order began, and may begin later.

    Every call of iter() begins the order (again), as torch's iterators do it
    once when they are made and once more when they have workers. `pulled` has
    what was pulled since then and was not taken out.
    """

    def __init__(
        self, sampler: Any, loader: Any, resume: Optional[Resume] = None
    ) -> None:
        self.sampler = sampler
        self.resume = resume
        # What a RandomSampler is to draw in this order; None: what it draws.
        self.sampler_seed: Optional[int] = None
        self.origin = Origin()
        self.pulled: Deque[Pulled] = deque()
        self.stateful = stateful_part(sampler)
        # Its state before anything was pulled.
        self.first_state: Optional[Dict[str, Any]] = None
        self.generators = generators(loader)
        # Told each index, or batch of them, that a resumed order leaves out.
        self.on_skip: Optional[Callable[[Any], None]] = None
        self.seed_generator: Optional[torch.Generator] = loader.generator
        self.seed_follows = int(loader.num_workers) == 0

    def __len__(self) -> int:
        return len(self.sampler)

    def __iter__(self) -> "TracedOrder":
        self.pulled.clear()
        if self.resume is not None:
            self.origin = self.resume.origin
            self.first_state = self.resume.sampler_state
            return ResumedOrder(self, self.resume)
        self.first_state = state_of(self.stateful)
        self.origin = Origin(
            generators={
                name: generator.get_state()
                for name, generator in self.generators.items()
            },
            seed_follows=self.seed_follows,
        )
        return TracedOrder(self)

    def forget(self) -> None:
        """The next order begins at its beginning."""
        self.resume = None
        self.sampler_seed = None

    def origin_now(self, started: bool) -> Origin:
        """The origin, also of an order that nothing was pulled from yet.

        Such a one will draw what the global generator gives next.
        """
        if started or self.resume is not None:
            return self.origin
        origin = copy.copy(self.origin)
        origin.drawn = False
        if draws_its_seed(self.sampler):
            origin.sampler_seed = self.sampler_seed
            if self.sampler_seed is None:
                origin.sampler_seed = coming_seeds(1)[0]
        elif not draws_nothing(self.sampler):
            origin.generators = dict(origin.generators)
            origin.generators.setdefault(GLOBAL_AT_PULL, torch.get_rng_state())
        return origin


class TracedOrder:
    """The iterator of a TracedSampler, from the beginning on."""

    def __init__(self, traced: TracedSampler) -> None:
        self.traced = traced
        self.started = False
        self.saves = False  # whether `indices` has a state of its own
        self.indices: Iterator[Any] = iter(())
        self.begin()

    def begin(self) -> None:
        with self.watched(GLOBAL):
            self.indices = iter(self.traced.sampler)

    @contextmanager
    def watched(self, name: str) -> Iterator[None]:
        """Notes the global generator's state if what is inside draws."""
        sampler = self.traced.sampler
        noted = self.traced.origin.generators
        if draws_nothing(sampler) or draws_its_seed(sampler) or GLOBAL in noted:
            yield
            return
        before = torch.get_rng_state()
        try:
            yield
        finally:
            if not torch.equal(before, torch.get_rng_state()):
                noted[name] = before

    def __iter__(self) -> "TracedOrder":
        return self

    def __next__(self) -> Any:
        if self.started:
            index = next(self.indices)
        else:
            index = self.first()
            self.saves = is_stateful(self.indices)
        traced = self.traced
        traced.pulled.append(
            Pulled(
                batch_samples(index),
                None if traced.stateful is None else state_of(traced.stateful),
                state_of(self.indices) if self.saves else None,
            )
        )
        return index

    def first(self) -> Any:
        """The first pull, which is where most samplers draw."""
        self.started = True
        traced = self.traced
        if draws_its_seed(traced.sampler):
            seed = coming_seeds(1)[0]
            if traced.sampler_seed is not None:
                draw_seed()  # as the sampler would
                seed = traced.sampler_seed
            traced.origin.sampler_seed = seed
            with seeded_sampler(traced.sampler, traced.sampler_seed):
                return next(self.indices)
        with self.watched(GLOBAL_AT_PULL):
            return next(self.indices)


class ResumedOrder(TracedOrder):
    """A traced order without what was delivered in an earlier run."""

    def __init__(self, traced: TracedSampler, resume: Resume) -> None:
        self.resume = resume
        self.behind: Dict[str, torch.Tensor] = {}
        ours = {*traced.generators, GLOBAL, GLOBAL_AT_PULL}
        missing = sorted(set(resume.origin.generators) - ours)
        if missing:
            raise ValueError(
                "the state is that of a loader with a generator (%s), and this "
                "one has none there" % ", ".join(missing)
            )
        super().__init__(traced)

    def begin(self) -> None:
        """Asks for the iterator with all generators as they were then."""
        noted = self.resume.origin.generators
        for name, generator in self.traced.generators.items():
            if name in noted:
                generator.set_state(noted[name])
        with global_state(noted.get(GLOBAL)):
            self.indices = iter(self.remaining())
            if GLOBAL in noted:
                self.behind[GLOBAL] = torch.get_rng_state()
        for name, generator in self.traced.generators.items():
            if name in noted:
                self.behind[name] = generator.get_state()
        if self.resume.iterator_state is not None:
            load_state(self.indices, self.resume.iterator_state)

    def remaining(self) -> Any:
        """What is to be iterated instead of the sampler."""
        sampler, resume = self.traced.sampler, self.resume
        if resume.sampler_state is not None:
            load_state(self.traced.stateful, resume.sampler_state)
            return sampler
        if type(sampler) is BatchSampler:
            # Batches of this loader's size, from the same sample on.
            rest: Any = skipping(sampler.sampler, resume.samples, self.skip)
            return BatchSampler(rest, sampler.batch_size, sampler.drop_last)
        return sampler

    def to_skip(self) -> int:
        """Indices that were delivered and still come out of `indices`."""
        resume, sampler = self.resume, self.traced.sampler
        if (
            resume.sampler_state is not None
            or resume.iterator_state is not None
            or type(sampler) is BatchSampler
        ):
            return 0
        return resume.batches

    def first(self) -> Any:
        """Pulls and leaves out, with all generators as they were then."""
        self.started = True
        origin = self.resume.origin
        for name, generator in self.traced.generators.items():
            if name in self.behind:
                generator.set_state(self.behind[name])
        state = origin.generators.get(GLOBAL_AT_PULL, self.behind.get(GLOBAL))
        if not origin.drawn and draws_its_seed(self.traced.sampler):
            draw_seed()  # which is known, and moves the generator on
        with global_state(state, not origin.drawn):
            self.draw_the_loaders_seed()
            with seeded_sampler(self.traced.sampler, origin.sampler_seed):
                for index in islice(self.indices, self.to_skip()):
                    self.skip(index)
                return next(self.indices)

    def skip(self, index: Any) -> None:
        if self.traced.on_skip is not None:
            self.traced.on_skip(index)

    def draw_the_loaders_seed(self) -> None:
        """As it was drawn between iter() and the first pull."""
        if not self.resume.origin.seed_follows:
            return
        generator = self.traced.seed_generator
        if generator is not None:
            torch.empty((), dtype=torch.int64).random_(generator=generator)
        elif GLOBAL in self.behind:
            torch.empty((), dtype=torch.int64).random_()


def skipping(
    sampler: Any, n: int, skip: Callable[[Any], None]
) -> Iterator[Any]:
    """The sampler's indices from number n on; `skip` is told the others."""
    indices = iter(sampler)
    for index in islice(indices, n):
        skip(index)
    yield from indices


@contextmanager
def seeded_sampler(index_sampler: Any, seed: Optional[int]) -> Iterator[None]:
    """A RandomSampler as if it had drawn this seed, for its first pull."""
    if seed is None or not draws_its_seed(index_sampler):
        yield
        return
    sampler = inner_sampler(index_sampler)
    sampler.generator = torch.Generator()
    sampler.generator.manual_seed(seed)
    try:
        yield
    finally:
        sampler.generator = None
