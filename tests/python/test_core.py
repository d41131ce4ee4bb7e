# SPDX-License-Identifier: Apache-2.0
"""feedline's own classes: data sets, pipelines, loaders in both orders."""

from __future__ import annotations

import array
import gc
import os
import pickle
import threading
import weakref
from pathlib import Path
from typing import Any, List, Tuple

import pytest

from child_process import run_bare

import feedline
from feedline import _c, _library

images = pytest.importorskip("images")

SMALL = dict(batch_size=4, workers=2, dtype="u8", layout="nhwc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("core")
    return images.make_folder(root, classes=3, per_class=5, size=(40, 32))


@pytest.fixture
def dataset(folder: Path) -> feedline.Dataset:
    return feedline.Dataset.open("folder:%s" % folder)


def loader(dataset: feedline.Dataset, **options: Any) -> feedline.Loader:
    pipeline = feedline.Pipeline().add("center_crop", width=24, height=20)
    return feedline.Loader(dataset, pipeline, **{**SMALL, **options})


def indices(batches: Any) -> List[List[int]]:
    return [batch.sample_index for batch in batches]


# ---- Data sets --------------------------------------------------------------


def test_a_folder_is_ordered_as_image_folder(
    folder: Path, dataset: feedline.Dataset
) -> None:
    assert len(dataset) == 15
    assert dataset.classes == ["class_0", "class_1", "class_2"]
    assert [dataset.path(i) for i in range(15)] == images.paths_of(folder)
    assert [dataset.label(i) for i in range(15)] == [0] * 5 + [1] * 5 + [2] * 5
    assert dataset.path(-1) == dataset.path(14)
    for wrong in (15, -16):
        with pytest.raises(IndexError, match="of 15 samples"):
            dataset.path(wrong)


def test_paths_and_labels(folder: Path) -> None:
    paths = [Path(p) for p in images.paths_of(folder)][:3]
    some = feedline.Dataset.paths(paths, labels=[7, -1, 2**40])
    assert [some.label(i) for i in range(3)] == [7, -1, 2**40]
    assert [some.path(i) for i in range(3)] == [str(p) for p in paths]
    assert some.classes == []
    assert feedline.Dataset.paths(paths).label(2) == 0
    with pytest.raises(feedline.InvalidArgument, match="2 labels for 3"):
        feedline.Dataset.paths(paths, labels=[1, 2])


def test_a_path_that_is_not_utf8(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.jpg"
    with open(name, "wb") as f:
        f.write(images.encoded((40, 32)))
    some = feedline.Dataset.paths([os.fsdecode(name)])
    assert os.fsencode(some.path(0)) == name
    with loader(some) as batches:
        assert batches.next().sample_status == [0]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_images_in_memory_are_held(kind: Any) -> None:
    def batch_of_a_forgotten_set() -> feedline.Loader:
        data = [kind(images.encoded((40, 32), seed)) for seed in range(4)]
        return loader(feedline.Dataset.memory(data, [3, 1, 2, 0]))

    batches = batch_of_a_forgotten_set()
    gc.collect()
    batch = batches.next()
    assert batch.labels.tolist() == [3, 1, 2, 0]
    assert batch.sample_status == [0] * 4


def test_a_bytearray_cannot_be_resized_under_the_loader() -> None:
    data = bytearray(images.encoded((40, 32)))
    some = feedline.Dataset.memory([data])
    with pytest.raises(BufferError):
        data.extend(b"more")
    some.close()
    data.extend(b"more")


def test_a_closed_set_is_refused_and_its_loader_goes_on(
    dataset: feedline.Dataset,
) -> None:
    batches = loader(dataset)
    dataset.close()
    dataset.close()
    assert "closed" in repr(dataset)
    with pytest.raises(feedline.StateError, match="closed"):
        dataset.path(0)
    with pytest.raises(feedline.StateError, match="closed"):
        loader(dataset)
    assert sum(map(len, batches)) == 15


def test_pixels() -> None:
    numpy = pytest.importorskip("numpy")
    shape = (6, 20, 24, 3)
    pixels = numpy.arange(6 * 20 * 24 * 3, dtype=numpy.uint8).reshape(shape)
    some = feedline.Dataset.pixels(pixels, range(6))
    assert len(some) == 6
    batches = feedline.Loader(some, **SMALL)
    found = numpy.concatenate([b.images.numpy().copy() for b in batches])
    assert (found == pixels).all()
    gray = feedline.Dataset.pixels(pixels[..., 0])  # not dense: copied
    batches = feedline.Loader(gray, channels=1, **SMALL)
    found = numpy.concatenate([b.images.numpy().copy() for b in batches])
    assert (found[..., 0] == pixels[..., 0]).all()


def test_pixels_that_are_none() -> None:
    numpy = pytest.importorskip("numpy")
    for wrong, text in (
        (numpy.zeros((2, 3, 4, 3), numpy.float32), "uint8"),
        (numpy.zeros((2, 3), numpy.uint8), r"\[N, H, W\]"),
        (numpy.zeros((2, 3, 4, 2), numpy.uint8), "channels"),
        ("text", "array of uint8"),
    ):
        with pytest.raises(feedline.InvalidArgument, match=text):
            feedline.Dataset.pixels(wrong)


# ---- Pipelines --------------------------------------------------------------


def test_arguments_of_operations() -> None:
    pipeline = feedline.Pipeline()
    assert (
        pipeline.add(
            "random_resized_crop", width=32, height=16, scale=(0.5, 1.0)
        )
        is pipeline
    )
    pipeline.add("random_erasing", noise=True, p=None)
    text = pipeline.json()
    assert '"scale":[0.5,1]' in text and '"noise":true' in text
    assert repr(pipeline) == (
        "<feedline.Pipeline: random_resized_crop -> random_erasing>"
    )


@pytest.mark.parametrize(
    "op, arguments, kind, text",
    [
        ("resise", {}, feedline.UnknownName, "resize"),
        ("resize", {"sze": 3}, feedline.UnknownName, "size"),
        ("resize", {"size": -1}, feedline.RangeError, "size"),
        ("resize", {"size": "big"}, feedline.InvalidArgument, "size"),
        ("resize", {"size": object()}, TypeError, "object"),
    ],
)
def test_operations_that_are_none(
    op: str, arguments: Any, kind: Any, text: str
) -> None:
    with pytest.raises(kind, match=text):
        feedline.Pipeline().add(op, **arguments)


def test_recipes() -> None:
    assert "normalize" in feedline.Pipeline("train").json()
    with pytest.raises(feedline.Error, match="trian"):
        feedline.Pipeline("trian")
    assert "resize" in feedline.operations()


# ---- Options ----------------------------------------------------------------


def test_views_by_chains(dataset: feedline.Dataset) -> None:
    large = feedline.Pipeline().add("random_resized_crop", size=16)
    small = feedline.Pipeline().add("random_resized_crop", size=8)
    views = feedline.Pipeline().views(large).views(small, 2)
    assert repr(views) == "<feedline.Pipeline: 1 views -> 2 views>"
    assert pickle.loads(pickle.dumps(views)).json() == views.json()
    options = {**SMALL, "batch_size": 6}
    with feedline.Loader(dataset, views, **options) as made:
        batch = next(iter(made))
        assert batch.views == 3 and len(batch) == 6
        assert [batch.view(v).shape for v in range(3)] == [
            (2, 16, 16, 3),
            (2, 8, 8, 3),
            (2, 8, 8, 3),
        ]
        assert batch.images.shape == batch.view(0).shape
        with pytest.raises(feedline.RangeError, match="no view 3 of 3"):
            batch.view(3)
        drawn = [made.draws(0, 1, 40, 32, view=v) for v in range(3)]
        assert drawn[1] != drawn[2]


def test_views_that_cannot_be(dataset: feedline.Dataset) -> None:
    chain = feedline.Pipeline().add("random_resized_crop", size=8)
    own = feedline.Pipeline().python(lambda image: None)
    with pytest.raises(feedline.InvalidArgument, match="program's"):
        feedline.Pipeline().views(own)
    with pytest.raises(feedline.RangeError, match="1 to 64"):
        feedline.Pipeline().views(chain, 65)
    open_gate = feedline.Pipeline().add("center_crop", size=8)
    open_gate.add("random_apply", count=1)
    mixed = feedline.Pipeline().add("center_crop", size=8)
    mixed.add("mix", mixup_alpha=0.2, num_classes=9)
    for bad, words in ((open_gate, "missing"), (mixed, "cannot be mixed")):
        views = feedline.Pipeline().views(bad, 2)
        with pytest.raises(feedline.InvalidArgument, match=words):
            feedline.Loader(dataset, views, batch_size=4)


def test_values_of_options(dataset: feedline.Dataset, tmp_path: Path) -> None:
    batches = loader(
        dataset,
        shuffle=True,
        seed=5,
        stuck_after=1.5,
        memory_budget="64m",
        device_memory_budget="32m",
        stats_log=tmp_path / "log",
        depth=None,
    )
    assert batches.get("stuck_after") == 1_500_000_000
    assert batches.get("memory_budget") == 64 << 20
    assert batches.get("device_memory_budget") == 32 << 20
    assert batches.config["seed"] == 5 and batches.config["shuffle"] is True
    assert batches.config["stats_log"] == str(tmp_path / "log")
    batches.set("workers", 1)
    assert batches.get("workers") == 1
    assert "batch_size=4" in repr(batches)


@pytest.mark.parametrize(
    "options, kind, text",
    [
        ({"batchsize": 3}, feedline.UnknownName, "batch_size"),
        ({"batch_size": 0}, feedline.RangeError, "batch_size"),
        ({"dtype": "u9"}, feedline.InvalidArgument, "u8"),
        ({"dtype": b"u8"}, TypeError, "bytes"),
    ],
)
def test_options_that_are_none(
    dataset: feedline.Dataset, options: Any, kind: Any, text: str
) -> None:
    with pytest.raises(kind, match=text):
        loader(dataset, **options)


@pytest.mark.parametrize("device", ["cuda:64", "cuda:999999"])
def test_a_device_that_is_not_there(
    dataset: feedline.Dataset, device: str
) -> None:
    with pytest.raises(feedline.Error, match="CUDA|" + device):
        loader(dataset, device=device, dtype="f32", layout="nchw")


def test_the_table_of_options() -> None:
    rows = feedline.option_table()
    assert rows["dtype"].choices == ("u8", "f32", "f16", "bf16")
    assert rows["workers"].auto and rows["workers"].live
    assert rows["batch_size"].maximum == 65536
    assert feedline.option_table("resize")["size"].kind == "int"
    with pytest.raises(feedline.UnknownName):
        feedline.option_table("resise")


def test_arguments_that_are_no_sets() -> None:
    with pytest.raises(feedline.InvalidArgument, match="feedline.Dataset"):
        feedline.Loader([1, 2])  # type: ignore[arg-type]
    some = feedline.Dataset.memory([images.encoded()])
    with pytest.raises(feedline.InvalidArgument, match="feedline.Pipeline"):
        feedline.Loader(some, 3)  # type: ignore[arg-type]


# ---- The loader's own order -------------------------------------------------


def test_epochs(dataset: feedline.Dataset) -> None:
    with loader(dataset, shuffle=True, seed=3) as batches:
        assert len(batches) == 4
        first = indices(batches)
        assert sorted(sum(first, [])) == list(range(15))
        assert [len(part) for part in first] == [4, 4, 4, 3]
        second = indices(batches)
        assert second != first
        assert indices(batches.start(0)) == first
        assert indices(batches) == second


def test_an_epoch_that_was_left_is_over(dataset: feedline.Dataset) -> None:
    batches = loader(dataset)
    for batch in batches:
        assert batch.epoch == 0
        break
    assert [(b.epoch, b.sequence) for b in batches] == [
        (1, 0),
        (1, 1),
        (1, 2),
        (1, 3),
    ]


def test_what_a_batch_says(dataset: feedline.Dataset) -> None:
    batches = loader(dataset)
    batch = batches.next()
    assert (batch.count, len(batch), batch.views) == (4, 4, 1)
    assert (batch.epoch, batch.sequence, batch.position) == (0, 0, 0)
    assert batch.sample_index == [0, 1, 2, 3]
    assert batch.sample_status == [0] * 4
    assert batch.labels.tolist() == [0] * 4
    assert batch.image_bytes == 4 * 20 * 24 * 3
    assert batch.wait_ns >= 0
    assert repr(batch) == (
        "<feedline.Batch 0 of epoch 0: images [4, 20, 24, 3] uint8 on cpu>"
    )


def test_position_save_restore(dataset: feedline.Dataset) -> None:
    batches = loader(dataset, shuffle=True, seed=1)
    whole = indices(batches)
    batches.start(0)
    batches.next(), batches.next()
    assert batches.position == (0, 8)
    state = batches.save()
    other = loader(dataset, shuffle=True, seed=1, workers=1)
    other.restore(state)
    assert indices(other) == whole[2:]
    other.seek(0, 12)
    assert indices(other) == whole[3:]
    wrong = loader(dataset, shuffle=True, seed=2)
    with pytest.raises(feedline.InvalidArgument, match="seed"):
        wrong.restore(state)


def test_end_and_timeout(dataset: feedline.Dataset) -> None:
    batches = loader(dataset, epochs=1)
    while batches.next() is not None:
        pass
    assert batches.next() is None
    assert list(batches) == []


def held_up(
    dataset: feedline.Dataset,
) -> Tuple[feedline.Loader, threading.Event]:
    """A loader that has no batch until the event is set."""
    go_on = threading.Event()
    pipeline = feedline.Pipeline().add("center_crop", width=24, height=20)
    pipeline.python(lambda image: go_on.wait(50) and None)
    return feedline.Loader(dataset, pipeline, **SMALL), go_on


def test_timeout(dataset: feedline.Dataset) -> None:
    batches, go_on = held_up(dataset)
    for seconds in (0, 0.001, 0.12):
        with pytest.raises(feedline.Timeout) as caught:
            batches.next(timeout=seconds)
        assert isinstance(caught.value, TimeoutError)
    go_on.set()
    assert batches.next(timeout=50).sequence == 0


def test_ctrl_c_loses_no_batch(dataset: feedline.Dataset) -> None:
    """Not even behind the library's call, where it had one already."""
    batches = loader(dataset)
    call = batches._next

    def interrupted(handle: int, timeout: int, out: Any) -> int:
        assert feedline._lib.loader_next(handle, -1, out) == _c.OK
        raise KeyboardInterrupt

    assert batches.next().sequence == 0
    batches._next = interrupted
    with pytest.raises(KeyboardInterrupt):
        batches.next()
    batches._next = call
    assert batches.position == (0, 4)
    other = loader(dataset)
    other.restore(batches.save())
    assert other.next().sequence == 1
    assert [batches.next().sequence for _ in range(3)] == [1, 2, 3]
    assert batches.next() is None and batches.position == (1, 0)
    batches._next = interrupted
    with pytest.raises(KeyboardInterrupt):
        batches.next()
    batches._next = call
    assert batches.start(5).next().epoch == 5


def test_an_exception_before_the_call_gives_no_batch_again(
    dataset: feedline.Dataset,
) -> None:
    """RecursionError, for one. What the library wrote last is still known."""
    batches = loader(dataset)
    call, first = batches._next, batches.next()

    def refused(*arguments: Any) -> int:
        raise RecursionError

    batches._next = refused
    with pytest.raises(RecursionError):
        batches.next()
    batches._next = call
    assert batches.position == (0, 4)
    assert (first.sequence, batches.next().sequence) == (0, 1)


def test_stop_and_close(dataset: feedline.Dataset) -> None:
    batches = loader(dataset)
    batch = batches.next()
    batches.stop()
    with pytest.raises(feedline.StateError, match="stopped"):
        batches.next()
    batches.start(0)
    assert batches.next().sample_index == [0, 1, 2, 3]
    epoch = iter(batches)
    next(epoch)
    batches.close()
    batches.close()
    assert batches.closed and "closed" in repr(batches)
    for use in (batches.next, batches.stats, batches.save, batches.start):
        with pytest.raises(feedline.StateError, match="closed"):
            use()
    with pytest.raises(feedline.StateError, match="closed"):
        next(epoch)
    assert batch.sample_index == [0, 1, 2, 3]


def test_close_ends_a_wait_of_another_thread(dataset: feedline.Dataset) -> None:
    batches, go_on = held_up(dataset)
    raised: List[BaseException] = []

    def consume() -> None:
        try:
            batches.next()
        except BaseException as error:
            raised.append(error)

    consumer = threading.Thread(target=consume)
    closer = threading.Thread(target=batches.close)
    consumer.start()
    closer.start()
    consumer.join(30)
    assert not consumer.is_alive()
    assert isinstance(raised[0], feedline.StateError)
    go_on.set()  # close() waits for the workers
    closer.join(30)
    assert not closer.is_alive() and batches.closed


def test_statistics(dataset: feedline.Dataset) -> None:
    batches = loader(dataset)
    for batch in batches:
        pass
    found = batches.stats()
    assert found["stats"]["batches"] == 4
    assert found["verdict"]["code"]
    assert "workers" in batches.explain()
    drawn = batches.draws(0, 3, 40, 32)["operations"]
    assert drawn[0] == {
        "op": "center_crop",
        "x": 8,
        "y": 6,
        "width": 24,
        "height": 20,
    }
    info = batches.epoch_info
    assert (info.samples, info.batches, info.shape) == (15, 4, (4, 20, 24, 3))


# ---- The given order --------------------------------------------------------


@pytest.fixture
def given(dataset: feedline.Dataset) -> feedline.Loader:
    return loader(dataset, order="given", held="grow")


def test_the_given_order(given: feedline.Loader) -> None:
    given.begin(epoch=7, seed=1)
    given.append([4, 1, 9])
    given.append((2,))
    given.append(array.array("q", [0, 0, 14, 3]), copies=[0, 1, 0, 0])
    given.end()
    batches = list(given)
    assert indices(batches) == [[4, 1, 9], [2], [0, 0, 14, 3]]
    assert [batch.epoch for batch in batches] == [7] * 3
    assert given.next() is None
    given.begin(epoch=8, position=100)
    given.append([5])
    batch = given.next()
    assert batch.position == 100
    with pytest.raises(TypeError):
        len(given)


def test_the_given_order_takes_arrays(given: feedline.Loader) -> None:
    numpy = pytest.importorskip("numpy")
    given.begin(0)
    given.append(numpy.array([3, 2, 1]), numpy.array([0, 1, 2]))
    given.append([numpy.int64(4)])
    assert given.next().sample_index == [3, 2, 1]
    assert given.next().sample_index == [4]


def test_orders_that_are_none(given: feedline.Loader) -> None:
    with pytest.raises(feedline.StateError):
        given.append([1])
    given.begin(0)
    with pytest.raises(feedline.StateError, match="append"):
        given.next()
    for wrong in ([15], [-1], [1, 2, 3, 4, 5], []):
        with pytest.raises(feedline.RangeError):
            given.append(wrong)
    with pytest.raises(TypeError):
        given.append([1.5])  # type: ignore[list-item]
    with pytest.raises(feedline.InvalidArgument, match="1 copies for 2"):
        given.append([1, 2], copies=[0])
    with pytest.raises(feedline.RangeError, match="seed"):
        given.begin(0, seed=-1)
    given.append([14])
    given.end()
    assert given.next().sample_index == [14]


# ---- Failures ---------------------------------------------------------------


@pytest.fixture
def damaged(tmp_path: Path) -> feedline.Dataset:
    root = images.make_folder(tmp_path, 1, 4, size=(40, 32), damaged=1)
    os.remove(images.paths_of(root)[3])
    (root / "class_0" / "image_003.jpg").symlink_to("nowhere")
    return feedline.Dataset.paths(images.paths_of(root) + [root / "none.jpg"])


def test_a_bad_sample_is_raised_with_its_path(
    damaged: feedline.Dataset,
) -> None:
    batches = loader(damaged, batch_size=1)
    with pytest.raises(feedline.DecodeError) as caught:
        batches.next()
    error = caught.value
    assert isinstance(error, OSError) and isinstance(error, RuntimeError)
    assert error.path == damaged.path(0) and error.path in str(error)
    assert (error.status, error.name) == (_c.EDECODE, "EDECODE")
    with pytest.raises(feedline.StateError):
        batches.next()
    batches.start(0)
    with pytest.raises(feedline.DecodeError):
        batches.next()


def test_failures_are_listed(damaged: feedline.Dataset) -> None:
    batches = loader(damaged, batch_size=5, on_error="zero")
    status = batches.next().sample_status
    assert status[1:3] == [0, 0]
    assert (status[0], status[-1]) == (_c.EDECODE, _c.ENOENT)
    found = {failure.sample_index: failure for failure in batches.failures()}
    assert found[0].name == "EDECODE" and found[0].cause is None
    missing = batches.error_of(0, len(damaged) - 1)
    assert isinstance(missing, FileNotFoundError)
    assert missing.path == damaged.path(-1) and missing.path in str(missing)
    assert batches.error_of(0, 1) is None


@pytest.mark.parametrize(
    "uri, kind",
    [
        ("folder:/there/is/none", FileNotFoundError),
        ("folder:%s" % __file__, feedline.Error),
        ("what:ever", feedline.Error),
        ("", feedline.Error),
    ],
)
def test_sets_that_are_none(uri: str, kind: Any) -> None:
    with pytest.raises(kind) as caught:
        feedline.Dataset.open(uri)
    assert caught.value.status < 0


def test_errors_can_be_pickled() -> None:
    error = feedline.DecodeError("a.jpg: broken", path="a.jpg")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.path, copy.name) == (
        "a.jpg: broken",
        "a.jpg",
        "EDECODE",
    )


@pytest.mark.parametrize(
    "kind, base",
    [
        (feedline.InvalidArgument, ValueError),
        (feedline.OutOfMemory, MemoryError),
        (feedline.ReadError, OSError),
        (feedline.NotFound, FileNotFoundError),
        (feedline.UnknownName, LookupError),
        (feedline.DecodeError, OSError),
        (feedline.RangeError, ValueError),
        (feedline.ReleasedError, feedline.StateError),
        (feedline.Timeout, TimeoutError),
    ],
)
def test_errors_are_those_of_python_too(kind: Any, base: Any) -> None:
    with pytest.raises(base):
        raise kind("text")
    assert str(kind("text")) == "text"
    assert issubclass(kind, feedline.Error)


# ---- Life -------------------------------------------------------------------


def test_nothing_keeps_a_loader(dataset: feedline.Dataset) -> None:
    batches = loader(dataset)
    batch = batches.next()
    gone = weakref.ref(batches)
    gc.disable()
    try:
        del batches
        assert gone() is None  # by its count, not by the collector
        kept = weakref.ref(batch)
        tensor = batch.images
        del batch
        assert kept() is not None
        del tensor
        assert kept() is None
    finally:
        gc.enable()


def test_importing_needs_nothing_and_starts_nothing() -> None:
    code = """
        import sys, feedline, os
        others = {'numpy', 'torch', 'PIL', 'cv2'} & set(sys.modules)
        print(sorted(others), len(os.listdir('/proc/self/task')))
    """
    assert run_bare(code, PYTHONWARNINGS="error") == (0, "[] 1\n", "")


@pytest.mark.parametrize(
    "path, text", [("/no/such.so", "no/such.so"), ("libm.so.6", "no feedline")]
)
def test_a_library_that_is_none(path: str, text: str) -> None:
    found = run_bare("import feedline", FEEDLINE_LIBRARY=path)
    assert found.status == 1
    assert "ImportError" in found.err and text in found.err


def test_an_older_library_says_what_it_lacks() -> None:
    functions = object.__new__(_library.Functions)
    functions.missing = []

    class Old(dict):  # type: ignore[type-arg]
        _name = "old.so"

        def __missing__(self, name: str) -> Any:
            raise AttributeError(name)

    refuse = functions._find(Old(), "loader_begin", None, ())  # type: ignore
    assert functions.missing == ["loader_begin"]
    with pytest.raises(feedline.NotSupported, match="old.so has no feedline_"):
        refuse(1, 2)


def test_machine_and_doctor() -> None:
    assert feedline.machine()["cpus_usable"] >= 1
    found = feedline.doctor()
    levels = {finding["level"] for finding in found["findings"]}
    assert levels <= {"ok", "note", "warning", "error"}
    assert isinstance(feedline.devices(), list)
    assert set(feedline.features()) <= {
        "uring",
        "cuda",
        "webp",
        "packed",
    }
    assert feedline.__version__.count(".") == 2
