# SPDX-License-Identifier: Apache-2.0
"""Streams of the program's own run unchanged: their Python here, their pixels
in the engine, and the batches are those of torch's only worker."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Dict, List

import pytest

import needs

needs.deferred_tensors()

import numpy as np  # noqa: E402
from programs.compared import difference
from recorded_sets import F, chain, images_in
from torch_cases import Ours, Theirs, data, torch

from PIL import Image

get_worker_info = data.get_worker_info


class Stream(data.IterableDataset):  # type: ignore[misc]
    """A generator over files, and a chain of torchvision's."""

    def __init__(self, root: Path) -> None:
        self.files = images_in(root)
        self.transform = chain()

    def sample(self, path: str) -> Any:
        image = Image.open(path).convert("RGB")
        return self.transform(image), path

    def __iter__(self) -> Any:
        for path in self.files:
            yield self.sample(path)


class Sharded(Stream):
    """Splits itself by worker."""

    def __iter__(self) -> Any:
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for path in self.files[first::step]:
            yield self.sample(path)


class Buffered(Stream):
    """Decodes in front of a shuffle buffer, which holds deferred images."""

    def __iter__(self) -> Any:
        held: List[Any] = []
        for number, path in enumerate(self.files):
            image = Image.open(path).convert("RGB").resize((30, 20))
            held.append((image, number))
            if len(held) > 7:
                yield self.out(held.pop(random.randrange(len(held))))
        random.shuffle(held)
        yield from map(self.out, held)

    def out(self, item: Any) -> Any:
        return self.transform(item[0]), {"number": item[1]}


class Twice(Stream):
    """Gives the same object more than once, in one batch and in the next."""

    def __iter__(self) -> Any:
        kept: Any = None
        for number, path in enumerate(self.files):
            image = F.to_tensor(Image.open(path).convert("RGB"))
            yield image
            if number % 3 == 0:
                yield image
            if kept is not None:
                yield kept.flip(-1)
            kept = image if number % 5 == 0 else kept


class Changed(Stream):
    """Changes what it has yielded: batches show it as it was when sent."""

    def __iter__(self) -> Any:
        sample: Dict[str, Any] = {}
        noted = np.zeros(3)
        for number, path in enumerate(self.files):
            sample["image"] = F.to_tensor(Image.open(path).convert("RGB"))
            noted[number % 3] = number
            sample["noted"] = noted
            yield dict(sample)
            if number % 4 == 1:
                sample["image"][:, :5] = 0


class Images(Stream):
    """Pillow's own images, without transforms."""

    def __iter__(self) -> Any:
        for path in self.files:
            image = Image.open(path).convert("RGB")
            if random.random() < 0.5:
                image = image.transpose(Image.FLIP_LEFT_RIGHT)
            yield image


class Iterator_(Stream):
    """No generator: a class with __next__."""

    def __iter__(self) -> Any:
        return _Walk(self)


class _Walk:
    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.at = -1

    def __next__(self) -> Any:
        self.at += 1
        if self.at == len(self.stream.files):
            raise StopIteration
        noise = float(np.random.rand()), torch.rand(2)
        return self.stream.sample(self.stream.files[self.at])[0], noise


class Views(Stream):
    def __iter__(self) -> Any:
        for path in self.files:
            image = Image.open(path).convert("RGB")
            yield [self.transform(image) for _ in range(3)]


def as_list(samples: List[Any]) -> List[Any]:
    return samples


STREAMS: Dict[str, Any] = {
    "stream": (Stream, {"batch_size": 5}),
    "dropped": (Stream, {"batch_size": 5, "drop_last": True}),
    "single": (Stream, {"batch_size": None}),
    "sharded": (Sharded, {"batch_size": 4}),
    "buffered": (Buffered, {"batch_size": 4}),
    "twice": (Twice, {"batch_size": 4}),
    "changed": (Changed, {"batch_size": 3}),
    "images": (Images, {"batch_size": 7, "collate_fn": as_list}),
    "iterator": (Iterator_, {"batch_size": 9}),
    "views": (Views, {"batch_size": 10}),
}


def arguments_of(name: str, root: Path, **more: Any) -> Dict[str, Any]:
    kind, arguments = STREAMS[name]
    return {"dataset": kind(root), **arguments, **more}


def seed() -> None:
    torch.manual_seed(7)
    random.seed(8)
    np.random.seed(9)


def epochs_of(kind: Any, arguments: Dict[str, Any], epochs: int = 3) -> Any:
    seed()
    loader = kind(**arguments)
    found = [list(loader) for _ in range(epochs)]
    if kind is Ours:
        assert loader.native and loader.recorded, loader.fallback_reason
    return found


def torchs(arguments: Dict[str, Any], epochs: int = 3) -> Any:
    return epochs_of(Theirs, {**arguments, "num_workers": 1}, epochs)


def assert_equal(ours: List[Any], theirs: List[Any]) -> None:
    assert [len(epoch) for epoch in ours] == [len(epoch) for epoch in theirs]
    for number, both in enumerate(zip(ours, theirs)):
        for place, (a, b) in enumerate(zip(*both)):
            where = "epoch %d, batch %d" % (number, place)
            assert difference(a, b, where) is None


# ---- Batches are torch's ---------------------------------------------------


@pytest.mark.parametrize("name", STREAMS)
def test_torchs_draws_give_torchs_batches(tmp_path: Path, name: str) -> None:
    root = tmp_path / "images"
    theirs = torchs(arguments_of(name, root))
    for workers in (1, 2, 7):
        arguments = arguments_of(name, root, num_workers=workers, draws="torch")
        assert_equal(epochs_of(Ours, arguments), theirs)


@pytest.mark.parametrize("name", STREAMS)
def test_own_draws_do_not_depend_on_workers(tmp_path: Path, name: str) -> None:
    root = tmp_path / "images"
    found = [
        epochs_of(Ours, arguments_of(name, root, num_workers=workers))
        for workers in (1, 7, 0)
    ]
    assert_equal(found[1], found[0])
    assert_equal(found[2], found[0])


@pytest.mark.parametrize("name", ["stream", "single", "iterator"])
def test_a_known_chain_is_recorded_as_a_whole(
    tmp_path: Path, name: str
) -> None:
    loader = Ours(**arguments_of(name, tmp_path / "images"), num_workers=2)
    assert len(list(loader)) > 1 and loader.recorded
    assert loader._feedline.decision.recorded.chains.count >= 24


@pytest.mark.parametrize("draws", ["engine", "torch"])
@pytest.mark.parametrize("name", STREAMS)
def test_resumed_in_the_middle(tmp_path: Path, name: str, draws: str) -> None:
    arguments = arguments_of(name, tmp_path / "images", draws=draws)
    seed()
    loader = Ours(**arguments, num_workers=2)
    list(loader)
    batches = iter(loader)
    first = [one for _, one in zip(range(2), batches)]
    saved = json.dumps(loader.state_dict())
    state = torch.get_rng_state()
    rest = list(batches), list(loader)
    for workers in (1, 7):
        resumed = Ours(**arguments, num_workers=workers)
        resumed.load_state_dict(json.loads(saved))
        torch.set_rng_state(state)
        assert_equal([list(resumed), list(resumed)], list(rest))
        assert resumed.recorded
    assert first
