# SPDX-License-Identifier: Apache-2.0
"""Masks: moved as their images are, to the pixel, as torchvision moves them;
and what becomes of those that cannot be used."""

from __future__ import annotations

import importlib
import pickle
from pathlib import Path
from typing import Any, Iterator, List, Tuple

import pytest

np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

import feedline  # noqa: E402
from streams import pipeline_of  # noqa: E402

COUNT = 200

Sample = Tuple[Path, Path]


def mask_of(number: int, size: Tuple[int, int]) -> Any:
    """Indices into a palette, gray, or bits."""
    rng = np.random.default_rng(number)
    shape = (size[1], size[0])
    if number % 10 == 9:
        return Image.fromarray(rng.random(shape) < 0.5)
    pixels = rng.integers(0, 256 if number % 3 else 14, shape, dtype="uint8")
    mask = Image.fromarray(pixels)
    if number % 3:
        mask.putpalette(rng.integers(0, 256, 768, dtype="uint8").tobytes())
    return mask


def write(folder: Path, number: int) -> Sample:
    size = 30 + number * 7 % 41, 30 + number * 13 % 37
    rng = np.random.default_rng(number)
    photo = rng.integers(0, 256, (size[1], size[0], 3), dtype="uint8")
    image, mask = folder / ("%d.jpg" % number), folder / ("%d.png" % number)
    Image.fromarray(photo).save(image)
    mask_of(number, size).save(mask)
    return image, mask


@pytest.fixture(scope="module")
def samples(tmp_path_factory: Any) -> List[Sample]:
    folder = tmp_path_factory.mktemp("masks")
    return [write(folder, i) for i in range(COUNT)]


def data_set(samples: List[Sample]) -> feedline.Dataset:
    ds = feedline.Dataset.paths([image for image, _ in samples])
    ds.add_files("mask", [mask for _, mask in samples])
    return ds


def loader_of(
    samples: List[Sample], operations: List[str], **options: Any
) -> feedline.Loader:
    options = dict(
        dict(batch_size=16, workers=2, epochs=1, dtype="u8"), **options
    )
    return feedline.Loader(
        data_set(samples), pipeline_of(operations), masks="mask", **options
    )


def delivered(loader: feedline.Loader) -> Iterator[Tuple[int, Any]]:
    with loader:
        for batch in loader:
            yield from zip(batch.sample_index, batch.masks)


# ---- The same as torchvision -------------------------------------------------

RESIZE = "resize width=44 height=52"
MOVES = [
    [
        "random_resized_crop width=40 height=30 interpolation=bicubic",
        "horizontal_flip",
    ],
    ["resize size=37 interpolation=lanczos", "center_crop width=31 height=25"],
    ["horizontal_flip", "vertical_flip", "resize width=90 height=33"],
    [
        RESIZE,
        "color_jitter contrast=0.5 hue=0.1",
        "random_crop width=30 height=41 padding=9",
    ],
    [RESIZE, "pad padding=5,9 padding_mode=reflect", "random_equalize"],
    [RESIZE, "gaussian_blur kernel_size=5", "pad padding=3 fill=9"],
]
MAPS = [
    [RESIZE, "random_rotation degrees=90 interpolation=bilinear"],
    [
        RESIZE,
        "random_affine degrees=60 translate=0.2,0.1 scale=0.5:2 shear=-20,20 "
        "interpolation=bicubic fill=9",
        "horizontal_flip",
    ],
    [RESIZE, "random_perspective p=0.8 fill=9"],
]
COLOURS = ("color_jitter", "random_equalize", "gaussian_blur")


def moved(parity: Any, mask: Any, operations: List[str], drawn: Any) -> Any:
    for text, values in zip(operations, drawn):
        name, _, rest = text.partition(" ")
        if name in COLOURS:
            continue
        given = parity.arguments(rest)
        given.update(interpolation="nearest", fill=[255])
        mask = parity.ON_IMAGES[name](mask, given, values)
    return mask


def parity_module() -> Any:
    pytest.importorskip("torchvision")
    return importlib.import_module("ops_parity")


@pytest.mark.parametrize("operations", MOVES + MAPS, ids=" ".join)
def test_masks_move_as_pillow_moves_them(
    samples: List[Sample], operations: List[str]
) -> None:
    parity, done = parity_module(), 0
    loader = loader_of(samples, operations, mask_fill=255)
    for index, mask in delivered(loader):
        with Image.open(samples[index][1]) as source:
            source.load()
        if source.mode == "1":
            source = Image.fromarray(np.array(source, dtype="uint8"))
        drawn = loader.draws(0, index, *source.size)["operations"]
        wanted = moved(parity, source, operations, drawn)
        assert np.array_equal(mask, np.array(wanted, dtype="uint8")), index
        done += 1
    assert done == COUNT


def on_tensor(F: Any, mask: Any, name: str, given: Any, drawn: Any) -> Any:
    """What torchvision v2 makes of a tv_tensors.Mask."""
    size = [int(given.get(side, [0])[0]) for side in ("height", "width")]
    if name == "horizontal_flip":
        return F.horizontal_flip(mask) if drawn["flip"] else mask
    if name == "vertical_flip":
        return F.vertical_flip(mask) if drawn["flip"] else mask
    if name == "resize":
        return F.resize(mask, size if size[0] else [int(given["size"][0])])
    if name == "center_crop":
        return F.center_crop(mask, size)
    if name == "random_resized_crop":
        box = [drawn[key] for key in ("y", "x", "height", "width")]
        return F.resized_crop(mask, *box, size)
    sides = (([int(v) for v in given.get("padding", [0])]) * 4)[:4]
    mode = given.get("padding_mode", "constant")
    mask = F.pad(mask, sides, fill=255, padding_mode=mode)
    if name == "pad":
        return mask
    return F.crop(mask, drawn["y"] + sides[1], drawn["x"] + sides[0], *size)


@pytest.mark.parametrize("operations", MOVES, ids=" ".join)
def test_masks_move_as_tensors_do(
    samples: List[Sample], operations: List[str]
) -> None:
    torch = pytest.importorskip("torch")
    tv = pytest.importorskip("torchvision.tv_tensors")
    F = importlib.import_module("torchvision.transforms.v2.functional")
    parity, done = parity_module(), 0
    loader = loader_of(samples, operations, mask_fill=255, mask_nearest="torch")
    for index, mask in delivered(loader):
        with Image.open(samples[index][1]) as source:
            array = np.array(source, dtype="uint8")
        drawn = loader.draws(0, index, *array.shape[::-1])["operations"]
        wanted = tv.Mask(torch.from_numpy(array)[None])
        for text, values in zip(operations, drawn):
            name, _, rest = text.partition(" ")
            if name not in COLOURS:
                given = parity.arguments(rest)
                wanted = on_tensor(F, wanted, name, given, values)
        assert np.array_equal(mask, wanted[0].numpy()), index
        done += 1
    assert done == COUNT


def test_added_files_are_pickled(samples: List[Sample]) -> None:
    ds = data_set(samples[:3])
    ds.add_files("none", [None] * 3)
    again = pickle.loads(pickle.dumps(ds))
    assert again.fields == ds.fields
    assert again.field(2, "mask") == samples[2][1].read_bytes()
    assert again.field(2, "none") == b""
