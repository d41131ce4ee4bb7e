# SPDX-License-Identifier: Apache-2.0
"""Dataset.source: an object reads; the stream is that of the same files."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref
from pathlib import Path
from typing import Any, Callable, List, Optional

import pytest

images = pytest.importorskip("images")
streams = pytest.importorskip("streams", reason="no numpy")
numpy = pytest.importorskip("numpy")

from child_process import run_clean  # noqa: E402

import feedline  # noqa: E402
from feedline import Dataset, InvalidArgument, UserError  # noqa: E402


class Store:
    """Files, as if they were far away."""

    def __init__(
        self, paths: List[str], to: Callable[[bytes], Any] = bytes
    ) -> None:
        self.paths, self.to = paths, to
        self.labels = [i % 7 for i in range(len(paths))]

    def __len__(self) -> int:
        return len(self.paths)

    def read(self, i: int) -> Any:
        return self.to(Path(self.paths[i]).read_bytes())


class Items:
    """The same without read or labels."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def __len__(self) -> int:
        return len(self.store)

    def __getitem__(self, i: int) -> Any:
        return self.store.read(i)


@pytest.fixture(scope="module")
def paths(image_folder: Path) -> List[str]:
    return images.paths_of(image_folder)


@pytest.fixture
def store(paths: List[str]) -> Store:
    return Store(paths)


def hash_of(data: Dataset, **options: Any) -> str:
    return str(streams.stream_hash(data, **options))


# ---- What it gives -----------------------------------------------------------


@pytest.mark.parametrize(
    "to", [bytes, bytearray, memoryview, lambda b: numpy.frombuffer(b, "u1")]
)
def test_the_stream_of_the_files(paths: List[str], to: Any) -> None:
    theirs = Dataset.paths(paths, Store(paths).labels)
    ours = Dataset.source(Store(paths, to))
    streams.assert_same(ours, theirs)


def test_items_labels_sizes_and_a_memory(store: Store) -> None:
    sizes = [Path(path).stat().st_size for path in store.paths]
    theirs = Dataset.paths(store.paths, store.labels)
    ours = Dataset.source(
        Items(store), iter(store.labels), sizes=sizes, one_at_a_time=True
    )
    wanted = hash_of(theirs, shuffle=True)
    assert hash_of(ours, shuffle=True) == wanted
    assert hash_of(ours, shuffle=True, reader="memory") == wanted


def test_what_it_says_of_itself(store: Store, tmp_path: Path) -> None:
    ours = Dataset.source(store, name="s3", classes=["ant", "bee"])
    assert repr(ours).endswith("'%d samples of s3': %d samples>" % (24, 24))
    assert ours.path(3) == "s3:3" and ours.label(9) == 2
    assert ours.read(-1) == store.read(23) and ours.classes == ["ant", "bee"]
    listed = tmp_path / "list"
    listed.write_text("s3:0\n")
    rest = Dataset.source(store, name="s3", quarantine=listed)
    assert len(rest) == 23 and rest.read(0) == store.read(1)
    assert rest.label(0) == 1
    assert hash_of(rest) == hash_of(
        Dataset.paths(store.paths[1:], store.labels[1:])
    )


def test_many_names(store: Store) -> None:
    """They are read while the data set is made, and nothing else holds them."""
    classes = ["class of many letters %d" % i for i in range(400)]
    names = ["sample of many letters %d" % i for i in range(len(store))]
    ours = Dataset.source(store, classes=list(classes), names=list(names))
    assert ours.classes == classes
    assert [ours.path(i) for i in range(len(store))] == names


def test_pickled_with_its_object(store: Store) -> None:
    ours = Dataset.source(store, iter(range(24)), name="s3")
    again = pickle.loads(pickle.dumps(ours))
    assert hash_of(again) == hash_of(ours)


def test_a_position_belongs_to_its_fingerprint(store: Store) -> None:
    ours = Dataset.source(store, fingerprint="1")
    with streams.loader_of(ours, shuffle=True) as loader:
        next(iter(loader))
        state = loader.save()
    other = Dataset.source(store, fingerprint="2")
    with streams.loader_of(other, shuffle=True) as loader:
        with pytest.raises(InvalidArgument):
            loader.restore(state)


def test_mistakes(store: Store) -> None:
    for mistake in (
        lambda: Dataset.source([]),
        lambda: Dataset.source({1, 2}),
        lambda: Dataset.source(store, [1, 2]),
        lambda: Dataset.source(store, sizes=[1]),
        lambda: Dataset.source(store, names=["a"]),
    ):
        with pytest.raises(InvalidArgument):
            mistake()
    ours = Dataset.source(store)
    with streams.loader_of(ours, reader="uring") as loader:
        with pytest.raises(InvalidArgument, match="Store is read by"):
            loader.next()


