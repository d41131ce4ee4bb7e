# SPDX-License-Identifier: Apache-2.0
"""A small network trained with a modern recipe, with and without MixUp and
CutMix, once on feedline's batches and once on torchvision's: with the same
draws, the losses are the same.

torchvision's images are made from what `Loader.draws` tells of each sample, as
tests/decode/ops/ops_parity.py does for single operations.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, Iterator, List, Tuple

import pytest

pytest.importorskip("torchvision")

import torch  # noqa: E402
from torch import nn  # noqa: E402

import feedline  # noqa: E402
import images  # noqa: E402
import training  # noqa: E402

SIDE, CLASSES, BATCH, EPOCHS = 24, 3, 8, 4
RECIPE = [
    "random_resized_crop width=%d height=%d" % (SIDE, SIDE),
    "horizontal_flip",
    "trivial_augment_wide interpolation=bilinear",
    "normalize mean=0.485,0.456,0.406 std=0.229,0.224,0.225",
    "random_erasing p=0.5",
]
MIX = "mix mixup_alpha=0.2 cutmix_alpha=1.0"


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, CLASSES),
    )


def losses(batches: Iterator[Tuple[Any, Any]]) -> List[float]:
    model = network()
    step = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    found = []
    for pixels, labels in batches:
        smooth = nn.functional.cross_entropy(
            model(pixels), labels, label_smoothing=0.1
        )
        step.zero_grad()
        smooth.backward()
        step.step()
        found.append(float(smooth))
    return found


def tint(path: Path, channel: int) -> None:
    """Something to learn: a colour for each class."""
    bands = list(images.Image.open(path).split())
    for other in {0, 1, 2} - {channel}:
        bands[other] = bands[other].point(lambda level: level // 4)
    images.Image.merge("RGB", bands).save(path)


@pytest.mark.parametrize("mix", [[], [MIX]], ids=["plain", "mixed"])
def test_the_losses_are_torchvision_s(tmp_path: Path, mix: List[str]) -> None:
    root = Path(__file__).resolve().parents[1] / "decode" / "ops"
    sys.path.insert(0, str(root))
    parity = importlib.import_module("ops_parity")
    images.make_folder(tmp_path, classes=CLASSES, per_class=8, size=None)
    for path in tmp_path.glob("*/*"):
        tint(path, int(path.parent.name[-1]))
    dataset = feedline.Dataset.open(str(tmp_path))
    loader = feedline.Loader(
        dataset,
        parity.pipeline_of(feedline, RECIPE + mix),
        batch_size=BATCH,
        shuffle=True,
        seed=5,
        epochs=EPOCHS,
        rounding="divide",
        pillow=feedline.options.option_pillow() or "12",
    )
    seen: List[Tuple[int, List[int], Any, Any]] = []

    def ours() -> Iterator[Tuple[Any, Any]]:
        for _ in range(EPOCHS):
            for batch in loader:
                labels = torch.from_dlpack(batch.labels).clone()
                drawn = batch.mixes[0] if mix else None
                seen.append((batch.epoch, batch.sample_index, labels, drawn))
                targets = batch.targets if mix else batch.labels
                yield tuple(map(torch.from_dlpack, (batch.images, targets)))

    def theirs() -> Iterator[Tuple[Any, Any]]:
        for epoch, indices, labels, mixed in seen:
            made = []
            for index in indices:
                with images.Image.open(dataset.path(index)) as file:
                    image = file.convert("RGB")
                drawn = loader.draws(epoch, index, *image.size)
                pixels = parity.reference(image, RECIPE, drawn["operations"])
                made.append(torch.from_numpy(pixels))
            if mixed:
                yield training.mixed(mixed, torch.stack(made), labels, CLASSES)
            else:
                yield torch.stack(made), labels

    torch.set_num_threads(1)  # of sums in one order
    wanted = losses(ours())
    assert len(wanted) == EPOCHS * 3
    assert losses(theirs()) == pytest.approx(wanted, rel=1e-5)
    assert len(set(wanted)) == len(wanted)
    assert sum(wanted[-3:]) < sum(wanted[:3])  # it learns
