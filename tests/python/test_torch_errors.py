# SPDX-License-Identifier: Apache-2.0
"""Samples that cannot be loaded, and batches that do not come."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import Any, Callable, List

import pytest

from torch_cases import Ours, T, Theirs, assert_same, events, folder, same
from torch_cases import torch

import feedline
from images import encoded, picture


PATH = "class_1/image_001.jpg"  # sample 4 + 1 of 8
BAD = 5


@pytest.fixture
def dataset(tmp_path: Path) -> Any:
    return folder(tmp_path / "images", classes=2, per_class=4)


def damage_nothing(path: Path) -> None:
    path.write_bytes(b"")


def damage_text(path: Path) -> None:
    path.write_bytes(b"this is no image at all, whatever its name says" * 20)


def damage_cut(path: Path) -> None:
    whole = encoded((200, 200), seed=3)
    path.write_bytes(whole[: len(whole) // 3])


def damage_gone(path: Path) -> None:
    path.unlink()


def damage_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def damage_head(path: Path) -> None:
    path.write_bytes(encoded()[:20])


DAMAGES: List[Callable[[Path], None]] = [
    damage_nothing,
    damage_text,
    damage_cut,
    damage_gone,
    damage_folder,
    damage_head,
]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("damage", DAMAGES)
def test_at_its_place_with_torchs_type(
    dataset: Any, damage: Callable[[Path], None], workers: int
) -> None:
    """One exception at the batch of the bad sample, of the type (or one that
    is that, too) of which torch's is; then the batches go on."""
    path = Path(dataset.root) / PATH
    damage(path)
    theirs = events(Theirs(dataset, batch_size=2))
    loader = Ours(dataset, batch_size=2, num_workers=workers)
    for _ in range(2):  # and in the next epoch
        ours = events(loader)
        assert loader.native and len(ours) == len(theirs) == 4
        error = ours[2]
        assert isinstance(error, type(theirs[2])), (error, theirs[2])
        assert isinstance(error, feedline.Error)
        assert str(path) in str(error) and error.path == str(path)
        for place in (0, 1, 3):
            assert same(ours[place], theirs[place])


def test_types_are_no_wider_than_torchs(dataset: Any) -> None:
    """A damaged image is not an unknown one."""
    pillow = pytest.importorskip("PIL")
    damage_cut(Path(dataset.root) / PATH)
    error = events(Ours(dataset, batch_size=8, num_workers=1))[0]
    assert isinstance(error, feedline.DecodeError)
    assert isinstance(error, OSError)
    assert not isinstance(error, pillow.UnidentifiedImageError)


def alien_gif(path: Path) -> None:
    picture((30, 20), seed=5).convert("P").save(path, "GIF")


def alien_bitmap(path: Path) -> None:
    picture((30, 20), seed=5).save(path, "BMP")


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("alien", [alien_gif, alien_bitmap])
def test_what_only_pillow_reads(
    dataset: Any, alien: Callable[[Path], None], workers: int
) -> None:
    """Whatever its name says: the data set makes this one sample itself."""
    alien(Path(dataset.root) / PATH)
    for shown in (dataset, torch.utils.data.Subset(dataset, [0, BAD, 1, BAD])):
        for arguments in ({"batch_size": 3}, {"batch_size": None}):
            theirs = list(Theirs(shown, **arguments))
            loader = Ours(shown, num_workers=workers, **arguments)
            assert_same(list(loader), theirs)
            assert loader.native


def test_what_only_pillow_reads_in_another_form(dataset: Any) -> None:
    dataset.transform = T.Compose([T.RandomCrop(8), T.ToTensor()])
    alien_gif(Path(dataset.root) / PATH)
    loader = Ours(dataset, 8, num_workers=1, dtype="f16", layout="nhwc")
    before = torch.get_rng_state()
    torch.manual_seed(3)
    images, labels = next(iter(loader))
    torch.manual_seed(3)
    again, _ = next(iter(loader))
    torch.set_rng_state(before)
    assert images.dtype == torch.float16 and images[BAD].any()
    assert images.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(images, again) and labels[BAD] == 1


def test_two_bad_samples(dataset: Any) -> None:
    """The first one of a batch names it; each batch has its own."""
    root = Path(dataset.root)
    first, second = root / "class_0/image_001.jpg", root / PATH
    for path in (first, second):
        damage_text(path)
    both = events(Ours(dataset, batch_size=8, num_workers=2))
    assert len(both) == 1 and str(first) in str(both[0])
    found = events(Ours(dataset, batch_size=4, num_workers=2))
    assert str(first) in str(found[0]) and str(second) in str(found[1])


def test_samples_without_batches(dataset: Any) -> None:
    damage_gone(Path(dataset.root) / PATH)
    found = events(Ours(dataset, batch_size=None, num_workers=1))
    theirs = events(Theirs(dataset, batch_size=None))
    assert len(found) == len(theirs) == 8
    assert isinstance(found[BAD], FileNotFoundError)
    assert_same(found[:BAD], theirs[:BAD])


