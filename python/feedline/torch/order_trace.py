# SPDX-License-Identifier: Apache-2.0
"""The order of an epoch: pulled from torch's samplers, and found again later.

The order is whatever the sampler of the loader says, iterated by the same calls
in the same places as torch's own iterators do it, so it draws the same random
numbers. `TracedSampler` stands in front of it and notes two things: how the
order began, and how many samples each pulled batch has. From that an order can
be taken up again in the middle, in another process, without saving it:

    RandomSampler       its seed, which is read off the global generator before
                        the sampler draws it: one number
    its parts           what changes inside the sampler, as it was before the
                        order began (sampler_parts.py)
    global generators   their states before a sampler draws from one of them
                        (global_draws.py)
    a sampler with a    its own state, as it was behind the last batch that was
    state_dict          delivered

With these the order begins again, and what had been pulled from it is pulled
again when the state is loaded. Its checksum has to be the one that was saved:
an order that does not come again is refused then, and not trained with.

A resumed epoch draws nothing from the global generators: what was drawn is
known. What is still to come it draws from them if the program has put them
where they were when the state was saved; else from states of its own, which go
on where the order was.
"""

from __future__ import annotations

import zlib
from array import array
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional
from typing import Sequence, TypeVar

import torch
from torch.utils.data import BatchSampler

from . import global_draws
from .global_draws import States, state_from_json, state_to_json
from .part_codecs import copy_from_json, copy_to_json
from .sampler_kinds import batch_samples, draws_its_seed, draws_nothing
from .sampler_kinds import epoch_of, inner_sampler, is_stateful, load_state
from .sampler_kinds import moved_on, shard_of, state_of, stateful_part
from .sampler_parts import Copies, Parts

T = TypeVar("T")

# States of global generators that are noted in one epoch. Each of them has
# some thousand bytes, and a program that draws between a sampler's draws would
# make one necessary for every batch.
DRAWS_MAX = 4
# When the iterator was asked for, before any sample.
AT_ITER = -1


# ---- torch's global generator ----------------------------------------------


@contextmanager
def global_state(state: Optional[torch.Tensor]) -> Iterator[None]:
    """torch's global generator in another state for a while."""
    with global_draws.restored([global_draws.TORCH]):
        if state is not None:
            torch.set_rng_state(state)
        yield


def draw_seed() -> int:
    """From the global generator, as torch's samplers and loaders do it."""
    return int(torch.empty((), dtype=torch.int64).random_().item())


def coming_seeds(count: int) -> List[int]:
    """The seeds that would be drawn next; draws nothing."""
    with global_state(None):
        return [draw_seed() for _ in range(count)]


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


# ---- How an order began ----------------------------------------------------


@dataclass
class Draw:
    """A global generator before the sampler drew from it. at: samples that
    had been pulled, or AT_ITER."""

    at: int
    name: str
    state: Any

    def to_json(self) -> List[Any]:
        return [self.at, self.name, state_to_json(self.state)]


@dataclass
class Taken:
    """How much was pulled from an order, and a checksum of it."""

    batches: int = 0
    samples: int = 0
    checksum: int = 0

    def add(self, index: Any) -> None:
        self.batches += 1
        self.samples += batch_samples(index)
        self.checksum = checksum(index, self.checksum)


def checksum(index: Any, before: int) -> int:
    """That of a sample, or of each one in a batch."""
    index = index.tolist() if hasattr(index, "tolist") else index
    several = isinstance(index, (list, tuple))
    samples = index if several else (index,)
    try:
        return zlib.crc32(array("q", samples).tobytes(), before)
    except (TypeError, OverflowError):
        pass
    for one in samples:
        before = zlib.crc32(repr(one).encode(), before)
    return before


