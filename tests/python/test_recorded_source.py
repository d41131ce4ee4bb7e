# SPDX-License-Identifier: Apache-2.0
"""Dataset.recorded: a program draws its crops, and the pixels are Pillow's."""

from __future__ import annotations

import ctypes
import gc
import pickle
import threading
import weakref
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

images = pytest.importorskip("images")
numpy = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

import feedline  # noqa: E402
from feedline import Dataset, InvalidArgument, UserError, _c  # noqa: E402
from feedline._library import lib  # noqa: E402

SIDE = 24


class Crops:
    """A crop of each file, mirrored where the index is odd."""

    def __init__(self, paths: List[str]) -> None:
        self.paths = paths
        self.sizes = [Image.open(path).size for path in paths]
        self.out: Dict[Tuple[int, int], Any] = {}  # by ticket and place
        self.calls: List[Tuple[int, int, int, int]] = []

    def box(self, index: int, epoch: int) -> Tuple[int, int, int, int]:
        width, height = self.sizes[index]
        left = (index * 7 + epoch * 3) % (width - SIDE)
        top = (index * 5 + epoch) % (height - SIDE)
        return left, top, left + SIDE, top + SIDE

    def expected(self, index: int, epoch: int) -> Any:
        image = Image.open(self.paths[index]).convert("RGB")
        image = image.crop(self.box(index, epoch))
        if index % 2:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
        return numpy.asarray(image)

    def record(self, call: Any, address: int) -> int:
        index, epoch = call.index, call.epoch
        self.calls.append((epoch, call.ticket, call.place, index))
        steps = (_c.recorded_step * 3)()
        steps[0].op, steps[0].n = _c.STEP_CONVERT, 1
        steps[0].value[0] = 3
        steps[1].op, steps[1].n = _c.STEP_CROP, 4
        steps[1].value[:4] = self.box(index, epoch)
        steps[2].op, steps[2].n = _c.STEP_TRANSPOSE, 1
        out = numpy.zeros((SIDE, SIDE, 3), "u1")
        self.out[call.ticket, call.place] = out
        image = _c.recorded_image(
            n_steps=3 if index % 2 else 2,
            steps=steps,
            path=self.paths[index].encode(),
            length=-1,
            out=out.ctypes.data,
            out_bytes=out.nbytes,
            dtype=_c.U8,
            nhwc=1,
            channels=3,
            height=SIDE,
            width=SIDE,
        )
        return int(lib.quick.read_recorded(address, ctypes.addressof(image), 1))


@pytest.fixture(scope="module")
def paths(image_folder: Path) -> List[str]:
    return images.paths_of(image_folder)


def loader(data: Dataset, **options: Any) -> feedline.Loader:
    given: Dict[str, Any] = dict(batch_size=4, workers=2, shuffle=True, seed=1)
    return feedline.Loader(data, feedline.Pipeline(), **{**given, **options})


@pytest.mark.parametrize("io_depth", [1, 5])
def test_pixels_are_pillows(paths: List[str], io_depth: int) -> None:
    crops = Crops(paths)
    labels = [i % 3 for i in range(len(paths))]
    data = Dataset.recorded(crops.record, len(paths), labels, in_order=True)
    seen = []
    with loader(data, io_depth=io_depth, epochs=2) as l:
        ticket = 0
        for _ in range(2):
            for batch in l:
                assert batch.images.shape[2:] == (0, 0)
                assert batch.labels.tolist() == [
                    labels[i] for i in batch.sample_index
                ]
                for place, index in enumerate(batch.sample_index):
                    out = crops.out.pop((ticket, place))
                    assert (out == crops.expected(index, batch.epoch)).all()
                    seen.append((batch.epoch, ticket, place, index))
                ticket += 1
    assert crops.calls[: len(seen)] == seen


def test_reads_begin_with_as_many_as_help(paths: List[str]) -> None:
    """Calls in order are made in turn: a second thread reads meanwhile."""
    found = []
    for in_order in (True, False):
        record = Crops(paths).record
        data = Dataset.recorded(record, len(paths), in_order=in_order)
        with loader(data, reader="pread", tuner="off", epochs=1) as l:
            next(iter(l)).release()
            found.append(l.get("io_depth"))
    assert found == [2, 4]


def test_what_is_raised_is_the_cause(paths: List[str]) -> None:
    crops = Crops(paths)

    def record(call: Any, address: int) -> int:
        if call.index == 2:
            raise KeyError("no such thing")
        return crops.record(call, address)

    data = Dataset.recorded(record, len(paths), name="crops")
    with loader(data, on_error="zero", shuffle=False) as l:
        batch = next(iter(l))
        assert batch.sample_status == [0, 0, _c.EUSER, 0]
    with loader(data, shuffle=False) as l:
        with pytest.raises(UserError, match="crops:2: KeyError") as raised:
            next(iter(l))
        assert isinstance(raised.value.__cause__, KeyError)


def test_without_images_and_without_an_answer(paths: List[str]) -> None:
    def nothing(call: Any, address: int) -> int:
        return int(lib.quick.read_recorded(address, None, 0))

    with loader(Dataset.recorded(nothing, 8), epochs=1) as l:
        assert sum(len(batch) for batch in l) == 8
    with loader(Dataset.recorded(lambda call, address: 0, 8)) as l:
        with pytest.raises(UserError, match="feedline_read_recorded"):
            next(iter(l))


def test_cancel_ends_a_call() -> None:
    begun, ended = threading.Event(), threading.Event()

    def record(call: Any, address: int) -> int:
        begun.set()
        ended.wait()
        return _c.EIO

    def cancel(call: Any, address: int) -> None:
        assert call.index == 0
        ended.set()

    data = Dataset.recorded(record, 8, in_order=True, cancel=cancel)
    l = loader(data, shuffle=False)
    with pytest.raises(feedline.Timeout):
        l.next(timeout=0)
    begun.wait()
    l.close()
    assert ended.is_set()


def test_it_lives_as_long_as_its_loaders(paths: List[str]) -> None:
    crops = Crops(paths)
    l = loader(Dataset.recorded(crops.record, len(paths)))
    gone = weakref.ref(crops)
    del crops
    gc.collect()
    next(iter(l))
    assert gone() is not None
    l.close()
    del l
    gc.collect()
    assert gone() is None


def unanswered(call: Any, address: int) -> int:
    return int(lib.quick.read_recorded(address, None, 0))


def test_pickled_with_its_function() -> None:
    data = Dataset.recorded(unanswered, 5, [1, 2, 3, 4, 5], in_order=True)
    again = pickle.loads(pickle.dumps(data))
    assert [again.label(i) for i in range(5)] == [1, 2, 3, 4, 5]
    with loader(again, epochs=1) as l:
        assert sum(len(batch) for batch in l) == 5


def test_mistakes_are_named() -> None:
    data = Dataset.recorded(unanswered, 5, name="crops", in_order=True)
    with pytest.raises(InvalidArgument, match="crops bring their own steps"):
        data.read(0)
    with pytest.raises(InvalidArgument, match="on_error=skip"):
        loader(data, on_error="skip")
    with pytest.raises(InvalidArgument, match="4 names for 5 samples"):
        Dataset.recorded(unanswered, 5, names=["a"] * 4)
    with pytest.raises(InvalidArgument, match="samples"):
        Dataset.recorded(unanswered, 0)
