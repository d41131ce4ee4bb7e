# SPDX-License-Identifier: Apache-2.0
"""Samples that fail while they are recorded or made, and batches whose draws
are known late: errors, substitutes and what follows are torch's."""

from __future__ import annotations

import functools
import random
from pathlib import Path
from typing import Any, Dict, List

import pytest

import recorded_sets as sets
from recorded_sets import Files, equal
from torch_cases import Ours, Theirs, data, events, torch

from PIL import Image

BAD = 7


def damage(dataset: Files, how: str) -> None:
    path = Path(dataset.files[BAD])
    if how == "cut":
        path.write_bytes(path.read_bytes()[:-200])
    elif how == "text":
        path.write_bytes(b"no image" * 99)
    elif how == "missing":
        path.unlink()
    else:
        path.unlink()
        path.mkdir()


class Substituting(Files):
    """Another sample for one that cannot be opened, drawn at random."""

    def __getitem__(self, index: int) -> Any:
        try:
            image = Image.open(self.files[index]).convert("RGB")
        except Exception:
            return self[random.randrange(8, 24)]
        return self.transform(image), index


class Raising(Files):
    error: BaseException = KeyError("key")

    def __getitem__(self, index: int) -> Any:
        image = self.transform(Image.open(self.files[index]))
        if index == BAD:
            raise self.error
        return image, index


class Nones(Files):
    def __getitem__(self, index: int) -> Any:
        return None if index == BAD else super().__getitem__(index)


def without_nones(samples: List[Any]) -> Any:
    return data.default_collate([one for one in samples if one is not None])


def run(kind: Any, arguments: Dict[str, Any], seed: int = 6) -> List[Any]:
    torch.manual_seed(seed)
    loader = kind(**arguments)
    found = events(loader, 2)
    if kind is Ours:
        assert loader.recorded, loader.fallback_reason
    return found


def assert_alike(ours: List[Any], theirs: List[Any]) -> None:
    """Exceptions by their type: the text of one that came out of a process has
    that process's traceback in it."""
    assert len(ours) == len(theirs)
    for number, (a, b) in enumerate(zip(ours, theirs)):
        if isinstance(b, Exception):
            assert isinstance(a, type(b)), (number, a, b)
        else:
            assert equal(a, b), "batch %d" % number


@pytest.mark.parametrize("how", ["cut", "text", "missing", "folder"])
@pytest.mark.parametrize("kind", [Files, sets.Opened, Substituting])
def test_files_that_cannot_be_used(tmp_path: Path, kind: Any, how: str) -> None:
    """The error in place of its batch, or the substitute; and the draws of all
    that follows are those that torch's worker goes on with."""
    dataset = kind(tmp_path / "images")
    damage(dataset, how)
    arguments = {"dataset": dataset, "batch_size": 5, "shuffle": True}
    theirs = run(Theirs, {**arguments, "num_workers": 1})
    failed = [x for x in theirs if isinstance(x, Exception)]
    assert len(failed) == (0 if kind is Substituting else 2)
    for workers in (0, 1, 3):
        more = {"num_workers": workers, "draws": "torch"}
        assert_alike(run(Ours, {**arguments, **more}), theirs)


