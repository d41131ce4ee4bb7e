# SPDX-License-Identifier: Apache-2.0
"""Training parity: the same losses through torch's loader and through ours.

A small network, three epochs, the same seeds. With a chain that draws nothing
both see the same images. With one that draws, torch's loader gets a data set
that does again what the engine drew, so that whatever differs in the end is
feedline's.
"""
from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
pytest.importorskip("PIL.Image")

from torchvision import datasets, transforms  # noqa: E402

import feedline.torch  # noqa: E402
from feedline.torch.native import plan  # noqa: E402

import replay  # noqa: E402
from training import network  # noqa: E402

EPOCHS = 3
BATCH = 5
NORMALIZE = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
PLAIN = transforms.Compose(
    [
        transforms.Resize(30),
        transforms.CenterCrop(24),
        transforms.ToTensor(),
        NORMALIZE,
    ]
)
DRAWING = transforms.Compose(
    [
        transforms.RandomResizedCrop(24),
        transforms.RandomHorizontalFlip(),
        transforms.ColorJitter(0.4, 0.4, 0.4, 0.1),
        transforms.ToTensor(),
        NORMALIZE,
        transforms.RandomErasing(0.5),
    ]
)


class Replayed(torch.utils.data.Dataset):  # type: ignore[misc]
    """What the engine draws, done by torchvision."""

    def __init__(self, dataset: Any, transform: Any) -> None:
        self.samples, self.transform = dataset.samples, transform
        found = plan(dataset)
        self._engine = feedline.Loader(
            found.dataset, found.pipeline, order="given", **found.options
        )
        self.seed = 0

    def __len__(self) -> int:
        return len(self.samples)

    def begin(self, seed: int) -> None:
        """Draws are those of a loader with that seed from here on."""
        self._engine.begin(0, seed=seed)

    def __getitem__(self, index: int) -> Tuple[Any, int]:
        path, label = self.samples[index]
        image = replay.open_image(path)
        drawn = self._engine.draws(0, index, image.width, image.height)
        result = replay.replay(self.transform, image, drawn["operations"])
        return result, label


def train(loader: Any, seeds: List[int]) -> List[float]:
    """The loss of each step."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    torch.manual_seed(11)
    for epoch in range(EPOCHS):
        iterator = iter(loader)
        seeds.append(iterator._base_seed)
        begin = getattr(loader.dataset, "begin", None)
        if begin:
            begin(iterator._base_seed)
        for images, labels in iterator:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        losses.append(torch.rand(1).item())  # the generator is where it was
    return losses


def ours(dataset: Any, **options: Any) -> Any:
    return feedline.torch.DataLoader(
        dataset, batch_size=BATCH, shuffle=True, num_workers=2, **options
    )


def compare(dataset: Any, reference: Any, **options: Any) -> Dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", feedline.torch.FallbackWarning)
        loader = ours(dataset, **options)
        our_seeds: List[int] = []
        found = train(loader, our_seeds)
    assert loader.native and loader.fallback_reason is None
    seeds: List[int] = []
    plain = torch.utils.data.DataLoader(
        reference, batch_size=BATCH, shuffle=True, num_workers=0, **options
    )
    wanted = train(plain, seeds)
    assert seeds == our_seeds
    assert len(found) == len(wanted) > EPOCHS
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-5)
    assert len(set(found)) > EPOCHS
    return {"found": found, "wanted": wanted}


def test_a_chain_without_draws(image_folder: Path) -> None:
    dataset = datasets.ImageFolder(str(image_folder), PLAIN)
    compare(dataset, dataset)
    compare(dataset, dataset, drop_last=True)


def test_a_chain_that_draws(image_folder: Path) -> None:
    dataset = datasets.ImageFolder(str(image_folder), DRAWING)
    compare(dataset, Replayed(dataset, DRAWING))


def test_other_pixels_would_show(image_folder: Path) -> None:
    """The tolerance is not so wide that anything passes."""
    dataset = datasets.ImageFolder(str(image_folder), PLAIN)
    shifted = transforms.Compose(
        [transforms.Resize(30), transforms.RandomCrop(24)]
        + PLAIN.transforms[2:]
    )
    other = datasets.ImageFolder(str(image_folder), shifted)
    with pytest.raises(AssertionError):
        compare(dataset, other)


def test_our_folder_is_the_same_training(image_folder: Path) -> None:
    theirs = datasets.ImageFolder(str(image_folder), PLAIN)
    compare(feedline.torch.ImageFolder(image_folder, PLAIN), theirs)
