# SPDX-License-Identifier: Apache-2.0
"""Random programs: what is recorded is what Pillow and torchvision make, and so
is what the engine makes of it.

Seeds are fixed; FEEDLINE_PROPERTY_SEED=number tries others, from that one on.
"""

from __future__ import annotations

import os
import random
from typing import Any, Callable, Dict, List

import deferred_cases as cases
import needs
import pytest

needs.deferred_tensors()

import images  # noqa: E402
import test_deferred_engine as engine  # noqa: E402
from feedline.deferred import Recorder, deferred_of  # noqa: E402
from torchvision.transforms import functional as F  # noqa: E402

np = cases.np
Image = images.Image
ImageEnhance = pytest.importorskip("PIL.ImageEnhance")
ImageOps = pytest.importorskip("PIL.ImageOps")

files = engine.files

FIRST = int(os.environ.get("FEEDLINE_PROPERTY_SEED", "0"))
PROGRAMS = 25  # a seed

Step = Callable[[Any], Any]


def _box(rng: random.Random) -> Any:
    left, top = rng.randint(-3, 20), rng.randint(-3, 15)
    return left, top, left + rng.randint(1, 40), top + rng.randint(1, 30)


def _size(rng: random.Random) -> Any:
    return rng.randint(1, 50), rng.randint(1, 50)


# Each draws its numbers, and gives a step for images of any size and mode.
STEPS: List[Callable[[random.Random], Step]] = [
    lambda rng: (lambda im, b=_box(rng): im.crop(b)),
    lambda rng: (lambda im, s=_size(rng), f=rng.randrange(6): im.resize(s, f)),
    lambda rng: (
        lambda im, s=_size(rng), x=rng.uniform(0, 0.4): im.resize(
            s, 3, box=(im.width * x, 0, im.width, im.height * (1 - x))
        )
    ),
    lambda rng: (lambda im, n=rng.randrange(7): im.transpose(n)),
    lambda rng: (lambda im, m=rng.choice(["L", "RGB", "RGBA"]): im.convert(m)),
    lambda rng: (
        lambda im, d=rng.uniform(-180, 180), f=rng.choice([0, 2, 3]): (
            im.rotate(d, f)
        )
    ),
    lambda rng: (
        lambda im, f=rng.uniform(0, 2): ImageEnhance.Color(im).enhance(f)
    ),
    lambda rng: (
        lambda im, f=rng.uniform(0, 2): ImageEnhance.Contrast(im).enhance(f)
    ),
    lambda rng: ImageOps.mirror,
    lambda rng: (lambda im: im.convert("YCbCr")),
    lambda rng: (lambda im, n=rng.randrange(3): im.getchannel(n)),
    lambda rng: (
        lambda im, n=rng.sample(range(3), 3): Image.merge(
            "RGB", [im.split()[i] for i in n]
        )
    ),
    lambda rng: ImageOps.autocontrast,
    lambda rng: (
        lambda im, s=_size(rng): F.resized_crop(im, 2, 3, 20, 30, list(s))
    ),
    lambda rng: (lambda im, n=rng.randint(1, 9): F.pad(im, [n, 2])),
    lambda rng: (lambda im, f=rng.uniform(0, 2): F.adjust_brightness(im, f)),
    lambda rng: (lambda im, n=rng.randint(1, 40): F.center_crop(im, [n, 9])),
]

ENDS: List[Step] = [
    lambda im: im,
    F.to_tensor,
    F.pil_to_tensor,
    lambda im: F.to_tensor(im).mul(2).sub(1),
    lambda im: F.to_tensor(im).flip(-1)[:, 1:],
    lambda im: F.pil_to_tensor(im).flip(0)[:1] / 3,
    lambda im: F.to_tensor(im)[-1],
    lambda im: np.asarray(im)[..., ::-1] / 255,
    lambda im: F.normalize(
        F.to_tensor(im.convert("RGB")), [0.5] * 3, [2.0] * 3
    ),
]


def program(seed: int) -> Callable[[str], Any]:
    """Opens an image, and does some steps and an end; None where one of them is
    not for what it has become."""
    rng = random.Random(seed)
    steps = [rng.choice(STEPS)(rng) for _ in range(rng.randint(1, 6))]
    steps.append(rng.choice(ENDS))
    if rng.random() < 0.5:
        steps.insert(0, lambda im: im.convert("RGB"))

    def run(path: str) -> Any:
        image = Image.open(path)
        try:
            for step in steps:
                image = step(image)
        except Exception:
            return None
        return image

    return run


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 8))
def test_random_programs(seed: int, files: Dict[str, str]) -> None:
    rng = random.Random(seed)
    runs = []
    for n in range(PROGRAMS):
        run = program(seed * PROGRAMS + n)
        path = rng.choice(sorted(files.values()))
        cases.check(run, path)
        runs.append(lambda run=run, path=path: run(path))
    engine.check(runs)


def test_most_stay_deferred(files: Dict[str, str]) -> None:
    """Else nothing is compared."""
    paths, kept = sorted(files.values()), 0
    for n in range(60):
        run, path = program(n), paths[n % len(paths)]
        made = Recorder().run(lambda run=run, path=path: run(path))
        kept += deferred_of(made) is not None
    assert kept >= 25