@dataclass
class Origin:
    """What makes an order come again.

    parts: those of the sampler before it was asked for an iterator. at_pull:
    those that somebody changed between that and the first pull. last: where
    the sampler has left the global generators that it drew from. epoch: what
    set_epoch had told when it was pulled from.
    """

    sampler_seed: Optional[int] = None
    parts: Copies = field(default_factory=dict)
    at_pull: Copies = field(default_factory=dict)
    draws: List[Draw] = field(default_factory=list)
    last: States = field(default_factory=dict)
    epoch: Optional[int] = None
    known: Dict[str, Any] = field(default_factory=dict)  # as JSON already

    def note(self, at: int, before: States, after: States) -> None:
        """What the sampler drew, where it is not what it had left."""
        for name in global_draws.drawn(before, after):
            left = self.last.get(name)
            if left is None or not global_draws.same(left, before[name]):
                if len(self.draws) < DRAWS_MAX:
                    self.draws.append(Draw(at, name, before[name]))
            self.last[name] = after[name]

    def to_dict(self) -> Dict[str, Any]:
        """As JSON values. What does not change any more is made once."""
        known = self.known
        for name, copies in (("parts", self.parts), ("at_pull", self.at_pull)):
            if name not in known or copies is not known[name][0]:
                known[name] = copies, copies_to_json(copies)
        made = known.setdefault("draws", [])
        made += [draw.to_json() for draw in self.draws[len(made) :]]
        return {
            "sampler_seed": self.sampler_seed,
            "parts": known["parts"][1],
            "at_pull": known["at_pull"][1],
            "draws": list(made),
        }

    @staticmethod
    def from_dict(saved: Dict[str, Any]) -> "Origin":
        return Origin(
            saved.get("sampler_seed"),
            copies_from_json(saved["parts"]),
            copies_from_json(saved["at_pull"]),
            [
                Draw(int(at), name, state_from_json(name, state))
                for at, name, state in saved["draws"]
            ],
        )


def copies_to_json(copies: Copies) -> Dict[str, Any]:
    return {path: copy_to_json(copy) for path, copy in copies.items()}


def copies_from_json(saved: Dict[str, Any]) -> Copies:
    return {path: copy_from_json(value) for path, value in saved.items()}


@dataclass
class Resume:
    """Where an order is to be taken up: leave out so many samples, or, where a
    batch sampler of the user's makes the batches, so many batches; or let the
    sampler load its own state.

    shift: places that the order is moved on, where other ranks had begun it.
    pulled: at least so much of it, which were pulled when it was saved. shard:
    that had pulled them. draws_from: states of the global generators for what
    is still to be drawn; marks: of the global ones, when it was saved.
    """

    origin: Origin
    samples: int
    batches: int
    shift: int
    pulled: Taken
    shard: List[Any]
    draws_from: States
    marks: Dict[str, int]
    sampler_state: Optional[Dict[str, Any]] = None
    iterator_state: Optional[Dict[str, Any]] = None

    @property
    def saves_itself(self) -> bool:
        return not (self.sampler_state is None and self.iterator_state is None)


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
        # Whether it is asked for nothing before the first batch is.
        self.waits = False
        # States that it draws from instead of the global generators'.
        self.draws_from: States = {}
        # Such states in a state of the loader, and marks of the global ones.
        self.noted: States = {}
        self.marks: Dict[str, int] = {}
        self.origin = Origin()
        self.pulled: Deque[Pulled] = deque()
        self.taken = Taken()
        self.stateful = stateful_part(sampler)
        # Its state before anything was pulled.
        self.first_state: Optional[Dict[str, Any]] = None
        self.parts = parts_of(sampler, loader)
        self.behind: Copies = {}  # as they were when the iterator was made
        # Told each index, or batch of them, that a resumed order leaves out.
        self.on_skip: Optional[Callable[[Any], None]] = None
        self.resumed: Optional[ResumedOrder] = None
        self.left: Optional[Copies] = None  # the parts behind that

    def __len__(self) -> int:
        return len(self.sampler)

    def __iter__(self) -> "TracedOrder":
        if self.resume is not None:
            return self.begin_again(self.resume)
        self.pulled.clear()
        self.taken = Taken()
        self.first_state = state_of(self.stateful)
        return TracedOrder(self)

    def begin_again(self, resume: Resume) -> "ResumedOrder":
        """The order as far as it was pulled when it was saved."""
        if self.resumed is None:
            self.origin = resume.origin
            self.first_state = resume.sampler_state
            self.resumed = ResumedOrder(self, resume)
            self.left = self.parts.copies()
        return self.resumed

    def is_untouched(self, sampler: Any) -> bool:
        """Whether that is this sampler, as it was left when its order began
        again, or an order that has not."""
        if sampler is not self.sampler:
            return False
        return self.left is None or self.parts.copies() == self.left

    @contextmanager
    def own_draws(self) -> Iterator[None]:
        """What is drawn inside is drawn from states that were saved; but from
        the global generators where the program has put those there, too."""
        if self.noted:
            now = global_draws.marks()
            self.draws_from = {
                name: state
                for name, state in self.noted.items()
                if now.get(name) != self.marks.get(name)
            }
            self.noted = {}
        own, self.draws_from = self.draws_from, {}
        if not own:
            yield
            return
        with global_draws.restored(own):
            global_draws.set_states(own)
            try:
                yield
            finally:
                now = global_draws.states()
                self.draws_from = {name: now[name] for name in own}

    def forget(self) -> None:
        """The next order begins at its beginning."""
        self.resume = self.resumed = None
        self.sampler_seed = None
        self.waits = False
        self.draws_from = {}
        self.noted = {}

    def changed_since(self) -> Copies:
        """Parts that somebody changed since the iterator was made."""
        changed = self.parts.copies_unlike(self.behind)
        return {**self.origin.at_pull, **changed}

    def origin_now(self) -> Origin:
        """That of an order that nothing was pulled from yet: a seed that is
        still to be drawn is the one that comes next."""
        if self.waits:
            origin = Origin(parts=self.parts.copies())
        else:
            origin = replace(
                self.origin, at_pull=self.changed_since(), known={}
            )
        if draws_its_seed(self.sampler):
            origin.sampler_seed = self.sampler_seed
            if self.sampler_seed is None:
                origin.sampler_seed = coming_seeds(1)[0]
        return origin

    def coming_draws(self) -> States:
        """States that it draws from next: of those generators that it is known
        to draw from, or may, if it was not pulled from yet."""
        now = {**global_draws.states(), **self.draws_from, **self.noted}
        if self.taken.batches:
            return {name: now[name] for name in self.origin.last}
        return {} if is_quiet(self.sampler) else now


