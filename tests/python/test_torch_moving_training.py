# SPDX-License-Identifier: Apache-2.0
"""Small networks trained on boxes and on masks, once on feedline's batches and
once through torch's own loader with the same draws: the losses are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any, List

import pytest

from moving_cases import coco_file, pycocotools, remade, tv_tensors, voc_tree
from moving_cases import wrap, zipped
from torch_cases import Ours, Theirs, torch, torchvision, v2

__all__ = ["pycocotools"]  # a fixture

nn = torch.nn
EPOCHS = 4
TAIL = [v2.PILToTensor(), v2.ToDtype(torch.float32, scale=True)]


def network(outputs: int) -> Any:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, padding=2, dilation=2),
        nn.ReLU(),
        nn.Conv2d(8, outputs, 1),
    )


def losses(batches: Any, outputs: int, loss_of: Any) -> List[float]:
    torch.set_num_threads(1)  # of sums in one order
    model = network(outputs)
    step = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    found = []
    for images, targets in batches:
        loss = sum(
            loss_of(model(i[None])[0], t) for i, t in zip(images, targets)
        )
        step.zero_grad()
        loss.backward()
        step.step()
        found.append(loss.item())
    return found


def compare(dataset: Any, chain: Any, outputs: int, loss_of: Any) -> None:
    getattr(dataset, "dataset", dataset).transforms = chain
    loader = Ours(dataset, 3, collate_fn=zipped, seed=7)
    assert loader.native, loader.fallback_reason
    ours = [batch for _ in range(EPOCHS) for batch in loader]
    theirs = [
        batch
        for epoch in range(EPOCHS)
        for batch in Theirs(
            remade(dataset, chain, epoch, 7), 3, collate_fn=zipped
        )
    ]
    wanted = losses(theirs, outputs, loss_of)
    assert losses(ours, outputs, loss_of) == pytest.approx(wanted, rel=1e-6)
    assert len(wanted) == 2 * EPOCHS and len(set(wanted)) == len(wanted)


def of_masks(made: Any, mask: Any) -> Any:
    return nn.functional.cross_entropy(
        made[None], mask.long(), ignore_index=255
    )


def of_boxes(made: Any, target: Any) -> Any:
    """What a network without anchors learns: classes in the boxes' middles,
    and how far their edges are."""
    boxes = target["boxes"]
    x = (boxes[:, 0] + boxes[:, 2]).div(2).long()
    y = (boxes[:, 1] + boxes[:, 3]).div(2).long()
    at = made[:, y, x].t()
    classes = nn.functional.cross_entropy(at[:, 4:], target["labels"])
    return classes + nn.functional.smooth_l1_loss(at[:, :4], boxes / 50)


def test_segmentation(tmp_path: Path) -> None:
    dataset = wrap(
        torchvision.datasets.VOCSegmentation(
            str(voc_tree(tmp_path)), "2007", transforms=v2.ToImage()
        )
    )
    chain = v2.Compose(
        [
            v2.RandomResize(26, 60),
            v2.RandomHorizontalFlip(),
            v2.RandomCrop(
                40,
                pad_if_needed=True,
                fill={"others": 0, tv_tensors.Mask: 255},
            ),
            *TAIL,
            v2.ToPureTensor(),
        ]
    )
    compare(dataset, chain, 21, of_masks)


def test_detection(tmp_path: Path, pycocotools: None) -> None:
    file = coco_file(tmp_path)
    every = wrap(
        torchvision.datasets.CocoDetection(
            str(tmp_path / "images"), str(file), transforms=v2.ToImage()
        )
    )
    chain = v2.Compose(
        [
            v2.RandomPhotometricDistort(),
            v2.RandomZoomOut(fill={"others": (123, 117, 104)}),
            v2.RandomIoUCrop(),
            v2.RandomHorizontalFlip(),
            *TAIL,
            v2.SanitizeBoundingBoxes(),
            v2.ToPureTensor(),
        ]
    )
    dataset = torch.utils.data.Subset(every, [0, 1, 3, 4, 5])
    compare(dataset, chain, 4 + 6, of_boxes)
