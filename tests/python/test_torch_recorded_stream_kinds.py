# SPDX-License-Identifier: Apache-2.0
"""Kinds of streams: endless, with a length, that save themselves, that keep
something; those of webdataset and of Hugging Face datasets."""

from __future__ import annotations

import io
import itertools
import json
import random
import tarfile
import warnings
from pathlib import Path
from typing import Any, Dict, List

import pytest

import needs

needs.deferred_tensors()

from programs.compared import difference
from recorded_sets import chain
from test_torch_recorded_streams import Buffered, Stream, epochs_of, seed
from test_torch_recorded_streams import assert_equal, torchs
from torch_cases import Ours, Theirs, data

from PIL import Image

FALLS_BACK = pytest.mark.filterwarnings(
    "ignore::feedline.torch.FallbackWarning", "ignore::feedline.EngineWarning"
)


# ---- How far it goes -------------------------------------------------------


class Endless(Stream):
    def __iter__(self) -> Any:
        for path in itertools.cycle(self.files):
            yield self.sample(path)


def test_an_endless_stream(tmp_path: Path) -> None:
    stream = Endless(tmp_path / "images")
    loader = Ours(stream, 5, num_workers=2, draws="torch")
    seed()
    ours = [list(itertools.islice(loader, 9)) for _ in range(2)]
    loader = Theirs(stream, 5, num_workers=1)
    seed()
    theirs = [list(itertools.islice(loader, 9)) for _ in range(2)]
    assert_equal(ours, theirs)


class Long(Stream):
    """Has more samples than it says."""

    def __len__(self) -> int:
        return 20


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_a_length_that_was_wrong(tmp_path: Path, workers: int) -> None:
    stream = Long(tmp_path / "images")
    loader = Ours(stream, 1, num_workers=workers)
    assert len(loader) == 20
    with pytest.warns(UserWarning, match="Length of IterableDataset"):
        assert len(list(loader)) == 24
    assert loader.recorded


class Empty(Stream):
    def __iter__(self) -> Any:
        return iter(())


@FALLS_BACK
def test_an_empty_stream(tmp_path: Path) -> None:
    assert list(Ours(Empty(tmp_path / "images"), 4, num_workers=1)) == []


@pytest.mark.parametrize("kind", [Stream, Buffered])
def test_persistent_workers_draw_on(tmp_path: Path, kind: Any) -> None:
    arguments: Dict[str, Any] = {
        "dataset": kind(tmp_path / "images"),
        "batch_size": 5,
        "num_workers": 1,
        "persistent_workers": True,
    }
    theirs = epochs_of(Theirs, arguments)
    assert_equal(epochs_of(Ours, {**arguments, "draws": "torch"}), theirs)


def test_persistent_workers_are_resumed(tmp_path: Path) -> None:
    arguments: Dict[str, Any] = {
        "dataset": Buffered(tmp_path / "images"),
        "batch_size": 5,
        "num_workers": 1,
        "persistent_workers": True,
        "draws": "torch",
    }
    loader = Ours(**arguments)
    list(loader)
    batches = iter(loader)
    next(batches), next(batches)
    saved = json.dumps(loader.state_dict())
    rest = [list(batches), list(loader)]
    again = Ours(**arguments)
    again.load_state_dict(json.loads(saved))
    assert_equal([list(again), list(again)], rest)
    finished = json.dumps(loader.state_dict())
    third = list(loader)
    again = Ours(**arguments)
    again.load_state_dict(json.loads(finished))
    assert_equal([list(again)], [third])


class Counting(Stream):
    """Another order in each epoch, which it counts itself."""

    epoch = 0

    def __iter__(self) -> Any:
        self.epoch += 1
        order = random.Random(self.epoch).sample(self.files, len(self.files))
        yield from map(self.sample, order)


@pytest.mark.parametrize("persistent", [False, True])
def test_a_stream_that_counts_its_epochs(
    tmp_path: Path, persistent: bool
) -> None:
    arguments: Dict[str, Any] = {
        "dataset": Counting(tmp_path / "images"),
        "batch_size": 5,
        "num_workers": 1,
        "persistent_workers": persistent,
    }
    theirs = epochs_of(Theirs, arguments)
    assert_equal(epochs_of(Ours, {**arguments, "draws": "torch"}), theirs)
    assert arguments["dataset"].epoch == 0


# ---- In the program's process ----------------------------------------------


