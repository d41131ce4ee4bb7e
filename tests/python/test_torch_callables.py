# SPDX-License-Identifier: Apache-2.0
"""Functions of the program are known in all of their guises: partials, methods,
objects that are called, decorated functions, lambdas around others."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from torch_cases import Ours, T, Theirs, assert_same, folder, same, torch

from PIL import Image
import PIL
from torch.utils.data import default_collate
from torchvision.datasets.folder import default_loader, pil_loader

from feedline.torch import FallbackWarning
from feedline.torch.callables import plain
from feedline.torch.mixing import recognised

partial = functools.partial


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


def to_mode(image: Any, mode: str) -> Any:
    return image.convert(mode)


def to_rgb(image: Any) -> Any:
    if image.mode != "RGB":
        image = image.convert("RGB")
    return image


class Convert:
    def __init__(self, mode: str = "RGB") -> None:
        self.mode = mode
        self.inner = to_rgb

    def __call__(self, image: Any) -> Any:
        return image.convert(self.mode)

    def method(self, image: Any) -> Any:
        return image.convert("RGB")

    def around(self, image: Any) -> Any:
        return self.inner(image)

    @staticmethod
    def static(image: Any) -> Any:
        return image.convert("RGB")

    @classmethod
    def of_class(cls, image: Any) -> Any:
        return image.convert("RGB")


class Module(torch.nn.Module):
    def forward(self, image: Any) -> Any:
        return image.convert("RGB")


class Holder(torch.nn.Module):
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, image: Any) -> Any:
        return self.inner(image)


FLIPPED = T.RandomHorizontalFlip(p=1.0)
CONVERTING: Dict[str, Any] = {
    "lambda": lambda image: image.convert("RGB"),
    "around": lambda image: to_rgb(image),
    "partial": partial(to_rgb),
    "partial mode": partial(to_mode, mode="RGB"),
    "nested": partial(partial(to_mode), mode="RGB"),
    "method": Convert().method,
    "around a method": Convert().around,
    "static": Convert.static,
    "class": Convert.of_class,
    "object": Convert(),
    "object's call": Convert().__call__,
    "module": Module(),
    "module of object": Holder(Convert()),
    "decorated": decorated(to_rgb),
    "twice": decorated(decorated(Convert().method)),
    "staticmethod": staticmethod(to_rgb),
    "known transform": lambda image: FLIPPED(image),
}
UNKNOWN: Dict[str, Any] = {
    "other mode": partial(to_mode, mode="L"),
    "object of other mode": Convert("L"),
    "unknown": lambda image: image.rotate(3),
    "around unknown": lambda image: UNKNOWN_FUNCTION(image),
    "partial unknown": partial(lambda image, by: image.rotate(by), by=3),
}


def hooked() -> Any:
    module = Module()
    module.register_forward_hook(lambda *parts: parts[-1].rotate(90))
    return module


UNKNOWN["hooked"] = hooked()


def UNKNOWN_FUNCTION(image: Any) -> Any:
    return image.rotate(3)


@pytest.mark.parametrize(
    "wrap", [lambda f: f, T.Lambda], ids=["as is", "Lambda"]
)
@pytest.mark.parametrize("name", CONVERTING)
def test_transforms(tmp_path: Path, name: str, wrap: Any) -> None:
    function = wrap(CONVERTING[name])
    chain = T.Compose([function, T.Resize((8, 8)), T.PILToTensor()])
    data = folder(tmp_path / "images", chain)
    loader = Ours(data, batch_size=8)
    assert loader.native, loader.fallback_reason
    assert_same(list(loader), list(Theirs(data, batch_size=8)))


@pytest.mark.usefixtures("known_only")
@pytest.mark.parametrize("name", UNKNOWN)
def test_transforms_that_do_more(tmp_path: Path, name: str) -> None:
    chain = T.Compose([UNKNOWN[name], T.Resize((8, 8)), T.PILToTensor()])
    data = folder(tmp_path / "images", chain)
    loader = Ours(data, batch_size=8, num_workers=0)
    assert "transforms[0]" in str(loader.fallback_reason)
    with pytest.warns(FallbackWarning):
        assert_same(list(loader), list(Theirs(data, batch_size=8)))


# ---- Loaders of files --------------------------------------------------------


def opens(path: str) -> Any:
    with open(path, "rb") as f:
        img = Image.open(f)
        return img.convert("RGB")


def opens_both(path: str) -> Any:
    with open(path, "rb") as file:
        with Image.open(file) as image:
            return image.convert("RGB")


def asks_for_the_mode(path: str) -> Any:
    img = Image.open(path)
    if img.mode != "RGB":
        img = img.convert("RGB")
    return img


class Reads:
    def __call__(self, path: str) -> Any:
        return Image.open(path).convert("RGB")

    def method(self, path: str) -> Any:
        with Image.open(path) as image:
            return image.convert("RGB")


LOADERS: Dict[str, Any] = {
    "lambda": lambda path: Image.open(path).convert("RGB"),
    "whole name": lambda path: PIL.Image.open(path).convert("RGB"),
    "opens": opens,
    "opens both": opens_both,
    "mode": asks_for_the_mode,
    "object": Reads(),
    "method": Reads().method,
    "cached": functools.lru_cache(maxsize=2)(opens),
    "pil_loader": partial(pil_loader),
    "default_loader": lambda path: default_loader(path),
    "decorated": decorated(opens_both),
}


@pytest.mark.parametrize("name", LOADERS)
def test_loaders(tmp_path: Path, name: str) -> None:
    data = folder(tmp_path / "images")
    data.loader = LOADERS[name]
    loader = Ours(data, batch_size=8)
    assert loader.native, loader.fallback_reason
    assert_same(list(loader), list(Theirs(data, batch_size=8)))


@pytest.mark.usefixtures("known_only")
def test_loaders_that_do_more(tmp_path: Path) -> None:
    data = folder(tmp_path / "images")
    namespace: Dict[str, Any] = {"Image": Image, "open": lambda *a: None}
    exec(
        "def f(p):\n with open(p, 'rb') as f:\n"
        "  return Image.open(f).convert('RGB')",
        namespace,
    )
    for loader in (
        lambda path: Image.open(path).convert("L"),
        lambda path: Image.open(path),
        namespace["f"],  # whose open is another one
    ):
        data.loader = loader
        assert "a loader of its own" in Ours(data).fallback_reason


# ---- collate_fn --------------------------------------------------------------


def mix(images: Any, labels: Any) -> Any:
    return images + 1, labels


def collates(samples: Any) -> Any:
    return default_collate(samples)


def without_none(batch: Any) -> Any:
    batch = list(filter(lambda x: x is not None, batch))
    return torch.utils.data.dataloader.default_collate(batch)


def comprehends(batch: Any) -> Any:
    batch = [sample for sample in batch if sample is not None]
    return default_collate(batch)


def mixes(samples: Any, mixer: Any) -> Any:
    return mixer(*default_collate(samples))


def in_two_lines(batch: Any) -> Any:
    images, labels = torch.utils.data.default_collate(batch)
    return mix(images, labels)


class Mixes:
    def __init__(self, mixer: Any) -> None:
        self.mixer = mixer

    def __call__(self, samples: Any) -> Any:
        return self.mixer(*default_collate(samples))

    def method(self, samples: Any) -> Any:
        batch = default_collate(samples)
        return self.mixer(*batch)


COLLATING: Dict[str, Any] = {
    "itself": partial(default_collate),
    "around": collates,
    "around that": lambda samples: collates(samples),
    "without none": without_none,
    "comprehends": comprehends,
    "decorated": decorated(collates),
    "lambda": lambda samples: mix(*default_collate(samples)),
    "partial": partial(mixes, mixer=mix),
    "default": lambda samples, m=mix: m(*default_collate(samples)),
    "lines": in_two_lines,
    "object": Mixes(mix),
    "method": Mixes(mix).method,
    "partial method": partial(Mixes(mix).method),
}


@pytest.mark.parametrize("name", COLLATING)
def test_collate_functions(tmp_path: Path, name: str) -> None:
    data = folder(tmp_path / "images")
    arguments = {"batch_size": 8, "collate_fn": COLLATING[name]}
    loader = Ours(data, **arguments)
    assert loader.native, loader.fallback_reason
    for ours, theirs in zip(loader, Theirs(data, **arguments)):
        assert same(list(ours), list(theirs))


def test_collate_functions_that_do_more() -> None:
    for function in (
        lambda samples: default_collate(samples[1:]),
        lambda samples: default_collate(samples)[0],
        partial(mixes),
        partial(mixes, samples=[]),
        Mixes(None),
    ):
        assert recognised(function) is function


# ---- Labels, and what to load: called as they are ----------------------------


def test_functions_that_are_called(tmp_path: Path) -> None:
    """A target_transform and is_valid_file may be anything."""
    from torchvision.datasets import ImageFolder

    numpy = pytest.importorskip("numpy")
    root = folder(tmp_path / "images").root
    valid = partial(lambda path, end: path.endswith(end), end="1.jpg")
    chain = T.Compose([FLIPPED, T.Resize((8, 8)), T.PILToTensor()])
    for on_label in (
        partial(pow, 2),
        numpy.vectorize(lambda label: label + 3),
        [5, 6, 7].__getitem__,
        functools.lru_cache(lambda label: label * 2),
    ):
        data = ImageFolder(
            root, chain, target_transform=on_label, is_valid_file=valid
        )
        loader = Ours(data, batch_size=2)
        assert loader.native, loader.fallback_reason
        assert_same(list(loader), list(Theirs(data, batch_size=2)))


# ---- One layer after the other -----------------------------------------------


def test_plain() -> None:
    def f(a: Any, b: Any, c: Any = 3, *, d: Any = 4) -> Any:
        return a

    found = plain(partial(partial(f, 1), c=5))
    assert found is not None and found.function is f
    assert found.bound == {"a": 1, "c": 5, "d": 4} and found.inputs == ("b",)
    assert plain(partial(f, a=1)) is None  # the caller's would be a again
    assert plain(partial(f, 1, 2, 3, 4)) is None
    assert plain(partial(f, e=1)) is None
    assert plain(len) is None and plain(3) is None and plain(int) is None
    loop = partial(f)
    loop.__setstate__((loop, (), {}, {}))
    assert plain(loop) is None