def parts_of(sampler: Any, loader: Any) -> Parts:
    roots = {"generator": loader.generator, "sampler": sampler}

    def trial() -> None:
        with global_draws.restored():
            next(iter(sampler), None)

    return Parts(roots, [loader.dataset], trial)


def is_quiet(sampler: Any) -> bool:
    """Whether all is known that it draws from global generators."""
    return draws_nothing(sampler) or draws_its_seed(sampler)


class TracedOrder:
    """The iterator of a TracedSampler, from the beginning on."""

    def __init__(self, traced: TracedSampler) -> None:
        self.traced = traced
        self.quiet = is_quiet(traced.sampler)
        self.begun = self.started = False
        self.saves = False  # whether `indices` has a state of its own
        self.indices: Iterator[Any] = iter(())
        if not traced.waits:
            self.begin()

    def begin(self) -> None:
        traced = self.traced
        traced.origin = Origin(parts=traced.parts.copies())
        self.begun = True
        self.indices = self.step(lambda: iter(traced.sampler), AT_ITER)
        traced.behind = traced.parts.copies()

    def __iter__(self) -> "TracedOrder":
        return self

    def __next__(self) -> Any:
        traced = self.traced
        if not self.started:
            index = self.first()
            self.saves = is_stateful(self.indices)
        elif self.quiet:
            index = next(self.indices)
        else:
            index = self.step(self.indices.__next__, traced.taken.samples)
        self.count(index)
        traced.pulled.append(
            Pulled(
                batch_samples(index),
                None if traced.stateful is None else state_of(traced.stateful),
                state_of(self.indices) if self.saves else None,
            )
        )
        return index

    def count(self, index: Any) -> None:
        self.traced.taken.add(index)

    def first(self) -> Any:
        """The first pull, which is where most samplers draw."""
        traced = self.traced
        traced.waits = False
        if not self.begun:
            self.begin()
        self.started = True
        origin = traced.origin
        origin.at_pull = traced.changed_since()
        # Before that iter() found it as it left it, and has not looked at it.
        origin.parts = {
            path: copy
            for path, copy in origin.parts.items()
            if path not in origin.at_pull or traced.behind.get(path) != copy
        }
        origin.epoch = epoch_of(traced.sampler)
        pull = partial(next, self.indices)
        if not draws_its_seed(traced.sampler):
            return self.step(pull, 0)
        seed = coming_seeds(1)[0]
        if traced.sampler_seed is not None:
            draw_seed()  # as the sampler would
            seed = traced.sampler_seed
        origin.sampler_seed = seed
        with seeded_sampler(traced.sampler, traced.sampler_seed):
            return pull()

    def step(self, do: Callable[[], T], at: int) -> T:
        """Asks the sampler for something, and notes what it draws."""
        if self.quiet:
            return do()
        with self.traced.own_draws():
            before = global_draws.states()
            try:
                return do()
            finally:
                after = global_draws.states()
                self.traced.origin.note(at, before, after)


# ---- An order taken up again -----------------------------------------------


