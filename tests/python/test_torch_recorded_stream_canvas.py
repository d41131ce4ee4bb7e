# SPDX-License-Identifier: Apache-2.0
"""Streams whose images are put together of several."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, List

import pytest

import needs

needs.deferred_tensors()

from programs.compared import difference  # noqa: E402
from recorded_sets import np
from test_torch_recorded_stream_errors import assert_alike, damage, run
from test_torch_recorded_streams import Stream, seed
from torch_cases import Ours, Theirs

from PIL import Image


class Boxed(Stream):
    """In a frame; what cannot be opened is left out."""

    def __iter__(self) -> Any:
        for path in self.files:
            whole = Image.new("RGB", (80, 70), (128, 128, 128))
            try:
                image = Image.open(path).convert("RGB").resize((60, 50))
                whole.paste(image, (random.randrange(20), 9))
            except OSError:
                continue
            yield self.transform(whole), path


class Mosaics(Stream):
    """Of the images that wait in a buffer, which are arrays; some twice."""

    def __iter__(self) -> Any:
        held: List[Any] = []
        for path in self.files:
            try:
                image = Image.open(path).convert("RGB")
            except OSError:
                continue
            held.append(np.asarray(image.resize((40, 35))))
            if len(held) < 6:
                continue
            whole = np.full((70, 80, 3), 114, np.uint8)
            for n in range(4):
                y, x = n // 2 * 35, n % 2 * 40
                whole[y : y + 35, x : x + 40] = random.choice(held)
            held.pop(0)
            yield whole, len(held)


class Waiting(Stream):
    """The frames themselves wait, before anything lies in them."""

    def __iter__(self) -> Any:
        held: List[Any] = []
        for number, path in enumerate(self.files):
            held.append((Image.new("RGB", (64, 64), number), path))
            if len(held) > 5:
                whole, path = held.pop(random.randrange(len(held)))
                whole.paste(Image.open(path).convert("RGB").resize((30, 30)))
                yield np.array(whole), path


KINDS = (Boxed, Mosaics, Waiting)


@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_torchs(tmp_path: Path, kind: Any) -> None:
    stream = kind(tmp_path / "images")
    theirs = run(Theirs, stream, num_workers=1)
    for workers in (1, 3):
        ours = run(Ours, stream, num_workers=workers, draws="torch")
        assert_alike(ours, theirs)


@pytest.mark.parametrize("how", ("cut", "broken", "missing"))
@pytest.mark.parametrize("kind", (Boxed, Mosaics))
def test_damaged_parts(tmp_path: Path, kind: Any, how: str) -> None:
    """Once it is known which file it was; an image of a buffer may have been
    delivered before."""
    stream = kind(tmp_path / "images")
    damage(stream, how)
    theirs = run(Theirs, stream, num_workers=1)
    if kind is Boxed:
        ours = run(Ours, stream, num_workers=2, draws="torch")
        assert_alike(ours, theirs)
        return
    seed()
    loader = Ours(stream, 3, num_workers=2, draws="torch")
    second = theirs.index("end") + 1
    found = [list(loader) for _ in range(2)][1]
    assert_alike(found, theirs[second:-1])


@pytest.mark.parametrize("kind", KINDS)
def test_resumed(tmp_path: Path, kind: Any) -> None:
    stream = kind(tmp_path / "images")
    loader = Ours(stream, 2, num_workers=2, seed=3)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    saved = json.dumps(loader.state_dict())
    rest = list(batches)
    assert loader.recorded, loader.fallback_reason
    resumed = Ours(kind(tmp_path / "images"), 2, num_workers=1, seed=3)
    resumed.load_state_dict(json.loads(saved))
    assert difference(list(resumed), rest) is None and rest
