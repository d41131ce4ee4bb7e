# SPDX-License-Identifier: Apache-2.0
"""What the tests of the frameworks share: a small network and its data.

Images are made by the fixture image_folder. The chain has nothing random, so
that a native batch can be held against torch's; what is random is the order.
"""

from __future__ import annotations

import random
import warnings
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Tuple

import numpy
import pytest
import torch
import torchvision
from torch import nn
from torchvision import transforms

import feedline.torch

torch.set_num_threads(1)  # of sums: the images here are small

SIZE = 24
CLASSES = 3
# Pixels are of the order of 1, and may differ in the last bit.
TOLERANCE = 1e-6


def dataset(folder: Any) -> torchvision.datasets.ImageFolder:
    """torchvision's ImageFolder with a chain that runs natively."""
    chain = [
        transforms.Resize(SIZE),
        transforms.CenterCrop(SIZE),
        transforms.ToTensor(),
        transforms.Normalize((0.5, 0.5, 0.5), (0.25, 0.25, 0.25)),
    ]
    return torchvision.datasets.ImageFolder(
        str(folder), transforms.Compose(chain)
    )


def drawing(folder: Any) -> torchvision.datasets.ImageFolder:
    """The same folder with transforms that draw random numbers."""
    chain = [
        transforms.RandomResizedCrop(SIZE),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
    ]
    return torchvision.datasets.ImageFolder(
        str(folder), transforms.Compose(chain)
    )


def seed_worker(worker_id: int) -> None:
    """The worker_init_fn of PyTorch's notes on reproducibility."""
    worker_seed = torch.initial_seed() % 2**32
    numpy.random.seed(worker_seed)
    random.seed(worker_seed)


def recipe(folder: Any) -> Dict[str, Any]:
    """Arguments of a DataLoader as those notes have them."""
    generator = torch.Generator()
    generator.manual_seed(0)
    return {
        "dataset": drawing(folder),
        "batch_size": 4,
        "shuffle": True,
        "num_workers": 2,
        "worker_init_fn": seed_worker,
        "generator": generator,
    }


def network(seed: int = 5) -> nn.Module:
    """A few weights, the same for the same seed; images in, scores out."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(3, 4, 3, stride=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Linear(16, CLASSES),
        )


class Classifier(nn.Module):
    """The network as transformers' Trainer wants a model."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = network()

    def forward(self, pixel_values: Any, labels: Any = None) -> Any:
        scores = self.inner(pixel_values)
        if labels is None:
            return {"logits": scores}
        loss = nn.functional.cross_entropy(scores, labels)
        return {"loss": loss, "logits": scores}


def steps(loader: Any, model: nn.Module, epochs: int = 1) -> List[float]:
    """Trains, and returns the loss of each step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
    return losses


@contextmanager
def natively() -> Iterator[None]:
    """A loader that falls back to torch's is an error in here."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", feedline.torch.FallbackWarning)
        yield


def delivered(loader: Any) -> int:
    """How many samples the native engine of a loader has delivered."""
    assert loader.native, loader.fallback_reason
    return int(loader.stats()["stats"]["samples"])


def v2() -> Any:
    found = pytest.importorskip("torchvision.transforms.v2")
    if not hasattr(found, "MixUp"):
        pytest.skip("torchvision %s has no MixUp" % torchvision.__version__)
    return found


def mixed(drawn: Any, pixels: Any, labels: Any, classes: int) -> Any:
    """Images and targets as torchvision mixes them, with what was drawn for a
    batch (a feedline.annotations.Mix) in place of its own draws."""
    params = {"lam": drawn.share}
    if drawn.kind == "cutmix":
        params = {"box": drawn.box, "lam_adjusted": drawn.share}
    kind = v2().CutMix if drawn.kind == "cutmix" else v2().MixUp
    mix = kind(num_classes=classes)
    mix.make_params = lambda flat: params
    mix._get_params = mix.make_params  # before torchvision 0.21
    return mix(pixels, labels)


def copies(loader: Any) -> List[Tuple[torch.Tensor, torch.Tensor]]:
    """The batches of an epoch, each as (images, labels)."""
    return [(images.clone(), labels.clone()) for images, labels in loader]


def assert_equal_batches(ours: Any, theirs: Any) -> None:
    """Same batches in the same order: labels exactly, pixels all but."""
    ours, theirs = list(ours), list(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert a[1].tolist() == b[1].tolist()
        torch.testing.assert_close(a[0], b[0], rtol=0, atol=TOLERANCE)


def assert_equal_epochs(ours: Any, theirs: Any, epochs: int = 2) -> None:
    """Both loaders give the same epochs from the same state of torch's
    generator, and leave it alike; ours gives them natively.
    """
    for seed in range(epochs):
        torch.manual_seed(seed)
        with natively():
            mine = copies(ours)
        state = torch.get_rng_state()
        torch.manual_seed(seed)
        assert_equal_batches(mine, theirs)
        assert torch.equal(state, torch.get_rng_state())