class Position(Stream):
    """Is its own iterator, and goes on where it was left."""

    at = 0

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self.at == len(self.files):
            raise StopIteration
        self.at += 1
        return self.sample(self.files[self.at - 1])

    def state_dict(self) -> Dict[str, Any]:
        return {"at": self.at}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self.at = state["at"]


def test_no_further_than_the_program_asks(tmp_path: Path) -> None:
    stream = Position(tmp_path / "images")
    loader = Ours(stream, 4)
    names: List[str] = []
    for epoch in range(3):
        for images, some in itertools.islice(loader, 2):
            names += some
            assert stream.at == len(names) and loader.recorded
    assert names == stream.files


def test_in_the_program_nobody_is_a_worker(tmp_path: Path) -> None:
    stream = Stream(tmp_path / "images")
    seen: List[Any] = []
    plain = stream.sample

    class Asking(Stream):
        def __iter__(self) -> Any:
            seen.append(data.get_worker_info())
            yield from map(plain, self.files)

    list(Ours(Asking(tmp_path / "images"), 4))
    assert seen and set(seen) == {None}
    del seen[:]
    loader = Ours(Asking(tmp_path / "images"), 4, num_workers=3)
    list(loader)
    assert {(info.id, info.num_workers) for info in seen} == {(0, 1)}
    assert data.get_worker_info() is None and loader.recorded


# ---- States of its own -----------------------------------------------------


class Walking(Stream):
    """Its iterator saves itself."""

    def __iter__(self) -> Any:
        return _Walk(self)


class _Walk:
    def __init__(self, stream: Stream) -> None:
        self.stream, self.at, self.skipped = stream, 0, 0

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self.at == len(self.stream.files):
            raise StopIteration
        self.at += 1
        return (
            *self.stream.sample(self.stream.files[self.at - 1]),
            self.skipped,
        )

    def state_dict(self) -> Dict[str, Any]:
        return {"at": self.at}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self.at = self.skipped = state["at"]


@pytest.mark.parametrize("draws", ["engine", "torch"])
@pytest.mark.parametrize("kind", [Position, Walking])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_stream_that_saves_itself(
    tmp_path: Path, kind: Any, draws: str, workers: int
) -> None:
    """It goes on by its own state, and not by reading past what was there."""

    def loader() -> Any:
        stream = kind(tmp_path / "images")
        return Ours(stream, 4, num_workers=workers, draws=draws)

    first = loader()
    batches = iter(first)
    for _ in range(2):
        next(batches)
    saved = json.dumps(first.state_dict())
    rest = list(batches)
    second = loader()
    second.load_state_dict(json.loads(saved))
    found = list(second)
    assert second.recorded and len(found) == 4
    for a, b in zip(found, rest):
        assert difference(a[:2], b[:2]) is None
        if kind is Walking:
            assert a[2].tolist() == [8] * 4


# ---- What is torch's -------------------------------------------------------


