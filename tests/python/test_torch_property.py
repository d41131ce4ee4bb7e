# SPDX-License-Identifier: Apache-2.0
"""Random data sets, transforms and arguments: what torch's loader gives, in its
order, with its types and its exceptions.

Transforms are those that leave nothing to chance, be it a flip with p=1, so the
reference is torch's own DataLoader on the same data set. Seeds are fixed but
for one, which is in the name of its test: it runs again by
FEEDLINE_PROPERTY_SEED=number.
"""

from __future__ import annotations

import io
import os
import random
from pathlib import Path
from typing import Any, Dict, Tuple

import pytest

from torch_cases import T, Ours, Theirs, data, events, same, torch
from torch_cases import torchvision, v2

import feedline
from images import Image, picture
from random_chains import Chains

np = pytest.importorskip("numpy", reason="no numpy")
pytestmark = [
    pytest.mark.filterwarnings("ignore::feedline.torch.FallbackWarning"),
    pytest.mark.filterwarnings("ignore:The transform `ToTensor:UserWarning"),
]

FRESH = int(os.environ.get("FEEDLINE_PROPERTY_SEED", random.randrange(10**9)))


# ---- Files ------------------------------------------------------------------


def _side(draw: random.Random) -> int:
    return draw.choice((1, 2, 7, 8, 9, 16, 17, 33, draw.randint(1, 80)))


def _jpeg(draw: random.Random, image: Any) -> Tuple[str, Dict[str, Any]]:
    options = {
        "quality": draw.choice((5, 75, 100)),
        "progressive": draw.random() < 0.3,
    }
    if image.mode == "RGB":
        options["subsampling"] = draw.choice((0, 1, 2))
    if draw.random() < 0.2:
        exif = Image.Exif()
        exif[0x112] = draw.randint(1, 8)  # orientation, which nobody applies
        options["exif"] = exif
    return "JPEG", options


def _file(draw: random.Random) -> Tuple[str, bytes]:
    """Ending and contents of an image, mostly a sound one."""
    image = picture((_side(draw), _side(draw)), draw.getrandbits(20))
    mode = draw.choice(("RGB", "RGB", "L", "CMYK", "P", "RGBA", "LA", "1", "I"))
    if mode == "I":  # 16 bits
        wide = np.asarray(image.convert("L")).astype(np.uint16) * 257
        image = Image.fromarray(wide)
    else:
        image = image.convert(mode)
    kind, ending, options = "PNG", draw.choice(("png", "PNG")), {}
    if mode in ("L", "RGB", "CMYK") and (mode == "CMYK" or draw.random() < 0.7):
        ending = draw.choice(("jpg", "JPEG"))
        kind, options = _jpeg(draw, image)
    elif mode in ("RGB", "RGBA") and "webp" in feedline.features():
        kind, ending = "WEBP", "webp"
        options = {"lossless": draw.random() < 0.5}
    elif draw.random() < 0.1:
        image, kind = image.convert("L"), draw.choice(("GIF", "BMP"))
    out = io.BytesIO()
    image.save(out, kind, **options)
    contents = out.getvalue()
    if draw.random() < 0.04:
        contents = contents[: draw.randint(0, 30)]
    return ending, contents


def _folder(draw: random.Random, root: Path) -> str:
    for label in range(draw.randint(1, 3)):
        (root / ("c%d" % label)).mkdir(parents=True)
        for number in range(draw.randint(1, 6)):
            ending, contents = _file(draw)
            name = "%d%s.%s" % (number, draw.choice(("", " ü\n%s")), ending)
            (root / ("c%d" % label) / name).write_bytes(contents)
    return str(root)


# ---- Data sets and arguments ------------------------------------------------


def _chain(draw: random.Random) -> Any:
    family = draw.choice((T, v2 if hasattr(v2, "ToImage") else T))
    return Chains(family, draw, certain=True).chain()


def _dataset(draw: random.Random, root: str, transform: Any) -> Any:
    whole = torchvision.datasets.ImageFolder(root, transform)
    count = len(whole)
    kind = draw.choice(("whole", "whole", "part", "parts", "edited"))
    if kind == "part":
        places = [draw.randrange(-count, count) for _ in range(5)]
        return data.Subset(whole, places)
    if kind == "parts":
        return data.ConcatDataset([whole, data.Subset(whole, [0])])
    if kind == "edited":
        whole.samples = [
            (Path(path), label + 5) for path, label in reversed(whole.samples)
        ]
    return whole


def _arguments(draw: random.Random, count: int) -> Dict[str, Any]:
    places = [draw.randrange(-count, count) for _ in range(7)]
    return draw.choice(
        (
            {"batch_size": draw.randint(1, 9), "shuffle": True},
            {"batch_size": 3, "drop_last": True},
            {"batch_size": None, "shuffle": True},
            {"batch_size": 2, "sampler": places},
            {"batch_sampler": [places[:2], places[2:], [], [count]]},
        )
    )


# ---- The property -----------------------------------------------------------


def _alike(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, Exception):
        return isinstance(ours, type(theirs))
    return same(ours, theirs)


def check(seed: int, root: Path) -> bool:
    """Whether it was native; AssertionError where the loaders differ."""
    draw = random.Random(seed)
    dataset = _dataset(draw, _folder(draw, root), _chain(draw))
    arguments = _arguments(draw, len(dataset))
    workers = draw.choice((0, 1, 2))
    native = Ours(dataset, num_workers=1).native
    found = []
    for kind in (Ours, Theirs):
        order = torch.Generator().manual_seed(seed)
        own = {"num_workers": workers} if kind is Ours and native else {}
        loader = kind(dataset, generator=order, **arguments, **own)
        found.append((events(loader, 2), order.get_state()))
    (ours, state), (theirs, their_state) = found
    what = "seed %d: %s %s" % (seed, dataset, arguments)
    assert len(ours) == len(theirs), what
    for number, (a, b) in enumerate(zip(ours, theirs)):
        assert _alike(a, b), (what, number, a, b)
    assert torch.equal(state, their_state), what
    return native


@pytest.mark.parametrize("seed", list(range(10)) + [FRESH])
def test_as_torch(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path / "images")


def test_it_is_about_the_engine(tmp_path: Path) -> None:
    """Enough of the fixed ones are native."""
    native = 0
    for seed in range(10):
        draw = random.Random(seed)
        root = _folder(draw, tmp_path / str(seed))
        dataset = _dataset(draw, root, _chain(draw))
        native += Ours(dataset, num_workers=1).native
    assert native >= 5
