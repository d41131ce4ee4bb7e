# SPDX-License-Identifier: Apache-2.0
"""worker_init_fn: native where it only seeds, torch's loader where it may do
anything else. PyTorch's recipe for reproducible loading repeats."""

from __future__ import annotations

import os
import random
from typing import Any, List

import pytest

from torch_cases import Ours, T, assert_same, folder, torch

from feedline.torch import FallbackWarning
from feedline.torch.worker_init import only_seeds
from feedline.transforms import PIL

numpy = pytest.importorskip("numpy")
BASE = 40
seen: List[int] = []


def seed_worker(worker_id: int) -> None:
    """As in the notes of PyTorch's documentation."""
    worker_seed = torch.initial_seed() % 2**32
    numpy.random.seed(worker_seed)
    random.seed(worker_seed)


def seed_all(seed: int, deterministic: bool = False) -> None:
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)
    if torch.utils.data.get_worker_info().id == 1:
        print("seeded", seed)


def with_base(base: int) -> Any:
    return lambda worker: seed_all(base + worker)


SEEDING = [
    seed_worker,
    lambda worker: numpy.random.seed(BASE + worker),
    lambda worker: seed_all(BASE + worker, deterministic=True),
    lambda worker: numpy.random.seed(numpy.random.get_state()[1][0] + worker),
    with_base(7),
    lambda worker: None,
]
OTHERS = [
    lambda worker: os.nice(0),
    lambda worker: seen.append(worker),
    lambda worker: open(os.devnull),
    lambda worker: setattr(torch.utils.data, "mine", worker),
    lambda worker: torch.utils.data.get_worker_info().dataset.open(),
    lambda worker: worker == 2 and os.nice(0),
    lambda worker: __import__("os").nice(0),
    print,
    seen.append,
]


def test_what_only_seeds() -> None:
    before = random.getstate(), torch.get_rng_state().tolist()
    assert [only_seeds(fn, 3) for fn in SEEDING] == [True] * len(SEEDING)
    assert [only_seeds(fn, 3) for fn in OTHERS] == [False] * len(OTHERS)
    assert before == (random.getstate(), torch.get_rng_state().tolist())
    assert seen == [] and not hasattr(torch.utils.data, "mine")


def test_a_global_of_the_users_is_not_written() -> None:
    def keep(worker: int) -> None:
        global BASE
        BASE = worker

    keep_too = keep
    only_seeds(keep_too, 2)
    assert BASE == 40


@pytest.mark.parametrize("drawing", [False, True])
def test_the_recipe_is_native_and_repeats(tmp_path: Any, drawing: bool) -> None:
    chain = [T.RandomResizedCrop(16), T.PILToTensor()]
    if drawing:
        chain.insert(1, PIL(T.RandAugment()))
    data = folder(tmp_path / "images", T.Compose(chain))
    found = []
    for workers in (2, 2, 5):
        g = torch.Generator()
        g.manual_seed(0)
        loader = Ours(
            data,
            batch_size=5,
            shuffle=True,
            num_workers=workers,
            worker_init_fn=seed_worker,
            generator=g,
        )
        found.append([batch for _ in range(2) for batch in loader])
        assert loader.native, loader.fallback_reason
    assert_same(found[0], found[1])
    assert_same(found[0], found[2])


def test_others_are_torchs(tmp_path: Any) -> None:
    loader = Ours(folder(tmp_path / "images"), worker_init_fn=OTHERS[0])
    with pytest.warns(FallbackWarning, match="more than seed generators"):
        iter(loader)
