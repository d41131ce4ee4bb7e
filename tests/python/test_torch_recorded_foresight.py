# SPDX-License-Identifier: Apache-2.0
"""Headers that other threads read before a sample asks for them."""

from __future__ import annotations

import gc
import os
import random
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, List

import pytest

from recorded_sets import Files, chain, equal, images_in
from torch_cases import Ours, Theirs, data, torch

from feedline.deferred import image_source
from feedline.torch.recorded_foresight import THREADS, Foresight
from feedline.torch.recorded_run import Run
from PIL import Image


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any storage counts as slow, and no header is known."""
    monkeypatch.setattr(image_source, "SLOW_S", -1.0)
    monkeypatch.setattr(image_source, "_headers", {})


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> List[Any]:
    """What was foreseen by each run, the proof's among them."""
    made: List[Any] = []

    class Seen(Foresight):
        def __init__(self) -> None:
            super().__init__()
            self.looked = 0  # headers that were read ahead
            made.append(self)

        def _threads(self) -> Any:
            """At once, lest the samples be faster."""
            return SimpleNamespace(submit=self.submit)

        def submit(self, look: Any, *args: Any) -> None:
            self.looked += look(*args)

    monkeypatch.setitem(Run.__init__.__globals__, "Foresight", Seen)
    return made


class Named(Files):
    """Names without a folder and a suffix, and a label beside them."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.rows = [
            (n, os.path.splitext(f)[0]) for n, f in enumerate(self.files)
        ]
        self.folder = ""

    def __getitem__(self, index: int) -> Any:
        label, name = self.rows[index]
        image = Image.open(os.path.join(self.folder, name + ".jpg"))
        return self.transform(image.convert("RGB")), label


class Table(Files):
    """A table of pandas', in an object of the data set's."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        pandas = pytest.importorskip("pandas", reason="no pandas")
        names = [os.path.relpath(file, root) for file in self.files]
        self.root, self.table = root, pandas.DataFrame({"name": names})

    def __getitem__(self, index: int) -> Any:
        path = os.path.join(self.root, self.table.name[index])
        return self.transform(Image.open(path).convert("RGB")), index


class Pairs(Files):
    """Two images of a sample, one of another list."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.others = self.files[::-1]

    def __getitem__(self, index: int) -> Any:
        one, two = self.files[index], self.others[index]
        return [chain()(Image.open(f).convert("RGB")) for f in (one, two)]


def batches(loader: Any) -> List[Any]:
    torch.manual_seed(1)
    return list(loader)


@pytest.mark.parametrize("kind", [Files, Named, Table, Pairs])
def test_headers_are_read_ahead(
    tmp_path: Path, kind: Any, runs: List[Any]
) -> None:
    dataset = kind(tmp_path / "images")
    theirs = batches(Theirs(dataset, 3, num_workers=1))
    loader = Ours(dataset, 3, num_workers=1, draws="torch")
    ours = batches(loader)
    assert loader.recorded, loader.fallback_reason
    assert equal(ours, theirs)
    assert runs[-1].knows
    # The proof has read three, and four samples have told where names are.
    assert sum(run.looked for run in runs) >= 10


def test_of_a_subset(tmp_path: Path, runs: List[Any]) -> None:
    some = list(range(23, 0, -1))
    dataset = data.Subset(
        data.Subset(Files(tmp_path / "images"), some), some[2:]
    )
    theirs = batches(Theirs(dataset, 3, num_workers=1))
    ours = batches(Ours(dataset, 3, num_workers=1, draws="torch"))
    assert equal(ours, theirs)
    assert runs[-1].knows and runs[-1].looked > 0


class Anywhere(Files):
    """Another file than the one at the index."""

    def __getitem__(self, index: int) -> Any:
        path = random.choice(self.files)
        return self.transform(Image.open(path).convert("RGB")), index


class Changing(Files):
    """The list says so for a while."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.asked = 0

    def __getitem__(self, index: int) -> Any:
        self.asked += 1
        place = index if self.asked < 8 else (index + 5) % len(self.files)
        image = Image.open(self.files[place]).convert("RGB")
        return self.transform(image), index


@pytest.mark.parametrize("kind", [Anywhere, Changing])
def test_guesses_that_are_wrong_end(
    tmp_path: Path, kind: Any, runs: List[Any]
) -> None:
    dataset = kind(tmp_path / "images")
    theirs = batches(Theirs(dataset, 1, num_workers=1))
    ours = batches(Ours(dataset, 1, num_workers=1, draws="torch"))
    assert equal(ours, theirs)
    assert not runs[-1].knows or not runs[-1].wants


def test_files_that_are_none(tmp_path: Path, runs: List[Any]) -> None:
    """They are the program's to find: a thread says nothing of them."""
    dataset = Files(tmp_path / "images")
    loader = Ours(dataset, 3, num_workers=1)
    assert loader.recorded, loader.fallback_reason
    Path(dataset.files[20]).write_bytes(b"no image")
    os.remove(dataset.files[22])
    errors = 0
    found = iter(loader)
    for _ in range(8):
        try:
            next(found)
        except OSError:
            errors += 1
    assert errors == 2


def test_a_header_that_is_old(tmp_path: Path) -> None:
    """A file is another one when the program opens it."""
    files = images_in(tmp_path / "images")
    with Image.open(files[0]) as opened:
        kind = type(opened)
    assert image_source.look_ahead(files[0], kind)
    assert not image_source.look_ahead(files[0], None)
    Image.new("RGB", (11, 7)).save(files[0])
    source, _, why = image_source.find(files[0])
    assert source is not None and source.header.size == (11, 7), why


def test_nothing_is_said_of_large_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: Any
) -> None:
    files = images_in(tmp_path / "images")
    with Image.open(files[0]) as opened:
        kind = type(opened)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    assert image_source.look_ahead(files[0], kind)
    assert [str(one.message) for one in recwarn.list] == []
    assert not image_source.is_known(files[0])


def test_few_samples_tell_nothing(tmp_path: Path) -> None:
    foresight = Foresight()
    dataset = Files(tmp_path / "images")
    sources = [image_source.find(f)[0] for f in dataset.files[:4]]
    for n in range(3):
        assert not foresight.seen(dataset, n, [sources[n]])  # type: ignore
    assert foresight.seen(dataset, 3, [sources[3]])  # type: ignore
    foresight.ahead(dataset, list(range(10)))
    assert not foresight.seen(dataset, 2, [sources[2]])  # type: ignore


def test_nothing_is_read_for_a_run_that_is_gone(tmp_path: Path) -> None:
    foresight = Foresight()
    pool = foresight._threads()
    begin = threading.Event()
    first = [pool.submit(begin.wait) for _ in range(THREADS)]
    waiting = pool.submit(image_source.look_ahead, str(tmp_path), None)
    del foresight
    gc.collect()
    begin.set()
    assert all(one.result() for one in first)
    assert waiting.cancelled()
