# SPDX-License-Identifier: Apache-2.0
"""Samplers and batch samplers of libraries, and some whose state is hard to
see: for each the arguments of a loader, from a data set.

Each is made anew by its function, as a program makes it that starts again.
"""

from __future__ import annotations

import random
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Optional

import numpy
import torch
from torch.utils.data import BatchSampler, DistributedSampler, RandomSampler
from torch.utils.data import Sampler, SubsetRandomSampler
from torch.utils.data import WeightedRandomSampler

from feedline.torch import BlockSampler

Arguments = Dict[str, Any]


def generator(seed: int = 8) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class Own(Sampler):  # type: ignore[type-arg]
    """Of so many samples."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count


# ---- What comes late, is replaced, or is shared -----------------------------


class MadeLate(Own):
    """Its generator comes into being with the first epoch."""

    generator: Any = None
    epoch = 0

    def __iter__(self) -> Iterator[int]:
        if self.generator is None:
            self.generator = generator(3)
        self.epoch += 1
        order = torch.randperm(self.count, generator=self.generator)
        yield from order.tolist()


class Replaced(Own):
    """Another generator in each epoch, seeded by the one before."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.drawn = numpy.random.default_rng(5)

    def __iter__(self) -> Iterator[int]:
        self.drawn = numpy.random.default_rng(self.drawn.integers(1 << 40))
        return iter(self.drawn.permutation(self.count).tolist())


class Spawned(Own):
    """A child of a seed sequence, which counts what it has spawned."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.seeds = numpy.random.SeedSequence(11)

    def __iter__(self) -> Iterator[int]:
        rng = numpy.random.Generator(
            numpy.random.Philox(self.seeds.spawn(1)[0])
        )
        yield from rng.permutation(self.count)


class InPlace(Own):
    """Shuffles the order of the epoch before."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.order = list(range(count))
        self.random = random.Random(4)

    def __iter__(self) -> Iterator[int]:
        self.random.shuffle(self.order)
        return iter(self.order)


class Weighted(Own):
    """Weights in arrays and tensors, which each epoch changes."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.weights = torch.ones(count)
        self.seen = numpy.zeros(count, "int32")
        self.state = numpy.random.RandomState(9)

    def __iter__(self) -> Iterator[int]:
        for _ in range(self.count):
            chance = self.weights.numpy() / float(self.weights.sum())
            index = int(self.state.choice(self.count, p=chance))
            self.weights[index] *= 0.5
            self.seen[index] += 1
            self.state.standard_normal()  # leaves one in store
            yield index


class Cursor(Own):
    """Goes through a longer list, and begins each epoch where it stopped."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.order: Any = None

    def __iter__(self) -> Iterator[int]:
        if self.order is None:
            long = list(range(self.count)) * 3
            random.Random(2).shuffle(long)
            self.order = iter(long)
        for _ in range(self.count):
            index = next(self.order, None)
            if index is None:
                self.order = iter(range(self.count))
                index = next(self.order)
            yield index


class Queue:
    """Something of the program's own inside a sampler."""

    __slots__ = ("waiting", "drawn", "served")

    def __init__(self, count: int) -> None:
        self.waiting = deque(range(count))
        self.drawn = {"steps": [random.Random(6), None]}
        self.served: Dict[int, int] = defaultdict(int)


class LateObject(Own):
    """All it knows is in an object that it makes when it is needed."""

    queue: Optional[Queue] = None

    def __iter__(self) -> Iterator[int]:
        self.queue = self.queue or Queue(self.count)
        queue = self.queue
        for _ in range(self.count):
            queue.waiting.rotate(queue.drawn["steps"][0].randrange(1, 7))
            index = queue.waiting[0]
            queue.served[index] += 1
            yield (index + queue.served[index]) % self.count


