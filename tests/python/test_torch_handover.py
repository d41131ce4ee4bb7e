# SPDX-License-Identifier: Apache-2.0
"""How batches reach the program: shared, pinned, or on a device.

There is no GPU here. A batch that says it is on one stands for those, and what
allocates memory of torch's there, or pins it, is replaced by what allocates
plain memory of torch's; everything else is what runs on hardware.
"""

from __future__ import annotations

import gc
import time
import weakref
from pathlib import Path
from typing import Any, Dict, List

import pytest

from torch_cases import T, Ours, Theirs, assert_same, folder, torch

import feedline
from feedline.torch import _compat, collated, epochs, handover
from feedline.torch.arguments import Given
from feedline.torch.iteration import NativeIterator

GPU = "cuda:3"


@pytest.fixture
def images(tmp_path: Path) -> Any:
    """24 of 8 x 8, as floats."""
    return folder(
        tmp_path / "images", T.Compose([T.Resize((8, 8)), T.ToTensor()])
    )


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> List[str]:
    """Batches say that they are on a GPU; where tensors were made for them."""
    made: List[str] = []

    def empty(*of: Any) -> torch.Tensor:
        shape, strides, dtype, device = of
        made.append(device)
        return torch.empty_strided(shape, strides, dtype=dtype)

    monkeypatch.setattr(feedline.Batch, "device", GPU)
    monkeypatch.setattr(handover, "device_empty", empty)
    monkeypatch.setattr(handover, "current_stream", lambda device: 0)
    return made


@pytest.fixture
def pins(monkeypatch: pytest.MonkeyPatch) -> List[Any]:
    """What was pinned, where torch believes that there is a GPU."""
    pinned: List[Any] = []

    def pin(what: Any, device: Any = None) -> Any:
        pinned.append(what)
        return what

    def empty(shape: Any, strides: Any, dtype: Any) -> torch.Tensor:
        return torch.empty_strided(shape, strides, dtype=dtype)

    monkeypatch.setattr(_compat, "pin_memory", pin)
    monkeypatch.setattr(handover, "pinned_empty", empty)
    return pinned


class Believing(NativeIterator):
    """Pins; torch pins nothing where there is no GPU."""

    @property
    def _pin_memory(self) -> bool:
        return True

    @_pin_memory.setter
    def _pin_memory(self, pins: bool) -> None:
        pass


def pinning(loader: Any) -> Any:
    """An iterator of a loader with pin_memory=True, where there is a GPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(epochs, "NativeIterator", Believing)
        return iter(loader)


def batches(dataset: Any, **arguments: Any) -> List[Any]:
    """Those of an epoch."""
    loader = Ours(
        dataset, batch_size=4, num_workers=1, backend="native", **arguments
    )
    pins = "pin_memory" in arguments
    return list(pinning(loader) if pins else loader)


# ---- Batches that are on a GPU ---------------------------------------------


def test_the_batch_says_where_it_is(images: Any, gpu: List[str]) -> None:
    """FEEDLINE_DEVICE chooses a GPU as well as device= does: nothing may be
    shared whose copy nobody waited for."""
    found = batches(images)
    assert gpu == [GPU] * 2 * len(found)


@pytest.mark.parametrize("made", [None, collated(lambda x, y: [x, y])])
def test_nothing_on_a_gpu_is_pinned(
    images: Any, gpu: List[str], pins: List[Any], made: Any
) -> None:
    found = batches(images, pin_memory=True, collate_fn=made)
    assert gpu == [GPU] * 2 * len(found) and pins == []


def test_on_the_host_a_function_s_result_is_pinned(
    images: Any, pins: List[Any]
) -> None:
    made = collated(lambda x, y: [x, y])
    found = batches(images, pin_memory=True, collate_fn=made)
    assert len(pins) == len(found)


# ---- Batches that the data set makes ---------------------------------------


class Index:
    """Of a sample, and no number to the engine."""

    def __init__(self, number: int) -> None:
        self.number = number


def fetched(dataset: Any, **arguments: Any) -> Any:
    """A batch that the data set makes, behind one of the engine's."""
    loader = Ours(
        dataset,
        batch_sampler=[[0, 1], [Index(2), Index(3)]],
        num_workers=1,
        backend="native",
        **arguments,
    )
    iterator = pinning(loader)
    fetch = iterator._fetcher.fetch
    iterator._fetcher.fetch = lambda batch: fetch([i.number for i in batch])
    next(iterator)
    return next(iterator)


