# SPDX-License-Identifier: Apache-2.0
"""Data sets that keep images for later samples: a buffer, a cache."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any, List

import images
import needs
import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")
cv2 = pytest.importorskip("cv2", reason="no OpenCV")

from feedline.deferred import kept_arrays  # noqa: E402
from feedline.torch import DataLoader  # noqa: E402

needs.deferred_tensors()

SIDE = 64


class Buffered(torch.utils.data.Dataset):  # type: ignore[misc, type-arg]
    """Mosaics of a new image and of three that were loaded before."""

    most = 6

    def __init__(self, paths: List[str]) -> None:
        self.paths = paths
        self.images: List[Any] = [None] * len(paths)
        self.buffer: List[int] = []

    def __len__(self) -> int:
        return len(self.paths)

    def load(self, index: int) -> Any:
        if self.images[index] is None:
            self.images[index] = self.read(index)
            self.buffer.append(index)
            if len(self.buffer) > self.most:
                self.images[self.buffer.pop(0)] = None
        return self.images[index]

    def read(self, index: int) -> Any:
        image = cv2.imread(self.paths[index])
        h, w = image.shape[:2]
        r = SIDE / max(h, w)
        return cv2.resize(image, (round(w * r), round(h * r)))

    def others(self) -> List[int]:
        return random.choices(self.buffer, k=3)

    def __getitem__(self, index: int) -> Any:
        whole = np.full((2 * SIDE, 2 * SIDE, 3), 114, dtype=np.uint8)
        first = self.load(index)
        for n, one in enumerate([first, *map(self.load, self.others())]):
            y, x = (n // 2) * SIDE, (n % 2) * SIDE
            h, w = one.shape[0] - n, one.shape[1]
            whole[y : y + h, x : x + w] = one[n:, :]
        return torch.from_numpy(whole.transpose(2, 0, 1).copy()), index


class Cached(Buffered):
    """All of them are kept, and any of them is used."""

    most = 10000

    def others(self) -> List[int]:
        return [random.randrange(len(self)) for _ in range(3)]


class Changed(Buffered):
    """What is kept is written to."""

    def __getitem__(self, index: int) -> Any:
        made = super().__getitem__(index)
        one, other = (self.images[i] for i in (self.buffer * 2)[-2:])
        h = min(len(one), len(other)) // 2
        w = min(one.shape[1], other.shape[1]) // 2
        one[:h, :w] = other[-h:, -w:]
        return (*made, int(h))


class Shown(Cached):
    """What is kept is a view, or an image that is no array of bytes."""

    def read(self, index: int) -> Any:
        image = super().read(index)
        return image[2:] if index % 2 else (image / 2).astype(np.uint8)


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> List[str]:
    root = tmp_path_factory.mktemp("files")
    made = []
    for n in range(13):
        path = root / ("%d.%s" % (n, ("jpg", "png")[n % 3 == 2]))
        images.picture((70 + 5 * n, 90 - 3 * n), n).save(path)
        made.append(str(path))
    return made


def batches_of(loader: Any, epochs: int) -> List[Any]:
    torch.manual_seed(4)
    return [batch for _ in range(epochs) for batch in loader]


def check(kind: Any, paths: List[str], **more: Any) -> Any:
    """Those of torch with a worker; returns the loader."""
    how = dict(batch_size=4, shuffle=True, num_workers=1, **more)
    ours = DataLoader(kind(paths), draws="torch", **how)
    theirs = torch.utils.data.DataLoader(kind(paths), **how)
    for want, got in zip(batches_of(theirs, 3), batches_of(ours, 3)):
        assert len(want) == len(got)
        assert all(torch.equal(a, b) for a, b in zip(want, got))
    assert ours.native, ours.fallback_reason
    return ours


@pytest.mark.parametrize("kind", (Buffered, Cached))
def test_what_is_kept_is_deferred(kind: Any, paths: List[str]) -> None:
    ours = check(kind, paths)
    assert "made in Python" not in ours.explain()


def test_what_is_kept_and_written_to(paths: List[str]) -> None:
    check(Changed, paths)


def test_workers_that_persist(paths: List[str]) -> None:
    check(Buffered, paths, persistent_workers=True)


def test_what_cannot_be_kept_is_real(paths: List[str]) -> None:
    how = dict(batch_size=4, shuffle=True, num_workers=1)
    ours = DataLoader(Shown(paths), draws="torch", **how)
    theirs = torch.utils.data.DataLoader(Shown(paths), **how)
    for want, got in zip(batches_of(theirs, 2), batches_of(ours, 2)):
        assert all(torch.equal(a, b) for a, b in zip(want, got))


def test_no_more_is_kept_than_is_allowed(
    paths: List[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_arrays.Kept, "MOST", 3 * SIDE * SIDE * 3)
    how = dict(batch_size=4, shuffle=True, num_workers=1)
    ours = DataLoader(Cached(paths), draws="torch", **how)
    theirs = torch.utils.data.DataLoader(Cached(paths), **how)
    for want, got in zip(batches_of(theirs, 3), batches_of(ours, 3)):
        assert all(torch.equal(a, b) for a, b in zip(want, got))


def test_what_is_let_go_makes_room(paths: List[str]) -> None:
    """And samples made of it that are still to be delivered take none."""
    from feedline.deferred import Recorder

    recorder = Recorder()
    canvas = np.full((2 * SIDE, 2 * SIDE, 3), 1, np.uint8)

    def use(kept: Any) -> Any:
        whole = np.full((200, 200, 3), 1, np.uint8)
        whole[: kept.shape[0], : kept.shape[1]] = kept
        assert type(whole) is not type(canvas)
        return whole

    on_their_way = []
    for path in paths:
        kept = recorder.run(cv2.imread, path)
        on_their_way.append(recorder.run(use, kept))
        assert recorder.kept.bytes == kept.size
    del kept
    assert recorder.kept.bytes == 0


def test_an_image_that_is_real_is_no_colour(paths: List[str]) -> None:
    """A list of its values would take longer than its pixels."""
    from feedline.deferred import Recorder

    image = cv2.resize(cv2.imread(paths[0]), (640, 640))

    def use() -> Any:
        whole = np.full((640, 640, 3), 1, np.uint8)
        tracemalloc.start()
        whole[:] = image
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 4 * image.nbytes
        return whole

    assert (Recorder().run(use) == image).all()
