# SPDX-License-Identifier: Apache-2.0
"""How batches reach the program: shared, pinned, or on a device.

There is no GPU here. A batch that says it is on one stands for those, and what
allocates memory of torch's there, or pins it, is replaced by what allocates
plain memory of torch's; everything else is what runs on hardware.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, List

import pytest

from torch_cases import T, Ours, folder, torch

import feedline
from feedline.torch import _compat, collated, handover
from feedline.torch.arguments import Given

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


def believing(iterator: Any) -> Any:
    """torch sets this to False where there is no GPU."""
    iterator._pin_memory = True
    return iterator


def batches(dataset: Any, **arguments: Any) -> List[Any]:
    """Those of an epoch."""
    loader = Ours(
        dataset, batch_size=4, num_workers=1, backend="native", **arguments
    )
    return list(believing(iter(loader)))


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
    iterator = believing(iter(loader))
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
