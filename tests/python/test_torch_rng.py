# SPDX-License-Identifier: Apache-2.0
"""Random numbers: torch's generators are left where torch leaves them, and what
transforms draw follows from the seed alone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest

from replay import open_image, replay
from torch_cases import SAMPLERS, Ours, T, Theirs, assert_same, data, engine_of
from torch_cases import generator, torch, torchvision
from feedline.torch import plan


class DrawsAtOnce:
    """A batch sampler that draws when it is asked for an iterator, from the
    global generator: torch asks twice where there are workers."""

    def __init__(self, samples: int) -> None:
        self.samples = samples

    def __iter__(self) -> Iterator[List[int]]:
        order = torch.randperm(self.samples).tolist()
        return iter([order[i : i + 5] for i in range(0, len(order), 5)])

    def __len__(self) -> int:
        return -(-self.samples // 5)


class DrawsOnDemand(DrawsAtOnce):
    def __iter__(self) -> Iterator[List[int]]:
        for _ in range(len(self)):
            yield torch.randint(self.samples, (5,)).tolist()


ARGUMENTS = {
    **SAMPLERS,
    "two generators": lambda d: {
        "sampler": data.RandomSampler(d, generator=generator()),
        "generator": generator(),
    },
    "at once": lambda d: {"batch_sampler": DrawsAtOnce(len(d))},
    "on demand": lambda d: {"batch_sampler": DrawsOnDemand(len(d))},
}


def states(loader: Any) -> List[Any]:
    """All generators, now."""
    owners = [loader, loader.sampler]
    return [torch.get_rng_state()] + [
        owner.generator.get_state()
        for owner in owners
        if getattr(owner, "generator", None) is not None
    ]


def equal(a: List[Any], b: List[Any]) -> bool:
    return len(a) == len(b) and all(torch.equal(x, y) for x, y in zip(a, b))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_generators_move_as_torchs_do(
    dataset: Any, name: str, workers: int
) -> None:
    """Behind iter(), behind each batch, behind the epoch, and the next one."""
    seen = []
    for loader_type in (Theirs, Ours):
        torch.manual_seed(1)
        arguments: Dict[str, Any] = ARGUMENTS[name](dataset)
        if "batch_sampler" not in arguments:
            arguments["batch_size"] = 5
        loader = loader_type(dataset, num_workers=workers, **arguments)
        moments = []
        for _ in range(2):
            iterator = iter(loader)
            moments.append(states(loader))
            for _ in iterator:
                moments.append(states(loader))
            moments.append(states(loader))
        seen.append(moments)
    assert len(seen[0]) == len(seen[1])
    for moment, (theirs, ours) in enumerate(zip(*seen)):
        assert equal(theirs, ours), "moment %d" % moment


def test_persistent_workers_draw_no_seed_again(dataset: Any) -> None:
    seen = []
    for loader_type in (Theirs, Ours):
        torch.manual_seed(2)
        loader = loader_type(dataset, num_workers=1, persistent_workers=True)
        for _ in range(2):
            assert len(list(loader)) == 24
        seen.append(torch.get_rng_state())
    assert torch.equal(*seen)


def test_other_generators_are_left_alone(drawn: Any) -> None:
    numpy = pytest.importorskip("numpy")
    random.seed(1)
    numpy.random.seed(1)
    before = random.getstate(), numpy.random.get_state()[1].tolist()
    assert len(list(Ours(drawn, batch_size=5, num_workers=2))) == 5
    assert before == (random.getstate(), numpy.random.get_state()[1].tolist())


# ---- What transforms draw --------------------------------------------------


def epoch(dataset: Any, seed: int = 3, **arguments: Any) -> List[Any]:
    torch.manual_seed(seed)
    loader = Ours(dataset, **{"batch_size": 5, "num_workers": 2, **arguments})
    assert loader.native
    return list(loader)


def by_sample(batches: List[Any], order: List[int]) -> Dict[int, Any]:
    images = torch.cat([batch[0] for batch in batches])
    return dict(zip(order, images))


def test_the_same_seed_draws_the_same(drawn: Any) -> None:
    """Again, and for any number of workers, depth and batch size."""
    expected = epoch(drawn)
    assert_same(epoch(drawn), expected)
    assert_same(epoch(drawn, num_workers=1, prefetch_factor=1), expected)
    assert_same(epoch(drawn, num_workers="auto"), expected)
    assert_same(epoch(drawn, num_workers=0), expected)
    other_sizes = epoch(drawn, batch_size=7)
    assert torch.equal(
        torch.cat([b[0] for b in other_sizes]),
        torch.cat([b[0] for b in expected]),
    )


def test_each_epoch_draws_anew(drawn: Any) -> None:
    for persistent in (False, True):
        loader = Ours(
            drawn, batch_size=24, num_workers=1, persistent_workers=persistent
        )
        images = [batch[0] for _ in range(3) for batch in loader]
        assert not torch.equal(images[0], images[1])
        assert not torch.equal(images[1], images[2])
    other = epoch(drawn, seed=4, batch_size=24)[0][0]
    assert not torch.equal(epoch(drawn, batch_size=24)[0][0], other)


def test_draws_belong_to_the_sample(drawn: Any) -> None:
    """Not to its place, nor to the rank that has it."""
    plain = by_sample(epoch(drawn), list(range(24)))
    order = list(reversed(range(24)))
    turned = by_sample(epoch(drawn, sampler=order), order)
    for rank in (0, 1):
        torch.manual_seed(3)
        sampler = data.distributed.DistributedSampler(drawn, 2, rank)
        part = by_sample(epoch(drawn, sampler=sampler), list(sampler))
        assert all(torch.equal(image, plain[i]) for i, image in part.items())
    assert all(torch.equal(image, plain[i]) for i, image in turned.items())


def test_a_sample_that_comes_again_is_drawn_for_again(drawn: Any) -> None:
    images = epoch(drawn, sampler=[4, 4, 9, 4], batch_size=4)[0][0]
    assert not torch.equal(images[0], images[1])
    assert not torch.equal(images[1], images[3])
    assert torch.equal(images[0], epoch(drawn, sampler=[4])[0][0][0])


def test_a_seed_of_the_loaders_own(drawn: Any) -> None:
    """Draws follow from it and the epoch, whatever torch's generator is at;
    that one still moves as torch's does."""
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        loader = Ours(drawn, batch_size=24, num_workers=1, seed=77)
        found.append([batch[0] for _ in range(2) for batch in loader])
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])
    assert not torch.equal(found[0][0], found[0][1])


def test_draws_are_those_of_the_seed_for_workers(image_folder: Path) -> None:
    """The one that torch draws at iter(): what the engine says that it draws
    for it, done again by torchvision."""
    chain = T.Compose(
        [
            T.RandomResizedCrop(24),
            T.RandomHorizontalFlip(),
            T.ColorJitter(0.4, 0.4, 0.4, 0.1),
            T.ToTensor(),
            T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
            T.RandomErasing(0.5),
        ]
    )
    dataset = torchvision.datasets.ImageFolder(str(image_folder), chain)
    loader = Ours(dataset, batch_size=24, num_workers=2)
    engine = engine_of(plan(dataset))
    for _ in range(2):
        iterator = iter(loader)
        (images, _), *rest = iterator
        assert loader.native and not rest
        engine.begin(0, seed=iterator._base_seed)
        engine.end()
        for index, (path, _) in enumerate(dataset.samples):
            image = open_image(path)
            drawn = engine.draws(0, index, *image.size)["operations"]
            assert torch.equal(images[index], replay(chain, image, drawn))
    engine.close()