class Shared(Own):
    """Two samplers that draw from one generator, by turns."""

    def __init__(self, count: int, drawn: torch.Generator) -> None:
        super().__init__(count)
        self.both = [
            RandomSampler(range(count // 2), generator=drawn),
            {"far": RandomSampler(range(count - count // 2), generator=drawn)},
        ]

    def __iter__(self) -> Iterator[int]:
        near, far = self.both[0], self.both[1]["far"]  # type: ignore
        for index in near:
            yield index
        for index in far:
            yield self.count // 2 + index


def from_closure(count: int) -> Any:
    """A sampler whose numbers are variables of a function."""
    rng = numpy.random.default_rng(21)
    epoch = 0

    def order() -> List[int]:
        nonlocal epoch
        epoch += 1
        return [int(i) for i in (rng.permutation(count) + epoch) % count]

    class Called(Own):
        def __init__(self) -> None:
            super().__init__(count)
            self.order = order

        def __iter__(self) -> Iterator[int]:
            return iter(self.order())

    return Called()


def of_a_class(count: int) -> Any:
    """A sampler whose numbers are its class's."""

    class Common(Own):
        epoch = 0
        rng = random.Random(17)

        def __iter__(self) -> Iterator[int]:
            type(self).epoch += 1
            order = list(range(self.count))
            self.rng.shuffle(order)
            return iter(order[self.epoch :] + order[: self.epoch])

    return Common(count)


class Bound(Own):
    """Keeps a method of a generator, and not the generator."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.below = random.Random(31).randrange

    def __iter__(self) -> Iterator[int]:
        for _ in range(self.count):
            yield self.below(self.count)


@dataclass(frozen=True)
class Stage:
    number: int
    side: Side
    since: datetime


class Side(Enum):
    LEFT = 1
    RIGHT = 2


class NewObjects(Own):
    """Another object in each epoch, of values that are no numbers."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.stage = Stage(0, Side.LEFT, datetime(2000, 1, 1))
        self.seen: OrderedDict[int, complex] = OrderedDict(
            (i, 0j) for i in range(count)
        )
        self.draw = partial(numpy.random.default_rng(4).integers, 5)

    def __iter__(self) -> Iterator[int]:
        left = self.stage.side is Side.LEFT
        self.stage = Stage(
            self.stage.number + 1,
            Side.RIGHT if left else Side.LEFT,
            self.stage.since + timedelta(days=1),
        )
        order = sorted(self.seen, key=lambda i: (self.seen[i].imag, -i * left))
        for index in order:
            self.seen[index] += complex(1, int(self.draw()))
            self.seen.move_to_end(index, last=left)
            yield (index + self.stage.since.day) % self.count


of_the_module = random.Random(77)


class OfTheModule(Own):
    """Draws from a generator that is a variable of its module."""

    def __iter__(self) -> Iterator[int]:
        order = list(range(self.count))
        of_the_module.shuffle(order)
        return iter(order)


def of_the_module_anew(count: int) -> Any:
    of_the_module.seed(77)  # as in a new process
    return OfTheModule(count)


# ---- What set_epoch does ----------------------------------------------------


class Reseeded(Own):
    """Seeded anew by set_epoch, with the order made there."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.random = random.Random(0)
        self.order = list(range(count))
        self.told: List[int] = []

    def set_epoch(self, epoch: int) -> None:
        self.told.append(epoch)
        self.random.seed(epoch * 7)
        self.random.shuffle(self.order)

    def __iter__(self) -> Iterator[int]:
        for index in self.order:
            yield (index + self.random.randrange(3)) % self.count


class Stages(Own):
    """Counts its epochs itself, from what is left of the one before."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.stage = numpy.int64(0)
        self.hard = {0}

    def __iter__(self) -> Iterator[int]:
        order = sorted(self.hard) + list(range(self.count))
        for place in range(self.count):
            yield order[(place + int(self.stage)) % len(order)]
        self.stage += 1
        self.hard |= {int(self.stage) * 3 % self.count}


# ---- Global generators ------------------------------------------------------


class PerBatch(Own):
    """A batch sampler with a memory, which draws from numpy's each time."""

    def __init__(self, count: int, size: int) -> None:
        super().__init__(count)
        self.size = size
        self.used: Counter[int] = Counter()

    def __iter__(self) -> Iterator[List[int]]:
        for _ in range(len(self)):
            batch = numpy.random.choice(self.count, self.size, replace=False)
            self.used.update(batch.tolist())
            batch[0] = min(range(self.count), key=lambda i: (self.used[i], i))
            yield [int(i) for i in batch]

    def __len__(self) -> int:
        return self.count // self.size


class PerSample(Own):
    """Draws each sample from a global generator, also when it is asked for an
    iterator."""

    def __init__(self, count: int, draw: Callable[[int], int]) -> None:
        super().__init__(count)
        self.draw = draw

    def __iter__(self) -> Iterator[int]:
        return self.numbers(self.draw(self.count))

    def numbers(self, first: int) -> Iterator[int]:
        for _ in range(self.count):
            yield (first + self.draw(self.count)) % self.count


def from_torch(below: int) -> int:
    return int(torch.randint(below, ()))


class SavesItself(Own):
    """Says how far it is, and not what it draws from."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.drawn = generator(12)
        self.at = self.start = 0

    def __iter__(self) -> Iterator[int]:
        order = torch.randperm(self.count, generator=self.drawn).tolist()
        self.at, self.start = self.start, 0
        for index in order[self.at :]:
            self.at += 1
            yield index

    def state_dict(self) -> Dict[str, Any]:
        return {"at": self.at}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self.start = state["at"]


class Wraps(BatchSampler):
    """A batch sampler that is the iterator of another one."""

    def __init__(self, sampler: Any, size: int) -> None:
        super().__init__(sampler, size, False)
        self.given = 0

    def __iter__(self) -> Any:
        self.batches = super().__iter__()
        return self

    def __next__(self) -> List[int]:
        self.given += 1
        return sorted(next(self.batches))[:: 1 - 2 * (self.given % 2)]


# ---- By name ----------------------------------------------------------------


def batches(sampler: Any) -> Arguments:
    return {"batch_size": 1, "batch_sampler": sampler}


def distributed(dataset: Any, **more: Any) -> DistributedSampler[Any]:
    return DistributedSampler(dataset, 2, 1, seed=3, **more)


def with_the_loaders(dataset: Any) -> Arguments:
    drawn = generator()
    sampler = RandomSampler(dataset, generator=drawn)
    return {"sampler": sampler, "generator": drawn}


TORCH: Dict[str, Callable[[Any], Arguments]] = {
    "sequential": lambda d: {},
    "shuffle": lambda d: {"shuffle": True},
    "shuffle, generator": lambda d: {"shuffle": True, "generator": generator()},
    "random, shared generator": with_the_loaders,
    "random, own generator": lambda d: {
        "sampler": RandomSampler(d, generator=generator())
    },
    "random, replacement": lambda d: {
        "sampler": RandomSampler(d, replacement=True, num_samples=23)
    },
    "random, twice through": lambda d: {
        "sampler": RandomSampler(d, num_samples=31, generator=generator())
    },
    "subset": lambda d: {
        "sampler": SubsetRandomSampler(range(1, 16), generator())
    },
    "subset, global": lambda d: {"sampler": SubsetRandomSampler(range(1, 16))},
    "weighted": lambda d: {
        "sampler": WeightedRandomSampler([1.0, 2.0] * 9, 18)
    },
    "distributed": lambda d: {"sampler": distributed(d)},
    "batch sampler": lambda d: batches(
        BatchSampler(RandomSampler(d, generator=generator()), 3, True)
    ),
    "no batches": lambda d: {
        "batch_size": None,
        "sampler": RandomSampler(d, generator=generator()),
    },
    "block": lambda d: {"sampler": BlockSampler(d, block=3, lanes=2)},
}

OWN: Dict[str, Callable[[Any], Arguments]] = {
    "made late": lambda d: {"sampler": MadeLate(len(d))},
    "replaced": lambda d: {"sampler": Replaced(len(d))},
    "spawned": lambda d: {"sampler": Spawned(len(d))},
    "in place": lambda d: {"sampler": InPlace(len(d))},
    "changing weights": lambda d: {"sampler": Weighted(len(d))},
    "cursor": lambda d: {"sampler": Cursor(len(d))},
    "late object": lambda d: {"sampler": LateObject(len(d))},
    "shared by two": lambda d: {"sampler": Shared(len(d), generator())},
    "shared by three": lambda d: (
        lambda drawn: {"sampler": Shared(len(d), drawn), "generator": drawn}
    )(generator()),
    "closure": lambda d: {"sampler": from_closure(len(d))},
    "of a class": lambda d: {"sampler": of_a_class(len(d))},
    "bound": lambda d: {"sampler": Bound(len(d))},
    "new objects": lambda d: {"sampler": NewObjects(len(d))},
    "reseeded": lambda d: {"sampler": Reseeded(len(d))},
    "stages": lambda d: {"sampler": Stages(len(d))},
    "per batch": lambda d: batches(PerBatch(len(d), 4)),
    "per sample, torch": lambda d: {"sampler": PerSample(len(d), from_torch)},
    "per sample, random": lambda d: {
        "sampler": PerSample(len(d), random.randrange)
    },
    "saves itself": lambda d: {"sampler": SavesItself(len(d))},
    "of the module": lambda d: {"sampler": of_the_module_anew(len(d))},
    "wraps, late": lambda d: batches(Wraps(MadeLate(len(d)), 4)),
    "wraps, late object": lambda d: {
        "sampler": DistributedSampler(LateList(len(d)), 2, 0, shuffle=True)
    },
}


class LateList(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """The order of a sampler as a data set, as wrappers make one."""

    def __init__(self, count: int) -> None:
        self.sampler = MadeLate(count)
        self.order: List[int] = []

    def __len__(self) -> int:
        return len(self.sampler)

    def __getitem__(self, index: int) -> int:
        if not self.order:
            self.order = list(self.sampler)
        return self.order[index]


def _torchdata() -> Dict[str, Callable[[Any], Arguments]]:
    from torchdata.stateful_dataloader import sampler as theirs

    return {
        "torchdata's random": lambda d: {
            "sampler": theirs.RandomSampler(d, generator=generator())
        },
        "torchdata's batches": lambda d: batches(
            theirs.BatchSampler(
                theirs.RandomSampler(d, generator=generator()), 4, False
            )
        ),
        "torchdata's distributed": lambda d: {
            "sampler": theirs.StatefulDistributedSampler(d, 2, 1, seed=3)
        },
    }


def _accelerate() -> Dict[str, Callable[[Any], Arguments]]:
    from accelerate import data_loader as theirs

    def seedable(d: Any, **more: Any) -> Any:
        return theirs.SeedableRandomSampler(d, **more)

    def shard(sampler: Any, **more: Any) -> Any:
        inner = BatchSampler(sampler, 4, False)
        return theirs.BatchSamplerShard(inner, 2, 1, **more)

    return {
        "accelerate's seedable": lambda d: {
            "sampler": seedable(d, data_seed=4)
        },
        "accelerate's seedable, global seed": lambda d: {
            "sampler": seedable(d)
        },
        "accelerate's shard": lambda d: batches(shard(seedable(d))),
        "accelerate's shard, split": lambda d: batches(
            shard(RandomSampler(d, generator=generator()), split_batches=True)
        ),
        "accelerate's shard, late": lambda d: batches(shard(MadeLate(len(d)))),
        "accelerate's skipping": lambda d: batches(
            theirs.SkipBatchSampler(BatchSampler(seedable(d), 3, False), 2)
        ),
    }


def _lightning() -> Dict[str, Callable[[Any], Arguments]]:
    from lightning.fabric.utilities import distributed as fabric
    from lightning.pytorch.overrides import distributed as theirs

    return {
        "Lightning's wrapper": lambda d: {
            "sampler": fabric.DistributedSamplerWrapper(
                RandomSampler(d, generator=generator()), 2, 1
            )
        },
        "Lightning's wrapper, late": lambda d: {
            "sampler": fabric.DistributedSamplerWrapper(MadeLate(len(d)), 2, 0)
        },
        "Lightning's unrepeated": lambda d: {
            "sampler": theirs.UnrepeatedDistributedSamplerWrapper(
                InPlace(len(d)), 2, 0, shuffle=False
            )
        },
        "Lightning's batches": lambda d: batches(
            theirs._IndexBatchSamplerWrapper(
                BatchSampler(MadeLate(len(d)), 4, False)
            )
        ),
    }


def _timm() -> Dict[str, Callable[[Any], Arguments]]:
    from timm.data import distributed_sampler as theirs

    return {
        "timm's repeated": lambda d: {
            "sampler": theirs.RepeatAugSampler(d, 2, 1)
        },
        "timm's ordered": lambda d: {
            "sampler": theirs.OrderedDistributedSampler(d, 2, 1)
        },
    }


def _transformers() -> Dict[str, Callable[[Any], Arguments]]:
    from transformers import trainer_pt_utils as theirs

    lengths = [3, 7, 5, 1, 9, 4] * 3
    return {
        "transformers' lengths": lambda d: {
            "sampler": theirs.LengthGroupedSampler(2, lengths=lengths)
        },
        "transformers' lengths, generator": lambda d: {
            "sampler": theirs.LengthGroupedSampler(
                2, lengths=lengths, generator=generator()
            )
        },
        "transformers' lengths, ranks": lambda d: {
            "sampler": theirs.DistributedLengthGroupedSampler(
                2, lengths=lengths, num_replicas=2, rank=1
            )
        },
    }


def all_cases() -> Dict[str, Callable[[Any], Arguments]]:
    """Also those of the libraries that are installed."""
    found = {**TORCH, **OWN}
    for theirs in (_torchdata, _accelerate, _lightning, _timm, _transformers):
        try:
            found.update(theirs())
        except ImportError:
            pass
    return found