def test_zeros_instead(dataset: Any) -> None:
    damage_text(Path(dataset.root) / PATH)
    loader = Ours(dataset, batch_size=8, num_workers=1, on_error="zero")
    images, labels = next(iter(loader))
    assert not images[BAD].any() and images[BAD - 1].any()
    assert labels.tolist() == [0] * 4 + [1] * 4


def test_another_sample_instead(dataset: Any) -> None:
    damage_text(Path(dataset.root) / PATH)
    loader = Ours(dataset, batch_size=8, num_workers=1, on_error="skip")
    images, _ = next(iter(loader))
    others = [n for n in range(8) if n != BAD]
    assert any(torch.equal(images[BAD], images[n]) for n in others)


def test_as_often_as_it_happens(dataset: Any) -> None:
    """More failures than the engine remembers: each one is raised."""
    path = Path(dataset.root) / PATH
    damage_text(path)
    loader = Ours(dataset, batch_size=30, sampler=[BAD] * 1200, num_workers=1)
    found = events(loader)
    assert len(found) == 40
    assert all(isinstance(e, feedline.Error) for e in found)
    assert all(str(path) in str(e) for e in found)


def test_mended_between_epochs(dataset: Any) -> None:
    path = Path(dataset.root) / PATH
    whole = path.read_bytes()
    damage_text(path)
    loader = Ours(dataset, batch_size=2, num_workers=1)
    assert sum(isinstance(e, Exception) for e in events(loader)) == 1
    path.write_bytes(whole)
    assert_same(events(loader), list(Theirs(dataset, batch_size=2)))


# ---- Time ------------------------------------------------------------------


class Waits:
    """A function for images that waits until it may go on."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self, image: Any) -> Any:
        assert self.open.wait(60)
        return image


def in_python(dataset: Any, function: Any) -> None:
    """Puts a function into the transforms, as one that runs natively."""
    transforms = pytest.importorskip("feedline.transforms")
    pytest.importorskip("numpy")
    dataset.transform = T.Compose(
        [T.Resize((8, 8)), transforms.Python(function), T.PILToTensor()]
    )


def test_a_batch_that_does_not_come(dataset: Any) -> None:
    """timeout: torch's exception, and the batch comes later."""
    expected = list(Theirs(dataset, batch_size=4))
    waits = Waits()
    in_python(dataset, waits)
    loader = Ours(dataset, batch_size=4, num_workers=1, timeout=1)
    assert loader.native
    iterator = iter(loader)
    try:
        with pytest.raises(
            RuntimeError, match="^DataLoader timed out after 1 seconds$"
        ) as error:
            next(iterator)
        assert isinstance(error.value.__cause__, feedline.Timeout)
    finally:
        waits.open.set()
    iterator._timeout = 0  # this machine may be busy
    assert_same(list(iterator), expected)


def test_interrupts_lose_no_batch(dataset: Any) -> None:
    """KeyboardInterrupt out of next(), before or behind what the library does,
    and next() again."""
    loader = Ours(dataset, batch_size=2, num_workers=1)
    iterator = iter(loader)
    expected = list(Theirs(dataset, batch_size=2))
    engine = iterator._leases[0].engine
    receive, deliver = engine.next, engine._deliver

    def interrupted(timeout: Any = None) -> Any:
        raise KeyboardInterrupt

    def delivered(handle: int) -> bool:
        deliver(handle)
        raise KeyboardInterrupt

    found = []
    for _ in range(4):
        engine.next, engine._deliver = interrupted, delivered
        with pytest.raises(KeyboardInterrupt):
            next(iterator)
        engine.next, engine._deliver = receive, deliver
        found.append(next(iterator))
    assert_same(found, expected)


# ---- Functions in Python ---------------------------------------------------


def fails_on_dark(image: Any) -> Any:
    raise ArithmeticError("the function's own words")


def test_a_function_that_raises(dataset: Any) -> None:
    """Its exception is the cause, with path and traceback."""
    in_python(dataset, fails_on_dark)
    loader = Ours(dataset, batch_size=4, num_workers=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", feedline.torch.FallbackWarning)
        found = events(loader)
    assert len(found) == 2
    for error in found:
        assert isinstance(error, feedline.UserError)
        assert "class_" in str(error)
        assert isinstance(error.__cause__, ArithmeticError)
        assert error.__cause__.__traceback__ is not None


# ---- A GPU that fails -------------------------------------------------------


@pytest.mark.parametrize("where", ["_receive", "_hand_over"])
def test_an_engine_whose_gpu_failed_is_not_used_again(
    dataset: Any, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = Ours(dataset, batch_size=4, num_workers=2)
    expected = list(loader)
    pool = loader._feedline.epochs.engines
    first = pool.engine
    iterator = iter(loader)

    def fails(*arguments: Any) -> Any:
        raise feedline.DeviceError("the GPU is lost")

    monkeypatch.setattr(type(iterator), where, fails)
    with pytest.raises(feedline.DeviceError):
        next(iterator)
    monkeypatch.undo()
    del iterator
    assert same(list(loader), expected)
    assert pool.engine is not first