# ---- What it raises ----------------------------------------------------------


class Faulty(Store):
    """`fault` for some samples, or all."""

    fault: Any = None
    at = {5}

    def read(self, i: int) -> Any:
        if i not in self.at:
            return super().read(i)
        if isinstance(self.fault, BaseException):
            raise self.fault
        return self.fault


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "fault, kind, words",
    [
        (KeyError("lost"), UserError, "KeyError: 'lost'"),
        (FileNotFoundError("no 5"), feedline.NotFound, "no 5"),
        (TimeoutError("too slow"), feedline.ReadError, "too slow"),
        (MemoryError(), feedline.OutOfMemory, "MemoryError"),
        (KeyboardInterrupt(), UserError, "KeyboardInterrupt"),
        (SystemExit(3), UserError, "SystemExit: 3"),
        (Mute(), UserError, "Mute"),
        ("text", UserError, "bytes-like"),
        (None, UserError, "bytes-like"),
        (b"", feedline.DecodeError, "empty"),
    ],
)
def test_the_samples_own(
    paths: List[str], fault: Any, kind: Any, words: str
) -> None:
    broken = Faulty(paths)
    broken.fault = fault
    data = Dataset.source(broken, name="s3")
    with streams.loader_of(data, on_error="raise") as loader:
        with pytest.raises(kind, match="s3:5") as raised:
            list(loader)
        assert words in str(raised.value)
        assert str(raised.value).count(words) == 1
        if isinstance(fault, BaseException):
            assert raised.value.__cause__ is fault
            assert raised.value.path == "s3:5"
    with streams.loader_of(data, on_error="skip", epochs=1) as loader:
        assert sum(batch.count for batch in loader) == 24
        (failure,) = loader.failures()
    assert failure.sample_index == 5


def test_for_ever(paths: List[str]) -> None:
    broken = Faulty(paths)
    broken.fault, broken.at = OSError("gone"), set(range(24))
    with streams.loader_of(Dataset.source(broken), on_error="skip") as loader:
        with pytest.raises(feedline.ReadError, match="gone"):
            list(loader)


# ---- Life --------------------------------------------------------------------


class Blocked(Store):
    """Waits until it is told to return."""

    def __init__(self, paths: List[str]) -> None:
        super().__init__(paths)
        self.begun, self.told = threading.Event(), threading.Event()
        self.cancelled: Optional[int] = None

    def read(self, i: int) -> Any:
        self.begun.set()
        self.told.wait()
        raise InterruptedError

    def cancel(self, i: int) -> None:
        self.cancelled = i
        self.told.set()


def test_closing_cancels(paths: List[str]) -> None:
    blocked = Blocked(paths)
    loader = streams.loader_of(Dataset.source(blocked))
    with pytest.raises(feedline.Timeout):
        loader.next(timeout=0)
    blocked.begun.wait()
    loader.close()
    assert blocked.cancelled is not None


def test_the_object_lives_as_long_as_it_is_used(paths: List[str]) -> None:
    store = Store(paths)
    seen = weakref.ref(store)
    loader = streams.loader_of(Dataset.source(store))
    del store
    gc.collect()
    assert len(list(loader)) > 0 and seen() is not None
    loader.close()
    del loader
    gc.collect()
    assert seen() is None


SOURCE = """
class Store:
    def __init__(self):
        self.files = feedline.Dataset.open("folder:" + FOLDER)
        self.begun = threading.Event()
    def __len__(self):
        return N
    def read(self, i):
        self.begun.set()
        %s
        return self.files.read(i)

loader = feedline.Loader(
    feedline.Dataset.source(Store()), pipeline(), batch_size=4)
"""


def test_an_exit_while_it_reads(image_folder: Path) -> None:
    run_clean(SOURCE % "time.sleep(0.05)" + "loader.next()", image_folder)


def test_a_fork(image_folder: Path) -> None:
    code = """
loader.next()
child = os.fork()
if child == 0:
    try:
        loader.next()
    except feedline.Error:
        os._exit(7)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 7 << 8
assert sum(batch.count for batch in loader) > 0
loader.close()
"""
    run_clean(SOURCE % "pass" + code, image_folder)


def test_ctrl_c_while_it_reads(image_folder: Path) -> None:
    code = """
store = loader.dataset.sources[0].made_of[0]
threading.Thread(
    target=lambda: (store.begun.wait(), os.kill(os.getpid(), signal.SIGINT))
).start()
try:
    loader.next()
except KeyboardInterrupt:
    gate.set()
else:
    raise AssertionError
"""
    text = "gate = threading.Event()\n" + SOURCE % "gate.wait()" + code
    run_clean(text, image_folder)
