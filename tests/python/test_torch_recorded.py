# SPDX-License-Identifier: Apache-2.0
"""Data sets of the program's own run unchanged: their Python here, their pixels
in the engine, and the batches are torch's."""

from __future__ import annotations

import importlib
import pickle
from pathlib import Path
from typing import Any, Dict, List

import pytest

import recorded_sets as sets
from recorded_sets import Files, arguments_of, batches_of, equal, torchs
from torch_cases import Ours, Theirs, data, folder, torch

import feedline
from PIL import Image


def assert_equal(ours: List[Any], theirs: List[Any]) -> None:
    assert len(ours) == len(theirs)
    for number, (a, b) in enumerate(zip(ours, theirs)):
        assert equal(a, b), "batch %d" % number


# ---- Batches are torch's ---------------------------------------------------


@pytest.mark.parametrize("name", sets.SETS)
def test_torchs_draws_give_torchs_batches(tmp_path: Path, name: str) -> None:
    """For every number of workers, over two epochs."""
    root = tmp_path / "images"
    theirs = torchs(arguments_of(name, root))
    for workers in (1, 2, 7, 0):
        arguments = arguments_of(name, root, num_workers=workers, draws="torch")
        assert_equal(batches_of(Ours, arguments), theirs)


@pytest.mark.parametrize("name", sets.SETS)
def test_own_draws_do_not_depend_on_workers(tmp_path: Path, name: str) -> None:
    root = tmp_path / "images"
    found = [
        batches_of(Ours, arguments_of(name, root, num_workers=workers))
        for workers in (2, 7, 0)
    ]
    assert_equal(found[1], found[0])
    assert_equal(found[2], found[0])
    half = len(found[0]) // 2
    assert not equal(found[0][0], found[0][half])  # another epoch


class Fixed(Files):
    """Draws nothing."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB").resize((9, 7))
        return sets.F.to_tensor(image), {"name": self.files[index]}


@pytest.mark.parametrize("workers", [0, 3])
def test_without_draws_batches_are_torchs(tmp_path: Path, workers: int) -> None:
    dataset = Fixed(tmp_path / "images")
    arguments = {"dataset": dataset, "batch_size": 7, "shuffle": True}
    ours = batches_of(Ours, {**arguments, "num_workers": workers})
    assert_equal(ours, torchs(arguments))


def test_a_known_set_has_torchs_draws_too(tmp_path: Path) -> None:
    """Recorded, though the engine could do without Python."""
    dataset = folder(tmp_path / "images", sets.chain())
    arguments = {"dataset": dataset, "batch_size": 5, "shuffle": True}
    ours = batches_of(Ours, {**arguments, "num_workers": 2, "draws": "torch"})
    assert_equal(ours, torchs(arguments))
    loader = Ours(dataset, 5)
    assert loader.native and not loader.recorded


def test_a_sample_that_comes_again_is_drawn_for_again(tmp_path: Path) -> None:
    loader = Ours(Files(tmp_path / "images"), sampler=[3, 3, 3], batch_size=3)
    ((images, _),) = loader
    assert loader.recorded
    assert not torch.equal(images[0], images[1])
    assert not torch.equal(images[1], images[2])


def test_the_seed_repeats_an_epoch(tmp_path: Path) -> None:
    dataset = Files(tmp_path / "images")
    first = [list(Ours(dataset, 5, seed=4, num_workers=2)) for _ in range(2)]
    assert_equal(first[0], first[1])
    assert not equal(first[0][0], list(Ours(dataset, 5, seed=5))[0])


# ---- Resuming --------------------------------------------------------------


@pytest.mark.parametrize("draws", ["engine", "torch"])
@pytest.mark.parametrize("name", ["files", "dicts", "together", "records"])
def test_resumed_in_the_middle(tmp_path: Path, name: str, draws: str) -> None:
    import json

    arguments = arguments_of(name, tmp_path / "images", draws=draws)
    torch.manual_seed(3)
    loader = Ours(**arguments, num_workers=2)
    batches = iter(loader)
    for _ in range(2):
        next(batches)
    saved = json.dumps(loader.state_dict())
    rest = list(batches)
    for workers in (0, 1, 7):
        resumed = Ours(**arguments, num_workers=workers)
        resumed.load_state_dict(json.loads(saved))
        assert_equal(list(resumed), rest)


def test_persistent_workers_draw_on_as_torchs_do(tmp_path: Path) -> None:
    arguments = arguments_of("dicts", tmp_path / "images")
    arguments.update(num_workers=1, persistent_workers=True)
    ours = batches_of(Ours, {**arguments, "draws": "torch"}, 3)
    assert_equal(ours, torchs(arguments, 3))


# ---- Memory ----------------------------------------------------------------


def test_the_default_collate_copies_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = sets.Views(tmp_path / "images")
    stacked = []
    stack = torch.stack

    def noted(*arguments: Any, **named: Any) -> Any:
        stacked.append(arguments)
        return stack(*arguments, **named)

    loader = Ours(dataset, 5, num_workers=1)
    expected = list(loader)
    monkeypatch.setattr(torch, "stack", noted)
    loader = Ours(dataset, 5, num_workers=1, seed=1)
    assert len(list(loader)) == len(expected)
    assert not stacked


def test_results_do_not_share_memory(tmp_path: Path) -> None:
    """One image twice in a sample is two tensors of a batch."""

    class Twice(Files):
        def __getitem__(self, index: int) -> Any:
            image = self.transform(Image.open(self.files[index]))
            return image, image

    first, second = next(iter(Ours(Twice(tmp_path / "images"), 4)))
    before = second.clone()
    first.zero_()
    assert torch.equal(second, before)


def test_batches_are_kept(tmp_path: Path) -> None:
    """Memory of a batch is nobody else's as long as somebody has it."""
    arguments = arguments_of("files", tmp_path / "images", draws="torch")
    loader = Ours(**arguments, num_workers=2, seed=3)
    torch.manual_seed(1)
    kept = [batch for _ in range(6) for batch in loader]
    torch.manual_seed(1)
    again = [batch for _ in range(6) for batch in loader]
    assert_equal(kept, again)