def test_what_the_data_set_makes_has_dtype_and_layout(
    images: Any, pins: List[Any]
) -> None:
    found, labels = fetched(images, dtype="f16", layout="nhwc")
    assert found.dtype == torch.float16
    assert found.is_contiguous(memory_format=torch.channels_last)
    assert labels.dtype == torch.int64
    assert len(pins) == 1 and pins[0][0] is found


def test_what_the_data_set_makes_goes_where_batches_are(
    images: Any,
    gpu: List[str],
    pins: List[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moved = []

    def finish(self: Any, data: Any) -> Any:
        moved.append(self.device)
        return data

    monkeypatch.setattr(handover.Finish, "__call__", finish)
    fetched(images)
    assert moved == [GPU] and pins == []


class Recorder:
    """A batch of images that notes what is done to it, in order."""

    dtype = torch.float32

    def __init__(self) -> None:
        self.done: List[Any] = []

    def dim(self) -> int:
        return 4

    def to(self, where: Any, non_blocking: bool = False) -> "Recorder":
        self.done.append(where)
        return self

    def contiguous(self, memory_format: Any) -> "Recorder":
        self.done.append(memory_format)
        return self


def test_a_batch_moves_first() -> None:
    """On the host, another dtype or layout would be memory that is not pinned,
    and work for the program's thread."""
    finish = handover.Finish(Given(device="cuda:0", dtype="f16", layout="nhwc"))
    batch: Any = Recorder()
    finish.tensor(batch)
    assert batch.done == ["cuda:0", torch.float16, torch.channels_last]


# ---- Tensors that are made ahead -------------------------------------------


def all_complete(loader: Any, batches: int = 6) -> None:
    """Waits until all that are prepared are."""
    for ahead in range(batches):
        while loader.engine._peek(ahead) is None:
            time.sleep(0.001)


def steady(images: Any, **arguments: Any) -> Any:
    """A loader that prepares 6 batches, and its iterator."""
    loader = Ours(
        images,
        batch_size=1,
        num_workers=1,
        prefetch_factor=6,
        backend="native",
        **arguments,
    )
    batches = iter(loader)
    all_complete(loader)
    return loader, batches


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_tensors_of_complete_batches_are_made_together(
    images: Any, layout: str
) -> None:
    loader, batches = steady(images, layout=layout)
    found = [next(batches)]
    made = [tensors for _, _, tensors in batches._made]
    assert len(made) >= 5  # the engine has begun another one by now
    assert loader.engine.position == (0, 1)
    for images_made, _ in made:
        found.append(next(batches))
        assert found[-1][0] is images_made
    assert not batches._made
    found += batches
    assert_same(found, list(Theirs(images)))
    assert not batches._made


def test_what_torch_loads_keeps_its_place(images: Any) -> None:
    """An index that is none, between batches whose tensors could be made."""
    order = [[0], [1], [10**6], [2], [3]]
    loader = Ours(
        images,
        batch_sampler=order,
        num_workers=1,
        prefetch_factor=6,
        backend="native",
    )
    batches = iter(loader)
    all_complete(loader, len(order) - 1)
    found = [next(batches), next(batches)]
    with pytest.raises(IndexError):
        next(batches)
    found += batches
    del order[2]
    assert_same(found, list(Theirs(images, batch_sampler=order)))


def test_an_epoch_that_is_left_lets_go_of_them(images: Any) -> None:
    """The engine has its memory back, and the next epoch is whole."""
    loader, batches = steady(images)
    kept = next(batches)
    before = kept[0].clone()
    made = [weakref.ref(data[0]) for _, _, data in batches._made]
    assert made
    del batches
    gc.collect()
    assert not any(tensor() is not None for tensor in made)
    assert_same(list(loader), list(Theirs(images)))
    assert torch.equal(kept[0], before)


def test_a_bad_sample_is_looked_for_in_each(images: Any) -> None:
    """All batches are complete before the first is asked for."""
    theirs = list(Theirs(images))
    Path(images.samples[2][0]).write_bytes(b"no image")
    loader, batches = steady(images)
    assert_same([next(batches), next(batches)], theirs[:2])
    with pytest.raises(feedline.DecodeError):
        next(batches)
    assert len(list(batches)) == 21


def test_none_is_made_in_inference_mode(images: Any) -> None:
    """Autograd refuses such tensors, and the next batch may be for training."""
    _, batches = steady(images)
    with torch.inference_mode():
        next(batches)
    assert not batches._made
    assert not next(batches)[0].is_inference()


# ---- Pinned memory ---------------------------------------------------------


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch) -> List[torch.Tensor]:
    """What was allocated as pinned memory, images and labels."""
    made: List[torch.Tensor] = []

    def empty(shape: Any, strides: Any, dtype: Any) -> torch.Tensor:
        made.append(torch.empty_strided(shape, strides, dtype=dtype))
        return made[-1]

    monkeypatch.setattr(handover, "pinned_empty", empty)
    return made


def are_in(found: List[Any], made: List[torch.Tensor]) -> int:
    """Batches whose images are in memory that was allocated for them."""
    begins = {tensor.data_ptr() for tensor in made}
    return sum(images.data_ptr() in begins for images, _ in found)


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("size", [1, 5])
def test_batches_are_made_in_pinned_memory(
    images: Any,
    lent: List[torch.Tensor],
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    layout: str,
    workers: int,
) -> None:
    """Of torch's own, the short last one too; nothing but labels is copied."""
    copies: List[int] = []
    copy_to = feedline.Batch.copy_to

    def count(batch: Any, images: int = 0, labels: int = 0, *more: Any) -> None:
        copies.append(images)
        copy_to(batch, images, labels, *more)

    monkeypatch.setattr(feedline.Batch, "copy_to", count)
    arguments: Dict[str, Any] = {"batch_size": size, "num_workers": workers}
    loader = Ours(images, backend="native", layout=layout, **arguments)
    for _ in range(2):  # the second one on an engine that waited
        found = list(pinning(loader))
        assert_same(found, list(Theirs(images, batch_size=size)))
        assert are_in(found, lent) == len(found)
    assert set(copies) == {0}


def test_a_depth_that_grows_has_pinned_memory_soon(
    images: Any, lent: List[torch.Tensor]
) -> None:
    """A batch that is begun without is copied, and two are lent for it."""
    loader = Ours(images, batch_size=1, num_workers=1, backend="native")
    batches = pinning(loader)
    first = next(batches)
    loader.engine.set("depth", loader.engine.get("depth") + 4)
    rest = list(batches)
    found = [first, *rest]
    assert_same(found, list(Theirs(images)))
    assert are_in(found, lent) == len(found), "copied ones are in it as well"


def test_memory_is_let_go_at_the_end(
    images: Any, lent: List[torch.Tensor]
) -> None:
    """By the engine; what the program has stays whole."""
    loader = Ours(images, batch_size=4, num_workers=2, backend="native")
    batches = pinning(loader)
    kept = next(batches)
    before = kept[0].clone()
    engine = loader.engine
    assert engine._lent
    del batches
    gc.collect()
    assert not engine._lent
    del loader, engine
    gc.collect()
    assert torch.equal(kept[0], before)


def test_a_larger_batch_has_memory_of_its_own(
    images: Any, lent: List[torch.Tensor]
) -> None:
    """It has an engine of its own, behind what the former one still has."""
    order = [[0, 1], [2, 3], [4], list(range(5, 15)), [15, 16, 17]]
    loader = Ours(images, batch_sampler=order, num_workers=2, backend="native")
    found = list(pinning(loader))
    assert_same(found, list(Theirs(images, batch_sampler=order)))
    assert are_in(found, lent) == len(found)


def test_a_batch_on_a_gpu_takes_none(
    images: Any, lent: List[torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine refuses what is lent to it then; the batch is as ever."""

    def refuse(self: Any, *unused: Any) -> None:
        raise feedline.NotSupported("on a device")

    monkeypatch.setattr(feedline.Loader, "_lend", refuse)
    loader = Ours(images, batch_size=4, num_workers=2, backend="native")
    found = list(pinning(loader))
    assert_same(found, list(Theirs(images, batch_size=4)))
    assert len(lent) == 1 + 2 * len(found)


# ---- Into tensors of the program's ------------------------------------------


def static(count: int, **more: Any) -> Any:
    images = torch.zeros(count, 3, 8, 8, **more)
    return images, torch.zeros(count, dtype=torch.int64)


def epoch_into(loader: Any, images: Any, labels: Any) -> List[Any]:
    """Its batches, which lie in the same memory one after the other."""
    found = []
    for batch in loader.into(images, labels):
        assert batch[0].data_ptr() == images.data_ptr()
        assert batch[1].data_ptr() == labels.data_ptr()
        found.append([tensor.clone() for tensor in batch])
    return found


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_each_batch_is_written_into_the_same_tensors(
    images: Any, monkeypatch: pytest.MonkeyPatch, layout: str, workers: int
) -> None:
    """By the engine; the last one is short."""
    form = torch.channels_last if layout == "nhwc" else torch.contiguous_format
    mine, labels = static(5)
    mine = mine.contiguous(memory_format=form)
    to: List[Any] = []
    copy_to = feedline.Batch.copy_to

    def count(batch: Any, *where: int) -> None:
        to.append(where)
        copy_to(batch, *where)

    monkeypatch.setattr(feedline.Batch, "copy_to", count)
    loader = Ours(
        images, 5, num_workers=workers, backend="native", layout=layout
    )
    theirs = list(Theirs(images, 5))
    for _ in range(2):
        assert_same(epoch_into(loader, mine, labels), theirs)
    assert to == [(mine.data_ptr(), labels.data_ptr(), 0)] * 2 * len(theirs)
    assert_same(list(loader), theirs)
    assert len(to) == 2 * len(theirs)


@pytest.mark.parametrize(
    "arguments",
    [
        {"layout": "nhwc"},
        {"dtype": "f16"},
        {"collate_fn": collated(lambda x, y: (x, y))},
        {"backend": "torch"},
        {"pin_memory": True},
    ],
)
def test_torch_writes_what_the_engine_cannot(
    images: Any, pins: List[Any], arguments: Dict[str, Any]
) -> None:
    """Of another type or order, or made by somebody else."""
    mine, labels = static(6)
    loader = Ours(images, 4, num_workers=1, **arguments)
    found = epoch_into(loader, mine, labels)
    assert len(found) == 6
    for ours, theirs in zip(found, Theirs(images, 4)):
        assert torch.allclose(ours[0], theirs[0], atol=1e-3)
        assert torch.equal(ours[1], theirs[1])


def test_labels_of_another_type(tmp_path: Path) -> None:
    """Made by a target_transform, and by copy_ whatever the tensor has."""
    data = folder(
        tmp_path / "images", T.Compose([T.Resize((8, 8)), T.ToTensor()])
    )
    data.target_transform = lambda label: label + 0.5
    mine, _ = static(4)
    labels = torch.zeros(4, dtype=torch.float64)
    loader = Ours(data, 4, num_workers=1, backend="native")
    assert_same(epoch_into(loader, mine, labels), list(Theirs(data, 4)))


def test_a_batch_that_does_not_fit(images: Any) -> None:
    loader = Ours(images, 4, num_workers=1, backend="native")
    for mine in (static(3), (torch.zeros(4, 1, 8, 8), static(4)[1])):
        with pytest.raises(ValueError, match="does not fit"):
            next(loader.into(*mine))
    for collate in (lambda x, y: {"images": x}, lambda x, y: (x, "label")):
        other = Ours(images, 4, collate_fn=collated(collate))
        with pytest.raises(TypeError, match="images and labels"):
            next(other.into(*static(4)))


def test_an_image_that_is_mended_is_there(images: Any) -> None:
    """The engine leaves its place to the data set, which reads what it
    cannot."""
    path = images.samples[2][0]
    image = pytest.importorskip("PIL.Image")
    image.open(path).save(path, "BMP")
    loader = Ours(images, 4, num_workers=1, backend="native")
    found = epoch_into(loader, *static(4))
    assert_same(found, list(Theirs(images, 4)))