@pytest.mark.parametrize(
    "error",
    [KeyError("key"), OSError(5, "Input/output error"), MemoryError()],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("draws", ["torch", "engine"])
def test_exceptions_of_the_data_set(
    tmp_path: Path, error: Exception, draws: str
) -> None:
    dataset = Raising(tmp_path / "images")
    dataset.error = error
    loader = Ours(dataset, 6, num_workers=2, draws=draws)
    for _ in range(2):
        found = events(loader)
        kinds = [isinstance(one, Exception) for one in found]
        assert kinds == [False, True, False, False]
        assert type(found[1]) is type(error)
        assert found[1].args == error.args


def test_own_draws_of_the_others_stay(tmp_path: Path) -> None:
    """A sample that fails changes nothing for those that do not."""
    dataset = Files(tmp_path / "images")
    whole = run(Ours, {"dataset": dataset, "batch_size": 5, "num_workers": 2})
    damage(dataset, "cut")
    found = run(Ours, {"dataset": dataset, "batch_size": 5, "num_workers": 3})
    assert isinstance(found[1], OSError)
    whole[1] = found[1]
    whole[6] = found[6]
    assert isinstance(found[6], OSError)
    assert_alike(found, whole)


@pytest.mark.parametrize("how", ["cut", "missing"])
def test_skip_and_zero(tmp_path: Path, how: str) -> None:
    dataset = Files(tmp_path / "images")
    whole = run(Ours, {"dataset": dataset, "batch_size": 24})
    damage(dataset, how)
    found = {}
    for on_error in ("skip", "zero"):
        arguments = {"dataset": dataset, "batch_size": 24, "num_workers": 2}
        found[on_error], _ = run(Ours, {**arguments, "on_error": on_error})
        good = [n for n in range(24) if n != BAD]
        images = found[on_error][0]
        assert torch.equal(images[good], whole[0][0][good])
    images, labels = found["skip"]
    assert any(torch.equal(images[BAD], images[n]) for n in good)
    assert not found["zero"][0][BAD].any()


def test_samples_that_are_none(tmp_path: Path) -> None:
    dataset = Nones(tmp_path / "images")
    arguments = {"dataset": dataset, "batch_size": 5}
    for more in ({}, {"collate_fn": without_nones}):
        theirs = run(Theirs, {**arguments, **more, "num_workers": 1})
        ours = {**arguments, **more, "num_workers": 2, "draws": "torch"}
        assert_alike(run(Ours, ours), theirs)


@pytest.mark.parametrize("sampler", [[1, 99, 2], [1, -3, -99], [1, "a", 2]])
def test_indices_that_are_none(tmp_path: Path, sampler: List[Any]) -> None:
    dataset = Files(tmp_path / "images")
    arguments = {"dataset": dataset, "sampler": sampler}
    theirs = run(Theirs, {**arguments, "num_workers": 1})
    more = {"num_workers": 2, "draws": "torch"}
    assert_alike(run(Ours, {**arguments, **more}), theirs)


# ---- Functions that collate ------------------------------------------------


def mixing(samples: List[Any]) -> Any:
    """Draws from all three generators."""
    images, labels = data.default_collate(samples)
    share = sets.np.random.beta(0.4, 0.4) * random.random()
    order = torch.randperm(len(images))
    return images * share + images[order] * (1 - share), labels, labels[order]


def at_times(samples: List[Any]) -> Any:
    """Draws for some batches only."""
    images, labels = data.default_collate(samples)
    if int(labels.sum()) % 3 == 0:
        images = images + torch.rand(1)
    return images, labels


def failing(samples: List[Any]) -> Any:
    if any(label == BAD for _, label in samples):
        raise ValueError("this batch")
    return data.default_collate(samples)


@pytest.mark.parametrize("collate", [mixing, at_times, failing])
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_collate_functions(tmp_path: Path, collate: Any, workers: int) -> None:
    dataset = sets.Opened(tmp_path / "images")
    arguments = {"dataset": dataset, "batch_size": 5, "shuffle": True}
    arguments["collate_fn"] = collate
    theirs = run(Theirs, {**arguments, "num_workers": 1})
    more = {"num_workers": workers, "draws": "torch"}
    assert_alike(run(Ours, {**arguments, **more}), theirs)


def test_collate_functions_with_own_draws(tmp_path: Path) -> None:
    """The same for any number of workers, and none of the program's draws."""
    dataset = sets.Opened(tmp_path / "images")
    arguments = {"dataset": dataset, "batch_size": 5, "collate_fn": mixing}
    found = []
    for workers in (1, 3):
        torch.manual_seed(6)
        batches = iter(Ours(**arguments, num_workers=workers))
        before = torch.get_rng_state(), random.getstate()
        found.append(list(batches))
        assert torch.equal(torch.get_rng_state(), before[0])
        assert random.getstate() == before[1]
    assert_alike(found[1], found[0])


def test_resumed_behind_a_function_that_drew(tmp_path: Path) -> None:
    dataset = sets.Opened(tmp_path / "images")
    arguments: Dict[str, Any] = {"dataset": dataset, "batch_size": 5}
    arguments.update(collate_fn=mixing, draws="torch")
    loader = Ours(**arguments, num_workers=2)
    batches = iter(loader)
    next(batches)
    saved = loader.state_dict()
    rest = list(batches)
    resumed = Ours(**arguments, num_workers=1)
    resumed.load_state_dict(saved)
    assert_alike(list(resumed), rest)


class Counting:
    """A function with a state, which a worker has a copy of."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.step = 0

    def __call__(self, samples: List[Any], more: int = 0) -> Any:
        self.step += 1
        self.dataset.seen = self.step
        return data.default_collate(samples), self.step + more


class Seen(Files):
    seen = 0


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("kind", ["object", "method", "partial"])
def test_collate_functions_with_a_state(
    tmp_path: Path, kind: str, persistent: bool
) -> None:
    found = []
    for loader_type, draws in ((Theirs, {}), (Ours, {"draws": "torch"})):
        dataset = Seen(tmp_path / "images")
        counting = Counting(dataset)
        collate = {
            "object": counting,
            "method": counting.__call__,
            "partial": functools.partial(counting, more=5),
        }[kind]
        arguments = {"dataset": dataset, "batch_size": 5, "num_workers": 1}
        more = {"persistent_workers": persistent, **draws}
        found.append(
            run(loader_type, {**arguments, "collate_fn": collate, **more})
        )
        assert counting.step == dataset.seen == 0
    assert_alike(found[1], found[0])