# ---- As in a worker --------------------------------------------------------


class Worker(Files):
    def __getitem__(self, index: int) -> Any:
        info = data.get_worker_info()
        image = self.transform(Image.open(self.files[index]))
        about = (-1, -1) if info is None else (info.id, info.num_workers)
        return image, about, info is None or info.dataset is self


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_worker_info(tmp_path: Path, workers: int) -> None:
    dataset = Worker(tmp_path / "images")
    loader = Ours(dataset, 6, num_workers=workers)
    _, about, own = next(iter(loader))
    assert loader.recorded and own.all()
    assert [int(n[0]) for n in about] == ([0, 1] if workers else [-1, -1])
    assert data.get_worker_info() is None


class Counting(Files):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.made: List[int] = []

    def __getitem__(self, index: int) -> Any:
        self.made.append(index)
        return super().__getitem__(index)[0], len(self.made)


def test_what_a_worker_writes_stays_there(tmp_path: Path) -> None:
    """A copy of the data set for each epoch, the data set itself without
    workers: as torch has it, whose persistent workers keep theirs."""
    dataset = Counting(tmp_path / "images")
    for persistent in (False, True):
        arguments: Dict[str, Any] = {"batch_size": 24, "num_workers": 1}
        arguments["persistent_workers"] = persistent
        ours = Ours(dataset, **arguments)
        theirs = Theirs(dataset, **arguments)
        for _ in range(2):
            ((_, mine),), ((_, others),) = ours, theirs
            assert ours.recorded and torch.equal(mine, others)
    assert not dataset.made
    ((_, counts),) = Ours(dataset, 24)
    assert counts.tolist() == list(range(1, 25)) and len(dataset.made) == 24


def test_changes_between_epochs_are_seen(tmp_path: Path) -> None:
    class Epochs(Files):
        epoch = 0

        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(index)[0], self.epoch

    dataset = Epochs(tmp_path / "images")
    loader = Ours(dataset, 24, num_workers=2)
    for epoch in range(3):
        dataset.epoch = epoch
        for _, epochs in loader:
            assert epochs.tolist() == [epoch] * 24


