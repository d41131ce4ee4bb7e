# SPDX-License-Identifier: Apache-2.0
"""worker_init_fn: native where it only seeds, torch's loader where it may do
anything else. PyTorch's recipe for reproducible loading repeats."""

from __future__ import annotations

import functools
import logging
import os
import random
import time
import warnings
from types import SimpleNamespace
from typing import Any, Callable, List

import pytest

from torch_cases import Ours, T, assert_same, folder, torch

from feedline import thread_draws
from feedline.torch import FallbackWarning
from feedline.torch.worker_init import only_seeds, rehearsed
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


def seed_of_rank(
    worker_id: int, num_workers: int, rank: int, seed: int, quiet: bool = False
) -> None:
    """As in the builders of loaders of many research projects."""
    worker_seed = num_workers * rank + worker_id + seed
    numpy.random.seed(worker_seed)
    random.seed(worker_seed)
    torch.manual_seed(worker_seed)
    if quiet and worker_id != 0:
        warnings.simplefilter("ignore")


def set_seed(seed: int) -> None:
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


class Config:
    seed = 3


class Trainer:
    """Its methods and objects seed."""

    def __init__(self) -> None:
        self.seed = 3
        self.seeds = [5, 6, 7]
        self.by_name = {"train": 1}
        self.config = Config()
        self.opt = SimpleNamespace(manual_seed=9)
        self.rng = random.Random(3)
        self.name = "train"
        self.log = logging.getLogger("trainer")

    @property
    def base(self) -> int:
        return self.seed + self.config.seed + self.by_name["train"]

    def init(self, worker: int) -> None:
        self.set(self.base + self.seeds[worker] + self.opt.manual_seed)

    @staticmethod
    def set(seed: int) -> None:
        random.seed(seed)

    def __call__(self, worker: int) -> None:
        import numpy as np

        np.random.seed(Config.seed + worker)

    def grows(self, worker: int) -> None:
        self.seed += worker

    def fills(self, worker: int) -> None:
        self.seeds.append(worker)

    def draws(self, worker: int) -> None:
        random.seed(self.rng.random())

    def compares(self, worker: int) -> None:
        if self.config == Config:
            os.nice(0)


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        begun = time.perf_counter()
        result = function(*args, **kwargs)
        logging.info("%s took %f s", "seeding", time.perf_counter() - begun)
        return result

    return call


@decorated
def seed_and_tell(worker: int) -> None:
    random.seed(worker)


@functools.lru_cache(maxsize=None)
def seed_once(worker: int) -> None:
    random.seed(worker)


def seed_apart(worker: int) -> None:
    sequence = numpy.random.SeedSequence([torch.initial_seed(), worker])
    numpy.random.seed(sequence.generate_state(4))
    rank = int(os.environ.get("RANK", 0))
    random.seed(numpy.random.default_rng(rank + worker).integers(2**32))


def seed_rank(worker: int) -> None:
    distributed = torch.distributed
    rank = distributed.get_rank() if distributed.is_initialized() else 0
    set_seed(BASE + rank * 100 + worker)


kept: Any = None


def keeps(worker: int) -> None:
    global kept
    kept = worker


def keeps_inside(worker: int) -> None:
    seeds = 0

    def keep() -> None:
        global kept
        nonlocal seeds
        kept = seeds = worker

    keep()


def counts_inside(worker: int) -> None:
    seeds = 0

    def count() -> None:
        nonlocal seeds
        seeds += 1

    count()
    random.seed(seeds)


def counter() -> Callable[[int], None]:
    count = 0

    def init(worker: int) -> None:
        nonlocal count
        count += worker + 1

    return init


def marks(worker: int) -> None:
    torch.utils.data.worker = worker


def swallows(worker: int) -> None:
    try:
        os.nice(0)
    except Exception:
        pass


partial = functools.partial
OF_RANK = partial(seed_of_rank, num_workers=2, rank=0, seed=7)
SEEDING = [
    OF_RANK,
    partial(OF_RANK, rank=3, quiet=True),
    partial(seed_worker),
    partial(lambda base, worker: random.seed(base + worker), 7),
    partial(lambda worker, config: random.seed(config.seed), config=Config()),
    partial(
        lambda worker, config: random.seed(config["a"][worker]),
        config={"a": [1, 2, 3]},
    ),
    partial(lambda seed, worker: numpy.random.seed(seed), numpy.int64(3)),
    Trainer(),
    Trainer().init,
    partial(Trainer.init, Trainer()),
    staticmethod(seed_worker),
    seed_and_tell,
    seed_once,
    seed_apart,
    seed_rank,
    counts_inside,
    numpy.random.seed,
    random.seed,
    partial(torch.manual_seed),
    seed_worker,
    lambda worker: numpy.random.seed(BASE + worker),
    lambda worker: seed_all(BASE + worker, deterministic=True),
    lambda worker: numpy.random.seed(numpy.random.get_state()[1][0] + worker),
    with_base(7),
    lambda worker: None,
    print,
]
OTHERS = [
    lambda worker: os.nice(0),
    lambda worker: seen.append(worker),
    lambda worker: open(os.devnull),
    lambda worker: setattr(torch.utils.data, "mine", worker),
    lambda worker: torch.utils.data.get_worker_info().dataset.open(),
    lambda worker: worker == 2 and os.nice(0),
    lambda worker: __import__("os").nice(0),
    seen.append,
    partial(seen.append),
    partial(lambda worker, list: list.append(worker), list=seen),
    partial(seed_of_rank, num_workers=2),  # a TypeError in torch
    Trainer().grows,
    Trainer().fills,
    Trainer().draws,
    Trainer().compares,
    decorated(lambda worker: os.nice(0)),
    keeps,
    keeps_inside,
    counter(),
    marks,
    swallows,
]


def test_what_only_seeds() -> None:
    before = random.getstate(), torch.get_rng_state().tolist()
    found = [rehearsed(fn, 3).other for fn in SEEDING]
    assert found == [""] * len(SEEDING)
    assert [fn for fn in OTHERS if only_seeds(fn, 3)] == []
    assert before == (random.getstate(), torch.get_rng_state().tolist())
    assert seen == [] and kept is None and not hasattr(torch.utils.data, "mine")


def test_generators_that_threads_have_apart() -> None:
    """What seeds is known before and after it was replaced for operations."""
    before = [numpy.random.seed, random.seed, torch.manual_seed]
    thread_draws.install()
    after = [numpy.random.seed, random.seed, torch.manual_seed]
    assert all(only_seeds(fn, 2) for fn in before + after)


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


def test_words_say_what_else_it_does(tmp_path: Any) -> None:
    said = [rehearsed(fn, 3).other for fn in (OTHERS[0], keeps, marks)]
    assert said == [
        "it calls os.nice",
        "it sets kept",
        "it sets torch.utils.data.worker",
    ]
    loader = Ours(folder(tmp_path / "images"), worker_init_fn=swallows)
    assert "(it calls os.nice)" in loader.fallback_reason


@pytest.mark.parametrize("speaks", [seed_and_tell, print, Trainer().log.info])
def test_what_is_not_printed_is_told_once(tmp_path: Any, speaks: Any) -> None:
    data = folder(tmp_path / "images")
    loader = Ours(data, batch_size=8, num_workers=2, worker_init_fn=speaks)
    with pytest.warns(UserWarning, match="prints, logs or warns") as caught:
        list(loader)
    assert loader.native and len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(loader)
        list(Ours(data, num_workers=2, worker_init_fn=OF_RANK))
