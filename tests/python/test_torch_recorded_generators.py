# SPDX-License-Identifier: Apache-2.0
"""Generators that a data set keeps for itself run on from sample to sample, as
in torch's worker: behind failed samples, and behind a state, too."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Dict, List

import pytest

import recorded_sets as sets
from recorded_sets import Files, batches_of, equal, torchs
from test_torch_recorded import assert_equal
from test_torch_recorded_errors import damage
from torch_cases import Ours, Theirs, torch

np = pytest.importorskip("numpy")

from PIL import Image  # noqa: E402

KINDS = ["random", "Generator", "RandomState", "torch", "all", "and others"]
# What is damaged does not depend on the kind.
CASES = [(kind, "") for kind in KINDS]
CASES += [("all", "cut"), ("all", "missing"), ("and others", "cut")]


class Keeps(Files):
    """Crops by its own generators, and flips by one that it shares."""

    def __init__(self, root: Path, kind: str) -> None:
        super().__init__(root)
        self.kind = kind
        self.own = random.Random(4)
        self.generator = np.random.default_rng(5)
        self.parts = {"state": [np.random.RandomState(6)]}
        self.torchs = torch.Generator().manual_seed(7)

    def place(self) -> int:
        every = {
            "random": lambda: self.own.randrange(9),
            "Generator": lambda: int(self.generator.integers(9)),
            "RandomState": lambda: self.parts["state"][0].randint(9),
            "torch": lambda: int(torch.randint(9, (), generator=self.torchs)),
            "global": lambda: random.randrange(3) + int(torch.randint(3, ())),
        }
        if self.kind in every:
            return every[self.kind]()
        names = list(every)[: None if self.kind == "and others" else -1]
        return sum(every[name]() for name in names)

    def __getitem__(self, index: int) -> Any:
        left, top = self.place(), self.place()
        try:
            image = Image.open(self.files[index]).convert("RGB")
        except OSError:
            index = (index + 1 + self.place()) % len(self)
            return self[index]
        image = image.crop((left, top, left + 12, top + 9))
        return sets.F.to_tensor(image), self.place()


def arguments(dataset: Any, **more: Any) -> Dict[str, Any]:
    return {"dataset": dataset, "batch_size": 3, "shuffle": True, **more}


@pytest.mark.parametrize("kind, damaged", CASES)
def test_batches_are_torchs(tmp_path: Path, kind: str, damaged: str) -> None:
    dataset = Keeps(tmp_path / "images", kind)
    if damaged:
        damage(dataset, damaged)
    theirs = torchs(arguments(dataset))
    for workers in (1, 7):
        given = arguments(dataset, num_workers=workers, draws="torch")
        assert_equal(batches_of(Ours, given), theirs)


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_in_this_process(tmp_path: Path, kind: str) -> None:
    """The data set's own run on, as in torch's."""
    found = []
    for loader in (Ours, Theirs):
        dataset = Keeps(tmp_path / "images", kind)
        given = arguments(dataset, num_workers=0)
        if loader is Ours:
            given["draws"] = "torch"
        found.append(batches_of(loader, given))
    assert_equal(*found)


@pytest.mark.parametrize("draws", ["engine", "torch"])
@pytest.mark.parametrize("kind, damaged", CASES)
def test_resumed(tmp_path: Path, kind: str, draws: str, damaged: str) -> None:
    root = tmp_path / "images"
    if damaged:
        damage(Keeps(root, kind), damaged)

    def loader(workers: int) -> Any:
        dataset = Keeps(root, kind)
        return Ours(**arguments(dataset, num_workers=workers, draws=draws))

    torch.manual_seed(3)
    first = loader(2)
    batches = iter(first)
    for _ in range(2):
        next(batches)
    saved = json.dumps(first.state_dict())
    rest: List[Any] = list(batches)
    assert first.native and first.recorded, first.fallback_reason
    for workers in (0, 7):
        resumed = loader(workers)
        resumed.load_state_dict(json.loads(saved))
        got = list(resumed)
        assert len(got) == len(rest)
        assert all(equal(a, b) for a, b in zip(got, rest))


def test_a_state_of_other_generators(tmp_path: Path) -> None:
    class Fewer(Keeps):
        def __init__(self, root: Path) -> None:
            super().__init__(root, "random")
            del self.torchs

    root = tmp_path / "images"
    loader = Ours(**arguments(Keeps(root, "random"), draws="torch"))
    next(iter(loader))
    other = Ours(**arguments(Fewer(root), draws="torch"))
    other.load_state_dict(loader.state_dict())
    with pytest.raises(ValueError, match="other random generators"):
        list(other)
