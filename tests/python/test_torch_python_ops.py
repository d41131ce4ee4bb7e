# SPDX-License-Identifier: Apache-2.0
"""Transforms in Python in a native DataLoader: PIL and Python around callables
that draw, as the advice of a FallbackWarning has it."""

from __future__ import annotations

import random
import re
import warnings
from pathlib import Path
from typing import Any, List

import pytest

from torch_cases import Ours, T, Theirs, assert_same, folder, torch

import feedline
from feedline.torch import FallbackWarning
from feedline.transforms import PIL, Python

numpy = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(folder(tmp_path_factory.mktemp("python") / "images").root)


def dataset(root: Path, *transforms: Any) -> Any:
    chain = [T.RandomResizedCrop(24), *transforms, T.PILToTensor()]
    return folder(root, T.Compose(chain))


def epochs(dataset: Any, workers: Any, **arguments: Any) -> List[Any]:
    torch.manual_seed(1)
    loader = Ours(dataset, 5, shuffle=True, num_workers=workers, **arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        return [batch for _ in range(2) for batch in loader]


def jitter(image: Any) -> Any:
    """Draws from all three, through Pillow's and torchvision's functions, with
    pixels in memory first."""
    image.getpixel((0, 0))
    image = T.functional.rotate(image, random.uniform(-20, 20))
    if numpy.random.rand() < 0.5:
        image = T.functional.adjust_sharpness(image, 2)
    return T.RandomAffine(10, (0.1, 0.1))(image)


def noise(pixels: Any) -> None:
    shift = numpy.random.randint(-9, 10, pixels.shape)
    shift[0] = random.randrange(9)
    shift[1] = torch.randint(9, (3,)).numpy()
    pixels[:] = numpy.clip(pixels + shift, 0, 255)


DRAWN = {
    "RandAugment": lambda: PIL(T.RandAugment()),
    "AutoAugment": lambda: PIL(T.AutoAugment()),
    "TrivialAugmentWide": lambda: PIL(T.TrivialAugmentWide()),
    "RandomApply": lambda: PIL(T.RandomApply([T.GaussianBlur(3)])),
    "RandomOrder": lambda: PIL(
        T.RandomOrder([T.RandomInvert(), T.RandomPosterize(2)])
    ),
    "several": lambda: PIL(T.Compose([T.RandAugment(), jitter])),
    "function": lambda: PIL(jitter),
    "arrays": lambda: Python(noise),
}


@pytest.mark.parametrize("name", DRAWN)
def test_repeats_for_any_number_of_threads(root: Path, name: str) -> None:
    data = dataset(root, DRAWN[name]())
    found = epochs(data, 1)
    assert_same(epochs(data, 8), found)
    assert_same(epochs(data, 0), found)
    assert not torch.equal(found[0][0], found[5][0])


def test_the_advice_works_as_it_stands(root: Path) -> None:
    """What a FallbackWarning says to write is native, and repeats."""
    for made in (T.AugMix(), T.ElasticTransform(), jitter):
        with pytest.warns(FallbackWarning) as said:
            next(iter(Ours(dataset(root, made), 5)))
        advice = re.search(
            r"feedline\.transforms\.PIL\(\w+(?:\(\.\.\.\))?\)",
            str(said[0].message),
        )
        assert advice, said[0].message
        line = advice.group().replace("...", "")
        name = re.search(r"PIL\((\w+)", line)
        assert name
        names = {
            "feedline": feedline,
            name.group(1): getattr(T, name.group(1), jitter),
        }
        data = dataset(root, eval(line, names))
        assert_same(epochs(data, 1), epochs(data, 4))


def test_behind_to_tensor_the_advice_is_to_go_before(root: Path) -> None:
    chain = T.Compose([T.Resize((8, 8)), T.PILToTensor(), T.AugMix()])
    loader = Ours(folder(root, chain))
    assert "before ToTensor, feedline.transforms.PIL(transform)" in str(
        loader.fallback_reason
    )


# ---- PIL -------------------------------------------------------------------


@pytest.mark.parametrize("gray", [False, True])
def test_pixels_are_those_of_torchs_loader(root: Path, gray: bool) -> None:
    turn = PIL(lambda image: image.transpose(Image.ROTATE_180))
    chain = [T.Resize((9, 9)), turn, T.PILToTensor()]
    data = folder(root, T.Compose(([T.Grayscale()] if gray else []) + chain))
    loader = Ours(data, 5)
    assert loader.native, loader.fallback_reason
    assert_same(list(loader), list(Theirs(data, 5)))


def test_a_result_of_another_kind_is_an_error_of_its_sample(root: Path) -> None:
    for wrong, words in (
        (T.Resize((4, 4)), "returned one of mode RGB, 4x4"),
        (T.Grayscale(), "returned one of mode L, 24x24"),
        (T.ToTensor(), "returned Tensor"),
    ):
        with pytest.raises(TypeError, match=words):
            PIL(wrong)(Image.new("RGB", (24, 24)))
        loader = Ours(dataset(root, PIL(wrong)), 5)
        with pytest.raises(feedline.UserError) as caught:
            next(iter(loader))
        assert "keeps mode and size" in str(caught.value.__cause__)


def test_names() -> None:
    assert PIL(T.RandAugment()).name == "pil_rand_augment"
    assert PIL(jitter).name == "pil_jitter"
    assert PIL(lambda image: image).name == "pil"
    assert PIL(jitter, name="mine").name == "mine"
    assert repr(PIL(T.RandomInvert())) == "PIL(RandomInvert(p=0.5))"
    with pytest.raises(TypeError, match="callable, but got int"):
        PIL(3)  # type: ignore[arg-type]


def test_statistics_have_the_name(root: Path) -> None:
    loader = Ours(dataset(root, PIL(T.RandAugment())), 5)
    list(loader)
    stages = [stage["name"] for stage in loader.stats()["stages"]]
    assert "pil_rand_augment" in stages