class ResumedOrder(TracedOrder):
    """A traced order without what was delivered in an earlier run.

    What had been pulled is pulled once more when it begins: what was delivered
    is left out, `ahead` samples of the rest come again.
    """

    def __init__(self, traced: TracedSampler, resume: Resume) -> None:
        self.resume = resume
        self.due = list(resume.origin.draws)
        self.skipped: Sequence[Any] = ()
        self.ahead = 0
        super().__init__(traced)

    def begin(self) -> None:
        resume, traced = self.resume, self.traced
        traced.taken = Taken()
        self.begun = True
        if resume.saves_itself:
            self.begin_by_own_state()
            return
        with global_draws.restored():
            self.pull_again()
            left = global_draws.states()
        origin = traced.origin
        origin.epoch = epoch_of(traced.sampler)
        noted = {draw.name for draw in origin.draws}
        origin.last = {name: left[name] for name in noted if name in left}
        traced.noted = {**origin.last, **resume.draws_from}
        traced.marks = resume.marks
        traced.sampler_seed = origin.sampler_seed

    def begin_by_own_state(self) -> None:
        resume, traced = self.resume, self.traced
        if resume.sampler_state is not None:
            load_state(traced.stateful, resume.sampler_state)
        self.indices = iter(traced.sampler)
        if resume.iterator_state is not None:
            load_state(self.indices, resume.iterator_state)
        traced.behind = traced.parts.copies()

    def pull_again(self) -> None:
        """Of torch's own batches the samples, for this loader's batches may
        be of another size."""
        traced, resume = self.traced, self.resume
        sampler = traced.sampler
        self.draw(AT_ITER)
        self.indices = iter(sampler)
        traced.parts.put(resume.origin.at_pull)
        traced.behind = traced.parts.copies()
        if not self.goes_on:
            return
        with seeded_sampler(sampler, resume.origin.sampler_seed):
            if type(sampler) is not BatchSampler:
                rest = self.without_head(self.indices, resume.batches)
                self.indices = rest
                return
            self.draw(0)
            indices = iter(sampler.sampler)
            if resume.shift > 0:
                indices = moved_on(sampler.sampler, resume.shift)
            rest = self.without_head(indices, resume.samples)
        size, drop = sampler.batch_size, sampler.drop_last
        self.indices = iter(BatchSampler(rest, size, drop))

    @property
    def goes_on(self) -> bool:
        """Whether the order had been pulled from."""
        return self.resume.batches > 0 or self.resume.pulled.batches > 0

    def without_head(self, indices: Iterator[Any], count: int) -> Iterator[Any]:
        """What comes behind `count` of them, all that had been pulled being
        pulled."""
        pulled, taken = self.resume.pulled, self.traced.taken
        head: List[Any] = []
        try:
            while len(head) < count or taken.samples < pulled.samples:
                self.draw(taken.samples)
                head.append(next(indices))
                taken.samples += batch_samples(head[-1])
        except StopIteration:
            pass
        for index in head:
            taken.checksum = checksum(index, taken.checksum)
        taken.batches = pulled.batches
        self.check()
        self.skipped = head[:count]
        self.ahead = taken.samples - sum(map(batch_samples, self.skipped))
        # Without another iter(), with which some samplers begin anew.
        return chain(head[count:], iter(indices.__next__, object()))

    def check(self) -> None:
        """ValueError if it is not the order that was saved."""
        resume, taken = self.resume, self.traced.taken
        if resume.shard != shard_of(self.traced.sampler):
            return  # other samples of the same order
        if taken != resume.pulled:
            raise ValueError(
                "the order cannot be found again: the sampler gives other "
                "samples than those that were delivered when the state was "
                "saved. Either it was made with other arguments or a seed of "
                "its own, or it draws from what a state does not have, as a "
                "global generator that the program draws from, too; give it "
                "a generator of its own, or state_dict and load_state_dict"
            )

    def draw(self, at: int) -> None:
        """Puts global generators where they were before this pull."""
        while self.due and self.due[0].at <= at:
            draw = self.due.pop(0)
            global_draws.set_states({draw.name: draw.state})

    def first(self) -> Any:
        if self.resume.saves_itself or not self.begun or not self.goes_on:
            return super().first()
        self.started = True
        for index in self.skipped:
            if self.traced.on_skip is not None:
                self.traced.on_skip(index)
        self.skipped = ()
        return self.step(self.indices.__next__, self.traced.taken.samples)

    def count(self, index: Any) -> None:
        """What was pulled again is counted."""
        samples = batch_samples(index)
        if self.ahead == 0:
            self.traced.taken.add(index)
        elif self.ahead < samples:
            self.traced.taken.add(index[self.ahead :])
        self.ahead = max(0, self.ahead - samples)