def test_seeding_init_functions_are_called_as_in_a_worker(
    tmp_path: Path,
) -> None:
    def seed(worker: int) -> None:
        import random

        import numpy

        numpy.random.seed(worker + 5)
        random.seed(torch.initial_seed() % 2**32)

    arguments = arguments_of("dicts", tmp_path / "images", worker_init_fn=seed)
    ours = batches_of(Ours, {**arguments, "num_workers": 2, "draws": "torch"})
    assert_equal(ours, torchs(arguments))


# ---- What it says ----------------------------------------------------------


def test_it_says_what_touched_pixels(tmp_path: Path) -> None:
    loader = Ours(sets.Touching(tmp_path / "images"), 6)
    assert len(list(loader)) == 4 and loader.recorded
    said = loader.explain()
    assert "recorded_sets.py" in said and "__getitem__" in said


def test_without_images_it_is_torchs(tmp_path: Path) -> None:
    class Numbers(data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 5

        def __getitem__(self, index: int) -> Any:
            return torch.ones(3, 4, 4) * index

    for more in ({}, {"draws": "torch"}):
        loader = Ours(Numbers(), 2, **more)
        assert not loader.native and not loader.recorded
        assert loader.fallback_reason
        with pytest.warns(feedline.torch.FallbackWarning):
            assert len(list(loader)) == 3


class AllTouched(Files):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        return torch.from_numpy(sets.np.sort(sets.np.array(image))), index


def test_where_all_is_touched_it_is_torchs(tmp_path: Path) -> None:
    loader = Ours(AllTouched(tmp_path / "images"), 6)
    reason = str(loader.fallback_reason)
    assert "test_torch_recorded.py" in reason and "__getitem__" in reason


# ---- It proves itself ------------------------------------------------------


def test_a_difference_is_told_and_torch_goes_on(tmp_path: Path) -> None:
    """Here the data set itself is another each time."""
    calls: List[int] = []

    class Odd(Files):
        def __getitem__(self, index: int) -> Any:
            calls.append(index)
            return super().__getitem__(index)[0], len(calls)

    dataset = Odd(tmp_path / "images")
    loader = Ours(dataset, 6)
    with pytest.warns(feedline.EngineWarning, match=r"sample 0\[1\]"):
        assert not loader.native
    assert "each time" in loader.fallback_reason
    with pytest.warns(feedline.torch.FallbackWarning):
        assert len(list(loader)) == 4
    assert Ours(dataset, 6, verify=0).native


def test_own_generators_are_no_difference(tmp_path: Path) -> None:
    class Own(Files):
        def __init__(self, root: Path) -> None:
            super().__init__(root)
            self.rng = sets.np.random.default_rng(4)
            self.twister = sets.random.Random(5)
            self.generator = torch.Generator().manual_seed(6)

        def __getitem__(self, index: int) -> Any:
            image = super().__getitem__(index)[0]
            third = torch.rand(1, generator=self.generator)
            return image, self.rng.random(), self.twister.random(), third

    arguments = {"dataset": Own(tmp_path / "images"), "batch_size": 5}
    ours = batches_of(
        Ours, {**arguments, "num_workers": 3, "draws": "torch"}, epochs=1
    )
    assert_equal(ours, torchs(arguments, epochs=1))


def test_arguments_are_checked(tmp_path: Path) -> None:
    dataset = Files(tmp_path / "images")
    with pytest.raises(ValueError, match="draws"):
        Ours(dataset, draws="numpy")
    for wrong in (-1, 1.5, None):
        with pytest.raises(ValueError, match="verify"):
            Ours(dataset, verify=wrong)


def test_persistent_iterators_change_sides(tmp_path: Path) -> None:
    """From known to recorded and back, by what the transform is."""
    dataset = folder(tmp_path / "images")
    chain = dataset.transform
    loader = Ours(
        dataset, batch_size=12, num_workers=1, persistent_workers=True
    )
    expected = list(loader)
    sides = (lambda x: chain(x.copy()), True), (chain, False)
    for transform, recorded in sides * 2:
        dataset.transform = transform
        assert_equal(list(loader), expected)
        assert loader.native and loader.recorded is recorded


# ---- What the data set keeps is its own -------------------------------------


class Reusing(Files):
    """Hands out the same dict and array each time, filled anew."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.sample: Dict[str, Any] = {"numbers": sets.np.zeros(2)}

    def __getitem__(self, index: int) -> Any:
        self.sample["image"] = self.transform(Image.open(self.files[index]))
        self.sample["numbers"][:] = index, -index
        return self.sample


@pytest.mark.parametrize("workers", [0, 2])
def test_samples_that_are_the_same_object(tmp_path: Path, workers: int) -> None:
    arguments = {"dataset": Reusing(tmp_path / "images"), "batch_size": 1}
    more = {"num_workers": workers, "draws": "torch"}
    ours = batches_of(Ours, {**arguments, **more})
    assert_equal(ours, torchs(arguments))


class Caching(Files):
    """Keeps what it has made: images of Pillow's, tensors and samples."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.images: Dict[int, Any] = {}
        self.samples: Dict[int, Any] = {}

    def __getitem__(self, index: int) -> Any:
        if index not in self.images:
            image = Image.open(self.files[index]).convert("RGB")
            self.images[index] = image.resize((20, 20))
            small = sets.F.to_tensor(self.images[index])
            self.samples[index] = {"small": small, "boxes": torch.ones(2)}
        return self.transform(self.images[index]), self.samples[index]


def as_they_are(samples: List[Any]) -> Any:
    return samples


@pytest.mark.parametrize(
    "collate, persistent", [(None, True), (None, False), (as_they_are, False)]
)
def test_caches_are_not_what_is_delivered(
    tmp_path: Path, collate: Any, persistent: bool
) -> None:
    """The program changes its batches, and the data set keeps its images. (In
    torch a worker that stays shares what it sends with the program.)"""
    dataset = Caching(tmp_path / "images")
    arguments: Dict[str, Any] = {"dataset": dataset, "batch_size": 6}
    arguments.update(num_workers=1, collate_fn=collate)
    found = []
    for kind in (Theirs, Ours):
        more: Dict[str, Any] = {"persistent_workers": persistent}
        if kind is Ours:
            more["draws"] = "torch"
        torch.manual_seed(4)
        loader = kind(**arguments, **more)
        seen = []
        for _ in range(3):
            for batch in loader:
                seen.append(pickle.loads(pickle.dumps(batch)))
                for part in batch if collate else [batch]:
                    part[0].zero_()
                    part[1]["small"].add_(1)
                    part[1]["boxes"].add_(1)
        found.append(seen)
    assert_equal(found[1], found[0])
    assert loader.recorded


class Tree:
    """Its branches know it."""

    def __init__(self, image: Any, branches: int) -> None:
        self.image = image
        self.parent: Any = None
        self.branches = [Tree(image, 0) for _ in range(branches)]
        for branch in self.branches:
            branch.parent = self


class Trees(Files):
    def __getitem__(self, index: int) -> Any:
        return Tree(self.transform(Image.open(self.files[index])), 3)


def test_samples_that_hold_themselves(tmp_path: Path) -> None:
    loader = Ours(
        Trees(tmp_path / "images"), 5, num_workers=2, collate_fn=as_they_are
    )
    trees = [tree for batch in loader for tree in batch]
    assert loader.recorded and len(trees) == 24
    for tree in trees:
        assert all(branch.parent is tree for branch in tree.branches)
        assert all(branch.image is tree.image for branch in tree.branches)


class OddLength(Files):
    def __len__(self) -> int:
        raise ValueError("who knows")


def test_a_length_that_is_none(tmp_path: Path) -> None:
    """torch asks for none where there is a sampler."""
    dataset = OddLength(tmp_path / "images")
    arguments = {"dataset": dataset, "sampler": [3, 5, 4], "batch_size": 2}
    ours = batches_of(
        Ours, {**arguments, "draws": "torch", "num_workers": 1}, epochs=2
    )
    assert_equal(ours, torchs(arguments, epochs=2))


def test_an_interrupted_proof_is_made_anew(tmp_path: Path) -> None:
    class Interrupted(Files):
        calls = 0

        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(index)

        def __getattribute__(self, name: str) -> Any:
            if name == "transform":
                type(self).calls += 1
                if type(self).calls == 2:
                    raise KeyboardInterrupt
            return super().__getattribute__(name)

    loader = Ours(Interrupted(tmp_path / "images"), 6)
    try:
        assert len(list(loader)) == 4
    except KeyboardInterrupt:
        pass
    assert len(list(loader)) == 4


def test_seeds_of_an_init_function_rule(tmp_path: Path) -> None:
    """torch.manual_seed, too, which torch.compile's part of torch replaces."""
    importlib.import_module("torch._dynamo")

    def seed(worker: int) -> None:
        torch.manual_seed(worker + 11)
        sets.np.random.seed(worker + 11)
        sets.random.seed(worker + 11)

    arguments = arguments_of("dicts", tmp_path / "images", worker_init_fn=seed)
    ours = batches_of(Ours, {**arguments, "num_workers": 2, "draws": "torch"})
    assert_equal(ours, torchs(arguments))


class AtTimes(Files):
    """Pixels of most samples are used, by chance."""

    def __getitem__(self, index: int) -> Any:
        image = self.transform(Image.open(self.files[index]).convert("RGB"))
        if index < 12:
            image[:, 2:5, 2:5] = torch.randn(3, 3, 3)
        return image, index


def test_a_deferred_sample_is_looked_for(tmp_path: Path) -> None:
    dataset = data.Subset(AtTimes(tmp_path / "images"), range(15))
    arguments = {"dataset": dataset, "batch_size": 5}
    ours = batches_of(Ours, {**arguments, "num_workers": 2, "draws": "torch"})
    assert_equal(ours, torchs(arguments))


@pytest.mark.parametrize("workers", [1, 3])
def test_torchs_draws_where_torch_loads(tmp_path: Path, workers: int) -> None:
    """No engine in its workers draws for them, and there is one of those."""
    chain = sets.T.Compose([sets.T.RandomCrop(8), lambda x: sets.np.sort(x)])
    dataset = folder(tmp_path / "images", chain)
    arguments = {"dataset": dataset, "batch_size": 5, "num_workers": 1}
    assert Ours(**arguments).partly_native
    arguments["persistent_workers"] = workers == 3
    ours = Ours(**{**arguments, "num_workers": workers}, draws="torch")
    assert not ours.native and not ours.partly_native
    found = []
    for loader in (ours, Theirs(**arguments)):
        torch.manual_seed(3)
        found.append([batch for _ in range(2) for batch in loader])
    assert_equal(found[0], found[1])


def test_draws_that_nobody_can_have_are_told(tmp_path: Path) -> None:
    """Without workers torch draws from the program's generators."""
    dataset = folder(tmp_path / "images", lambda x: sets.np.sort(x))
    loader = Ours(dataset, 5, draws="torch")
    with pytest.warns(feedline.torch.FallbackWarning, match="without workers"):
        next(iter(loader))
    loader = Ours(dataset, 5, draws="torch", num_workers=2)
    with pytest.warns(feedline.torch.FallbackWarning, match="one process"):
        next(iter(loader))


class Reseeding(Files):
    """The same draws for an image and its mask, as recipes have it."""

    def seed(self, seed: int) -> None:
        sets.random.seed(seed)
        torch.manual_seed(seed)

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        seed = int(sets.np.random.randint(2**31))
        self.seed(seed)
        first = self.transform(image)
        self.seed(seed)
        return first, self.transform(image)


class PastTheFunctions(Reseeding):
    def seed(self, seed: int) -> None:
        torch.default_generator.manual_seed(seed)


@pytest.mark.parametrize("draws", ["engine", "torch"])
def test_samples_that_seed(tmp_path: Path, draws: str) -> None:
    dataset = Reseeding(tmp_path / "images")
    arguments = {"dataset": dataset, "batch_size": 5, "draws": draws}
    torch.manual_seed(2)
    batches = iter(Ours(**arguments, num_workers=2))
    before = torch.get_rng_state()
    for image, mask in batches:
        assert torch.equal(image, mask)
    assert torch.equal(torch.get_rng_state(), before)
    loader = Ours(PastTheFunctions(tmp_path / "images"), 5, draws=draws)
    before = torch.get_rng_state()
    assert "generator of torch" in str(loader.fallback_reason)
    assert torch.equal(torch.get_rng_state(), before)
