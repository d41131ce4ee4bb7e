# SPDX-License-Identifier: Apache-2.0
"""torch's default, num_workers=0: native, tuned, and asked for nothing at
another moment than torch asks."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Iterator, List

import pytest

from torch_cases import T, Ours, Theirs, assert_same, folder, torch

from feedline.torch import FallbackWarning, NotNative
from feedline.torch.iteration import DEPTH_EVERY, AT_ONCE


def epochs(loader_type: Any, dataset: Any, **arguments: Any) -> List[Any]:
    torch.manual_seed(5)
    loader = loader_type(dataset, batch_size=5, shuffle=True, **arguments)
    return [batch for _ in range(2) for batch in loader]


def labels(batches: List[Any]) -> List[Any]:
    return [batch[1].tolist() for batch in batches]


def test_order_is_torchs(drawn: Any) -> None:
    """What transforms draw in torch's own loader moves the generator that the
    next epoch's order comes from; one of the loader's own is not moved."""
    plain = folder(Path(drawn.root))
    assert labels(epochs(Ours, drawn)) == labels(epochs(Theirs, plain))
    with_workers = epochs(Theirs, drawn, num_workers=1)
    assert labels(epochs(Ours, drawn)) == labels(with_workers)
    found = [
        labels(epochs(loader, drawn, generator=torch.Generator()))
        for loader in (Ours, Theirs)
    ]
    assert found[0] == found[1]


def test_the_global_generator_is_where_workers_leave_it(drawn: Any) -> None:
    """One seed for the loader and one for the sampler at each epoch; nothing
    that transforms draw."""
    states = []
    for loader, workers in ((Ours, 0), (Theirs, 1)):
        epochs(loader, drawn, num_workers=workers)
        states.append(torch.get_rng_state())
    assert torch.equal(*states)


def pulled(loader: Any) -> int:
    """Batches that the sampler was asked for and next() did not return yet."""
    return len(loader._feedline.epochs.progress.traced.pulled)


def several(ahead: int) -> range:
    """What may be pulled where `ahead` batches are prepared."""
    return range(ahead, ahead + AT_ONCE)


def test_a_known_order_is_prepared_ahead(drawn: Any) -> None:
    loader = Ours(drawn, shuffle=True, options={"workers_start": 3})
    batches = iter(loader)
    assert loader.engine is None, "torch draws nothing yet"
    next(batches)
    assert loader.engine is not None
    assert loader.engine.get("workers") == 3, "where the tuner begins"
    assert loader.engine.get("depth") > 1
    assert pulled(loader) in several(loader.engine.get("depth"))
    assert len(list(batches)) == 23


def test_a_depth_that_grows_is_followed(drawn: Any) -> None:
    """A few batches later."""
    loader = Ours(drawn, shuffle=True)
    batches = iter(loader)
    next(batches)
    depth = loader.engine.get("depth") + 2
    loader.engine.set("depth", depth)
    for _ in range(DEPTH_EVERY):
        next(batches)
    assert pulled(loader) in several(depth)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_known_order_is_pulled_in_lots(drawn: Any, workers: int) -> None:
    """Most calls of next() need no sampler."""
    loader = Ours(drawn, batch_size=1, num_workers=workers, shuffle=True)
    batches = iter(loader)
    next(batches)
    seen = []
    for _ in range(AT_ONCE):
        before = pulled(loader)
        next(batches)
        seen.append(pulled(loader) - before)
    assert sorted(seen) == [-1] * (AT_ONCE - 1) + [AT_ONCE - 1]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("size", [1, 5])
def test_a_generator_is_not_moved_before_its_time(
    drawn: Any, size: int, workers: int
) -> None:
    """RandomSampler draws once more at the end of its order. Who leaves the
    epoch before has the generator, and the next order, where torch has them."""
    seen = []
    for loader_type in (Ours, Theirs):
        generator = torch.Generator().manual_seed(8)
        loader = loader_type(
            drawn,
            batch_size=size,
            num_workers=workers,
            shuffle=True,
            generator=generator,
        )
        moments = []
        for number, batch in enumerate(loader):
            moments.append((batch[1].tolist(), generator.get_state().tolist()))
            if number * size >= len(drawn) - 2 * size:
                break
        moments.append(labels(list(loader)))
        seen.append(moments)
    assert seen[0] == seen[1]


class Curriculum:
    """A sampler that goes by what the program has found out meanwhile."""

    def __init__(self) -> None:
        self.wanted = 0

    def __iter__(self) -> Iterator[int]:
        for _ in range(6):
            yield self.wanted

    def __len__(self) -> int:
        return 6


def test_other_samplers_are_asked_when_torch_asks(drawn: Any) -> None:
    found = []
    for loader_type in (Ours, Theirs):
        sampler = Curriculum()
        loader = loader_type(drawn, batch_size=2, sampler=sampler)
        taken = []
        for number, (_, label) in enumerate(loader):
            taken.append(label.tolist())
            sampler.wanted = 9 * (number + 1)
        found.append(taken)
        if loader_type is Ours:
            assert loader.native
            assert loader.engine.get("depth") == 1
    assert found[0] == found[1] == [[0, 0], [1, 1], [2, 2]]


# ---- The switch ------------------------------------------------------------


def test_backend_torch_has_torchs_draws(drawn: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        found = epochs(Ours, drawn, backend="torch")
    state = torch.get_rng_state()
    assert_same(found, epochs(Theirs, drawn))
    assert torch.equal(state, torch.get_rng_state())
    loader = Ours(drawn, backend="torch")
    assert "backend" in loader.fallback_reason


@pytest.mark.usefixtures("known_only")
def test_backend_native_insists(drawn: Any) -> None:
    assert len(epochs(Ours, drawn, backend="native")) == 10
    odd = T.Compose([T.Resize((8, 8)), lambda x: x.copy(), T.PILToTensor()])
    loader = Ours(folder(Path(drawn.root), odd), backend="native")
    with pytest.raises(NotNative, match="transforms.1."):
        iter(loader)


def test_backend_is_one_of_three(drawn: Any) -> None:
    with pytest.raises(ValueError, match="auto, native, torch.*'cuda'"):
        Ours(drawn, backend="cuda")


# ---- torch's warning -------------------------------------------------------

MANY = 4096  # more than any machine has cores


def test_threads_are_no_processes_to_warn_of(drawn: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = Ours(drawn, num_workers=MANY)
        assert loader.native
    with pytest.warns(UserWarning, match="worker processes"):
        Theirs(drawn, num_workers=MANY)
    loader = Ours(drawn, num_workers=MANY, backend="torch")
    assert not loader.native
    with pytest.warns(UserWarning, match="worker processes"):
        loader.check_worker_number_rationality()


def test_completion_shows_public_names() -> None:
    import feedline
    import feedline.torch

    for package in (feedline, feedline.torch):
        names = [name for name in dir(package) if name[:2] != "__"]
        assert names == sorted(package.__all__)
