# SPDX-License-Identifier: Apache-2.0
"""What the tests of feedline.torch share: data sets and comparisons.

The reference is always torch's own DataLoader on the same data set. Transforms
are deterministic and end in uint8, so equal means equal to the bit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

torch = pytest.importorskip("torch", reason="no torch")
torchvision = pytest.importorskip("torchvision", reason="no torchvision")

import feedline.torch  # noqa: E402
from images import make_folder  # noqa: E402

try:
    from torchvision.transforms import v2
except ImportError:
    v2 = None

Ours = feedline.torch.DataLoader
BlockSampler = feedline.torch.BlockSampler
Theirs = torch.utils.data.DataLoader
T = torchvision.transforms
# A test of both families of transforms, as its argument T.
families = pytest.mark.parametrize(
    "T",
    [
        T,
        pytest.param(
            v2,
            marks=pytest.mark.skipif(
                v2 is None, reason="this torchvision has no transforms.v2"
            ),
        ),
    ],
    ids=["v1", "v2"],
)
data = torch.utils.data


def generator() -> Any:
    return torch.Generator().manual_seed(8)


# Arguments of a loader that say in which order samples come, for a data set.
SAMPLERS: Dict[str, Callable[[Any], Dict[str, Any]]] = {
    "sequential": lambda d: {},
    "shuffled": lambda d: {"shuffle": True},
    "generator": lambda d: {"shuffle": True, "generator": generator()},
    "own generator": lambda d: {
        "sampler": data.RandomSampler(d, generator=generator())
    },
    "replacement": lambda d: {
        "sampler": data.RandomSampler(d, replacement=True, num_samples=41)
    },
    "weighted": lambda d: {
        "sampler": data.WeightedRandomSampler([1.0, 2.0, 3.0] * 8, 40)
    },
    "subset": lambda d: {"sampler": data.SubsetRandomSampler(range(2, 20))},
    "block": lambda d: {"sampler": BlockSampler(d, block=3, lanes=2)},
}


def folder(root: Path, transform: Any = None, **of_images: Any) -> Any:
    """An ImageFolder of 24 small images in 3 classes, resized to 8 x 8."""
    if not root.is_dir():
        make_folder(root, **{"size": (24, 20), **of_images})
    chain = transform or T.Compose([T.Resize((8, 8)), T.PILToTensor()])
    return torchvision.datasets.ImageFolder(str(root), chain)


def six_batches(folder: Path, side: int = 16, **arguments: Any) -> Any:
    """A native loader of the fixture image_folder, in batches of four."""
    chain = T.Compose([T.Resize((side, side)), T.ToTensor()])
    images = torchvision.datasets.ImageFolder(str(folder), chain)
    arguments = {"batch_size": 4, "num_workers": 2, **arguments}
    return Ours(images, **arguments)


def engine_of(found: Any, **options: Any) -> Any:
    """An engine for a plan, whose batches are the whole data set."""
    return feedline.Loader(
        found.dataset,
        found.pipeline,
        order="given",
        workers=2,
        **{"batch_size": len(found.dataset), **found.options, **options},
    )


def epoch_of(engine: Any, epoch: int, places: Any, seed: int = 0) -> Any:
    """Images and labels of these samples, as the engine makes them."""
    engine.begin(epoch, seed=seed)
    engine.append(list(places))
    engine.end()
    batch = engine.next()
    found = [torch.from_dlpack(part) for part in (batch.images, batch.labels)]
    batch.release()
    return [part.clone() for part in found]


def augmented() -> Any:
    """A chain that draws."""
    return T.Compose(
        [T.RandomResizedCrop(8), T.RandomHorizontalFlip(), T.PILToTensor()]
    )


# What tensors of torchvision's have beside their numbers.
ABOUT = ("canvas_size", "format", "clamping_mode")


def same(ours: Any, theirs: Any) -> bool:
    """Whether two batches are equal, in types and to the bit."""
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, torch.Tensor):
        return (
            ours.dtype == theirs.dtype
            and ours.shape == theirs.shape
            and torch.equal(ours.as_subclass(torch.Tensor), theirs)
            and all(
                getattr(ours, name, None) == getattr(theirs, name, None)
                for name in ABOUT
            )
        )
    if hasattr(ours, "dtype") and hasattr(ours, "tobytes"):  # NumPy's
        return (
            bool(ours.dtype == theirs.dtype)
            and ours.shape == theirs.shape
            and ours.tobytes() == theirs.tobytes()
        )
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(
            same(value, theirs[key]) for key, value in ours.items()
        )
    if isinstance(ours, (list, tuple)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return bool(ours == theirs)


def assert_same(ours: List[Any], theirs: List[Any]) -> None:
    assert len(ours) == len(theirs)
    for number, (a, b) in enumerate(zip(ours, theirs)):
        assert same(a, b), "batch %d" % number


def events(loader: Any, epochs: int = 1) -> List[Any]:
    """What comes, in its order; an exception as itself."""
    found: List[Any] = []
    for _ in range(epochs):
        batches = iter(loader)
        while True:
            try:
                found.append(next(batches))
            except StopIteration:
                break
            except Exception as error:
                found.append(error)
    return found


def both(
    dataset: Any,
    epochs: int = 1,
    seed: int = 5,
    sampler: Callable[[Any], Dict[str, Any]] = lambda dataset: {},
    **arguments: Any,
) -> List[Any]:
    """Runs both loaders from the same seed: batches of all epochs, and the
    global generator's state behind them; asserts that they are equal.

    sampler: makes the arguments that a loader may not share with another.
    torch's loader runs without workers, which changes none of it, and is much
    faster to start; but persistent ones it has, as these draw less.
    """
    found = []
    for loader_type in (Ours, Theirs):
        torch.manual_seed(seed)
        own = {**sampler(dataset), **arguments}
        if loader_type is Theirs and not own.get("persistent_workers"):
            own.pop("num_workers", None)
        loader = loader_type(dataset, **own)
        if loader_type is Ours:
            assert loader.fallback_reason is None
        batches = [batch for _ in range(epochs) for batch in loader]
        found.append((batches, torch.get_rng_state()))
    assert_same(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])
    return found[0][0]