class Keeping(Stream):
    """Keeps a generator from epoch to epoch."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.kept = map(self.sample, self.files)

    def __iter__(self) -> Any:
        return self.kept


@FALLS_BACK
def test_a_stream_that_keeps_a_generator_is_torchs(tmp_path: Path) -> None:
    stream = Keeping(tmp_path / "images")
    loader = Ours(stream, 4)
    assert "keeps an iterator (map)" in str(loader.fallback_reason)
    assert len([name for _, names in loader for name in names]) == 24


class Looking(Stream):
    """Finds out whether its images are deferred."""

    def __iter__(self) -> Any:
        for path in self.files:
            image = Image.open(path).convert("RGB")
            yield chain()(image), "Deferred" in type(image).__name__


@FALLS_BACK
def test_a_stream_that_differs_is_torchs(tmp_path: Path) -> None:
    loader = Ours(Looking(tmp_path / "images"), 4, num_workers=1)
    assert not loader.native
    assert "a recorded sample differs: sample 0[1]" in loader.fallback_reason
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [any(flags) for _, flags in loader] == [False] * 6


# ---- webdataset ------------------------------------------------------------


def shards(root: Path, count: int = 2) -> List[str]:
    files = Stream(root / "images").files
    found = []
    for s in range(count):
        path = root / ("part-%d.tar" % s)
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
            for i in range(s, len(files), count):
                add(tar, "%03d.jpg" % i, Path(files[i]).read_bytes())
                add(tar, "%03d.cls" % i, b"%d" % i)
        found.append(str(path))
    return found


def add(tar: Any, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    tar.addfile(info, io.BytesIO(content))


def doubled(label: int) -> int:
    return label * 2


def pipeline(wds: Any, paths: List[str], order: str) -> Any:
    made = wds.WebDataset(paths, shardshuffle=False)
    if order == "before":
        made = made.shuffle(10, initial=5, seed=3)
    made = made.decode("pil")
    if order == "behind":
        made = made.shuffle(10, initial=5, seed=3)
    return made.to_tuple("jpg", "cls").map_tuple(chain(), doubled)


@pytest.mark.parametrize("order", ["none", "before", "behind"])
def test_webdataset_with_steps_of_its_own(tmp_path: Path, order: str) -> None:
    wds = pytest.importorskip("webdataset")
    dataset = pipeline(wds, shards(tmp_path), order)
    arguments = {"dataset": dataset, "batch_size": 5}
    theirs = torchs(arguments)
    for workers in (1, 3):
        more = {"num_workers": workers, "draws": "torch"}
        assert_equal(epochs_of(Ours, {**arguments, **more}), theirs)


def test_webdataset_shuffled_by_the_clock(tmp_path: Path) -> None:
    wds = pytest.importorskip("webdataset")
    dataset = (
        wds.WebDataset(shards(tmp_path), shardshuffle=False)
        .shuffle(10, initial=5)
        .decode("pil")
        .to_tuple("jpg", "cls")
        .map_tuple(chain(), doubled)
    )
    loader = Ours(dataset, 5, num_workers=2)
    labels = [n for _, some in loader for n in some.tolist()]
    assert sorted(labels) == list(range(0, 48, 2)) and loader.recorded


@pytest.mark.parametrize("how", ["cut", "broken"])
def test_webdataset_goes_on_behind_damage(tmp_path: Path, how: str) -> None:
    wds = pytest.importorskip("webdataset")
    from test_torch_recorded_stream_errors import BAD, HOW

    for number in BAD:
        HOW[how](Path(Stream(tmp_path / "images").files[number]))
    dataset = (
        wds.WebDataset(shards(tmp_path), shardshuffle=False)
        .decode("pil", handler=wds.warn_and_continue)
        .to_tuple("jpg", "cls")
        .map_tuple(chain(), doubled)
    )
    arguments = {"dataset": dataset, "batch_size": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torchs(arguments, 2)
        more = {"num_workers": 2, "draws": "torch"}
        ours = epochs_of(Ours, {**arguments, **more}, 2)
    assert sum(len(labels) for _, labels in theirs[0]) == 22
    assert_equal(ours, theirs)


# ---- datasets --------------------------------------------------------------


def transformed(rows: Dict[str, Any]) -> Dict[str, Any]:
    return {"image": chain()(rows["image"]), "label": rows["label"]}


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_stream_of_datasets(tmp_path: Path, shuffled: bool) -> None:
    datasets = pytest.importorskip("datasets")
    rows = {
        "image": Stream(tmp_path / "images").files,
        "label": list(range(24)),
    }
    table = datasets.Dataset.from_dict(rows).cast_column(
        "image", datasets.Image()
    )

    def stream() -> Any:
        made = table.to_iterable_dataset(num_shards=3)
        if shuffled:
            made = made.shuffle(seed=5, buffer_size=6)
        return made.map(transformed)

    arguments = {"dataset": stream(), "batch_size": 5}
    theirs = torchs(arguments)
    for workers in (1, 3):
        more = {"num_workers": workers, "draws": "torch"}
        assert_equal(epochs_of(Ours, {**arguments, **more}), theirs)


def test_a_stream_of_datasets_is_resumed(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = {
        "image": Stream(tmp_path / "images").files,
        "label": list(range(24)),
    }
    table = datasets.Dataset.from_dict(rows).cast_column(
        "image", datasets.Image()
    )
    for workers in (0, 2):

        def loader() -> Any:
            stream = table.to_iterable_dataset(num_shards=3).map(transformed)
            return Ours(stream, 4, num_workers=workers, seed=3)

        first = loader()
        batches = iter(first)
        next(batches), next(batches)
        saved = json.dumps(first.state_dict())
        rest = list(batches)
        second = loader()
        second.load_state_dict(json.loads(saved))
        assert difference(list(second), rest) is None and len(rest) == 4
        assert second.recorded
