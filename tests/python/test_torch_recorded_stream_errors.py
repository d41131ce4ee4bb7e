# SPDX-License-Identifier: Apache-2.0
"""Streams that fail, or whose images turn out to be damaged: what the program
sees, and what follows, is what torch's worker would give."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Dict, List

import pytest

import needs

needs.deferred_tensors()

import feedline  # noqa: E402
from feedline.torch import recorded_stream_iteration
from programs.compared import difference
from recorded_sets import F
from test_torch_recorded_streams import Buffered, Stream, seed
from torch_cases import Ours, Theirs, data, torch

from PIL import Image

BAD = (7, 13)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def broken(path: Path) -> None:
    """Its end is there; a table in it is none, so no decoder goes on."""
    whole = bytearray(path.read_bytes())
    at = whole.index(b"\xff\xc4")
    whole[at + 4 : at + 21] = b"\xff" * 17
    path.write_bytes(whole)


def text(path: Path) -> None:
    path.write_bytes(b"no image" * 99)


def missing(path: Path) -> None:
    path.unlink()


HOW = {"cut": cut, "broken": broken, "text": text, "missing": missing}


def damage(stream: Stream, how: str) -> None:
    for number in BAD:
        HOW[how](Path(stream.files[number]))


class Leaving(Stream):
    """Leaves out what cannot be opened."""

    def __iter__(self) -> Any:
        for path in self.files:
            try:
                yield self.sample(path)
            except OSError:
                continue


class Drawing(Stream):
    """Draws where it leaves something out."""

    def __iter__(self) -> Any:
        for number, path in enumerate(self.files):
            try:
                image = Image.open(path).convert("RGB")
            except OSError:
                number = random.randrange(100, 200)
                image = Image.new("RGB", (20, 20), (number, 0, 0))
            yield self.transform(image), number


class Checking(Stream):
    """Loads an image to see whether it is whole, and opens it again."""

    def __iter__(self) -> Any:
        for path in self.files:
            try:
                Image.open(path).load()
            except OSError:
                continue
            yield self.sample(path)


class Resilient(Stream):
    """An iterator that goes on behind an error."""

    def __iter__(self) -> Any:
        return _Files(self)


class _Files:
    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.left = list(stream.files)

    def __next__(self) -> Any:
        if not self.left:
            raise StopIteration
        return self.stream.sample(self.left.pop(0))


class Clips(Stream):
    """Images that are stacked, along one dimension or another."""

    dim = 0

    def __iter__(self) -> Any:
        for paths in zip(self.files[::2], self.files[1::2]):
            images = [Image.open(path).convert("RGB") for path in paths]
            frames = [F.to_tensor(image.resize((24, 16))) for image in images]
            try:
                yield torch.stack(frames, dim=self.dim)
            except OSError:
                continue


class Films(Clips):
    dim = 1


def events(loader: Any, epochs: int = 2) -> List[Any]:
    """Batches, and the types of errors."""
    found: List[Any] = []
    for _ in range(epochs):
        batches = iter(loader)
        for _ in range(60):
            try:
                found.append(next(batches))
            except StopIteration:
                break
            except Exception as error:
                found.append(type(error))
        found.append("end")
    return found


def run(kind: Any, dataset: Any, **more: Any) -> List[Any]:
    seed()
    loader = kind(dataset, **{"batch_size": 3, **more})
    found = events(loader)
    if kind is Ours:
        assert loader.recorded, loader.fallback_reason
    return found


def assert_alike(ours: List[Any], theirs: List[Any]) -> None:
    assert len(ours) == len(theirs), (ours, theirs)
    for number, (a, b) in enumerate(zip(ours, theirs)):
        if isinstance(b, type):
            assert isinstance(a, type) and issubclass(a, b), number
        else:
            assert difference(a, b, "event %d" % number) is None


@pytest.mark.parametrize("kind", [Clips, Films])
def test_what_is_stacked_is_the_engines(
    tmp_path: Path, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: List[int] = []
    monkeypatch.setattr(
        recorded_stream_iteration, "keys_of_failed", lambda *_: made.append(0)
    )
    stream = kind(tmp_path / "images")
    theirs = run(Theirs, stream, num_workers=1)
    assert_alike(run(Ours, stream, num_workers=2, draws="torch"), theirs)
    assert not made


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(
    "kind", [Leaving, Drawing, Checking, Stream, Resilient, Clips, Films]
)
def test_damaged_images(tmp_path: Path, kind: Any, how: str) -> None:
    stream = kind(tmp_path / "images")
    damage(stream, how)
    theirs = run(Theirs, stream, num_workers=1)
    for workers in (1, 3):
        ours = run(Ours, stream, num_workers=workers, draws="torch")
        assert_alike(ours, theirs)


@pytest.mark.parametrize("how", ["cut", "broken"])
@pytest.mark.parametrize("kind", [Leaving, Checking])
def test_resumed_behind_damaged_images(
    tmp_path: Path, kind: Any, how: str
) -> None:
    stream = kind(tmp_path / "images")
    damage(stream, how)
    loader = Ours(stream, 2, num_workers=2, seed=3)
    batches = iter(loader)
    for _ in range(5):
        next(batches)
    saved = json.dumps(loader.state_dict())
    rest = list(batches)
    resumed = Ours(kind(tmp_path / "images"), 2, num_workers=1, seed=3)
    resumed.load_state_dict(json.loads(saved))
    assert difference(list(resumed), rest) is None and len(rest) == 6


def test_an_image_that_waited_in_a_buffer_says_so(tmp_path: Path) -> None:
    """The batches are those of a stream that sees the error, and a warning says
    that earlier ones may not have been."""
    stream = Buffered(tmp_path / "images")
    broken(Path(stream.files[11]))
    theirs = run(Theirs, stream, num_workers=1, batch_size=1)
    with pytest.warns(feedline.EngineWarning, match="had opened before"):
        found = run(Ours, stream, num_workers=1, draws="torch", batch_size=1)
    first, second = found.index("end"), theirs.index("end")
    assert found[first - 1] is OSError and theirs[second - 1] is OSError
    assert_alike(found[first:], theirs[second:])  # from then on it is known


@pytest.mark.parametrize("count", [12])
def test_many_damaged_images(tmp_path: Path, count: int) -> None:
    """The stream does not begin again for each of them."""
    stream = Leaving(tmp_path / "images")
    for path in stream.files[:count]:
        broken(Path(path))
    stream.files.sort(key=lambda path: path[::-1])
    theirs = run(Theirs, stream, num_workers=1)
    assert_alike(run(Ours, stream, num_workers=1, draws="torch"), theirs)


class Raising(Stream):
    def __iter__(self) -> Any:
        for number, path in enumerate(self.files):
            if number == BAD[0]:
                raise KeyError("key")
            yield self.sample(path)


class NoIterator(Stream):
    good = 2

    def __iter__(self) -> Any:
        if NoIterator.good == 0:
            raise KeyError("no iterator")
        return super().__iter__()


def test_exceptions_of_the_stream(tmp_path: Path) -> None:
    stream = Raising(tmp_path / "images")
    theirs = run(Theirs, stream, num_workers=1)
    assert KeyError in theirs
    for draws in ("torch", "engine"):
        ours = run(Ours, stream, num_workers=2, draws=draws)
        kinds = [one if isinstance(one, (str, type)) else 0 for one in ours]
        assert kinds == [0, 0, KeyError, "end"] * 2
    assert_alike(run(Ours, stream, num_workers=2, draws="torch"), theirs)


def drawing_collate(samples: List[Any]) -> Any:
    images = torch.stack([one[0] for one in samples])
    return images * torch.rand(1), random.random()


def rarely_drawing(samples: List[Any]) -> Any:
    names = [one[1] for one in samples]
    extra = random.random() if any("_3" in name for name in names) else 0.0
    return data.default_collate(samples), extra


@pytest.mark.parametrize("collate", [drawing_collate, rarely_drawing])
def test_a_collate_fn_that_draws(tmp_path: Path, collate: Any) -> None:
    stream = Stream(tmp_path / "images")
    more: Dict[str, Any] = {"collate_fn": collate, "batch_size": 4}
    theirs = run(Theirs, stream, num_workers=1, **more)
    for workers in (1, 3):
        ours = run(Ours, stream, num_workers=workers, draws="torch", **more)
        assert_alike(ours, theirs)


def test_a_collate_fn_that_draws_is_resumed(tmp_path: Path) -> None:
    stream = Stream(tmp_path / "images")
    more: Dict[str, Any] = {"collate_fn": drawing_collate, "draws": "torch"}
    loader = Ours(stream, 4, num_workers=1, **more)
    batches = iter(loader)
    next(batches), next(batches)
    saved = loader.state_dict()
    rest = list(batches)
    resumed = Ours(stream, 4, num_workers=2, **more)
    resumed.load_state_dict(saved)
    assert difference(list(resumed), rest) is None and len(rest) == 4


class Unrepeatable(Stream):
    """Seeds itself by the clock, as it were."""

    def __iter__(self) -> Any:
        order = random.SystemRandom().sample(self.files, len(self.files))
        for path in order:
            yield self.sample(path)


def test_a_stream_that_is_another_each_time(tmp_path: Path) -> None:
    stream = Unrepeatable(tmp_path / "images")
    loader = Ours(stream, 5, num_workers=2)
    assert loader.recorded, loader.fallback_reason
    for _ in range(2):
        names = [name for _, names in loader for name in names]
        assert sorted(names) == stream.files


class Restless(Films):
    def __iter__(self) -> Any:
        random.SystemRandom().shuffle(self.files)
        return super().__iter__()


def test_clips_of_such_a_stream(tmp_path: Path) -> None:
    loader = Ours(Restless(tmp_path / "images"), 4, num_workers=2)
    assert loader.recorded, loader.fallback_reason
    assert [tuple(clips.shape) for clips in loader] == [(4, 3, 2, 16, 24)] * 3


class DamagedLast(Stream):
    """Such a stream; were a damaged file in the proof, Pillow would open it."""

    def __iter__(self) -> Any:
        *sound, damaged = self.files
        random.SystemRandom().shuffle(sound)
        for path in [*sound, damaged]:
            yield self.sample(path)


def test_its_damaged_images_are_errors(tmp_path: Path) -> None:
    stream = DamagedLast(tmp_path / "images")
    broken(Path(stream.files[-1]))
    loader = Ours(stream, 1, num_workers=2)
    assert loader.recorded, loader.fallback_reason
    found = events(loader, 1)
    errors = [one for one in found if isinstance(one, type)]
    assert len(found) == 25 and errors == [feedline.DecodeError]


@pytest.mark.parametrize("on_error", ["skip", "zero"])
def test_on_error(tmp_path: Path, on_error: str) -> None:
    stream = Stream(tmp_path / "images")
    broken(Path(stream.files[7]))
    loader = Ours(stream, 4, num_workers=2, on_error=on_error)
    images, names = zip(*loader)
    assert loader.recorded and len(images) == 6
    bad = images[1][3]
    if on_error == "zero":
        assert not bad.any()
    else:
        assert names[1][3] in names[1][:3]


class Temporary(Stream):
    """Images lie in files that are gone when the next one is asked for."""

    def __init__(self, root: Path, folder: Path) -> None:
        super().__init__(root)
        self.folder = folder

    def __iter__(self) -> Any:
        for path in self.files:
            copy = self.folder / "copy.jpg"
            copy.write_bytes(Path(path).read_bytes())
            image = Image.open(copy).convert("RGB")
            copy.unlink()
            yield F.to_tensor(image)


@pytest.mark.filterwarnings("ignore::feedline.torch.FallbackWarning")
def test_files_that_are_gone(tmp_path: Path) -> None:
    stream = Temporary(tmp_path / "images", tmp_path)
    theirs = list(Theirs(stream, 4, num_workers=1))
    loader = Ours(stream, 4, num_workers=2)
    assert difference(list(loader), theirs) is None
