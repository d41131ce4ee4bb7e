# SPDX-License-Identifier: Apache-2.0
"""Boxes that move with their images: CocoDetection and VOCDetection, wrapped
for v2, with the presets of torchvision's detection references."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, Tuple

import pytest

from moving_cases import check, coco_file, pycocotools, tv_tensors, voc_tree
from moving_cases import wrap, zipped
from torch_cases import Ours, Theirs, same, torch, torchvision, v2

__all__ = ["pycocotools"]  # a fixture

KEYS = ["boxes", "labels", "image_id", "area"]
MEAN = (123.0, 117.0, 104.0)
TAIL = [
    v2.PILToTensor(),
    v2.ToDtype(torch.float32, scale=True),
    v2.ConvertBoundingBoxFormat("XYXY"),
    v2.SanitizeBoundingBoxes(),
    v2.ToPureTensor(),
]
FLIP = v2.RandomHorizontalFlip()
PRESETS = {
    "hflip": [FLIP],
    "multiscale": [v2.RandomShortestSize((40, 44, 52, 60), 90), FLIP],
    "jitter": [v2.ScaleJitter((64, 64)), FLIP],
    "ssd": [
        v2.RandomPhotometricDistort(),
        v2.RandomZoomOut(fill={"others": MEAN, tv_tensors.Mask: 0}),
        v2.RandomIoUCrop(),
        FLIP,
    ],
    "ssdlite": [v2.RandomIoUCrop(), FLIP],
}


@pytest.fixture
def coco(tmp_path: Path, pycocotools: None) -> Any:
    """Without the image that has no objects."""
    found = all_of_coco(tmp_path)
    return torch.utils.data.Subset(found, [0, 1, 3, 4, 5])


def all_of_coco(root: Path, keys: Any = KEYS) -> Any:
    file = coco_file(root)
    found = torchvision.datasets.CocoDetection(
        str(root / "images"), str(file), transforms=v2.Compose(TAIL)
    )
    return wrap(found, target_keys=keys)


@pytest.fixture
def voc(tmp_path: Path) -> Any:
    found = torchvision.datasets.VOCDetection(
        str(voc_tree(tmp_path)), "2007", transforms=v2.Compose(TAIL)
    )
    return wrap(found)


@pytest.mark.parametrize("name", PRESETS)
def test_presets(coco: Any, name: str) -> None:
    check(coco, v2.Compose([*PRESETS[name], *TAIL]))


def test_types_of_torchvision(coco: Any) -> None:
    tail = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    loader = check(coco, v2.Compose([FLIP, *tail]))
    images, targets = next(iter(loader))
    assert type(images[0]) is tv_tensors.Image
    assert type(targets[0]["boxes"]) is tv_tensors.BoundingBoxes


@pytest.mark.usefixtures("known_only")
def test_integers(voc: Any) -> None:
    check(voc, v2.Compose([FLIP, *TAIL]))
    check(voc, v2.Compose([*PRESETS["ssd"], *TAIL]))
    voc.transforms = v2.Compose([*PRESETS["multiscale"], *TAIL])
    reason = Ours(voc, 2, collate_fn=zipped).fallback_reason
    assert reason is not None and "integers" in reason


@pytest.mark.usefixtures("known_only")
def test_images_without_boxes(tmp_path: Path, pycocotools: None) -> None:
    every = all_of_coco(tmp_path)
    reason = Ours(every, 2, collate_fn=zipped).fallback_reason
    assert reason is not None and "Subset" in reason
    loader = check(every, v2.Compose([FLIP, v2.PILToTensor()]))
    targets = [t for _, some in loader for t in some]
    assert targets[2] == {"image_id": 12}


def test_as_torchs_loader(coco: Any) -> None:
    """Without draws, batch by batch, types and all."""
    coco.dataset.transforms = v2.Compose(TAIL)
    for collate in (zipped, lambda batch: batch, lambda b: list(zip(*b))):
        arguments = {"batch_size": 2, "collate_fn": collate}
        ours, theirs = Ours(coco, **arguments), Theirs(coco, **arguments)
        assert ours.native, ours.fallback_reason
        assert all(same(a, b) for a, b in zip(ours, theirs))


class Preset:
    def __init__(self) -> None:
        self.transforms = v2.Compose([FLIP, *TAIL])

    def __call__(self, img: Any, target: Any) -> Any:
        return self.transforms(img, target)


def test_a_class_that_forwards(coco: Any) -> None:
    coco.dataset.transforms = Preset()
    assert Ours(coco, 2, collate_fn=zipped).native


class Own(v2.Transform):
    def transform(self, inpt: Any, params: Any) -> Any:
        return inpt


REFUSED = [
    ([FLIP, Own(), *TAIL], zipped, "transforms[1] Own"),
    ([v2.TrivialAugmentWide(), *TAIL], zipped, "TrivialAugmentWide"),
    ([v2.Lambda(lambda x: x), *TAIL], zipped, "Lambda"),
    (TAIL, lambda b: (torch.stack([i for i, _ in b]), b), "collated"),
    ([*TAIL[:2], v2.ConvertBoundingBoxFormat("XYWH")], zipped, "XYXY"),
    ([v2.SanitizeBoundingBoxes(labels_getter=None)], zipped, "labels_getter"),
]


@pytest.mark.usefixtures("known_only")
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(coco: Any, case: Tuple[Any, Any, str]) -> None:
    chain, collate, why = case
    coco.dataset.transforms = v2.Compose(chain)
    reason = Ours(coco, 2, collate_fn=collate).fallback_reason
    assert reason is not None and why in reason


def test_outlines_are_refused(tmp_path: Path, pycocotools: None) -> None:
    every = all_of_coco(tmp_path, ["boxes", "labels", "masks"])
    reason = Ours(every, 2, collate_fn=zipped).fallback_reason
    assert reason is not None and "masks" in reason


def test_fill_by_type() -> None:
    """As the references write it."""
    from feedline.torch.chain_pairs import read_pair

    fill = defaultdict(lambda: MEAN, {tv_tensors.Mask: 0})
    fill["others"] = MEAN
    chain = v2.Compose([v2.RandomZoomOut(fill=fill), v2.ToImage()])
    name, arguments, _ = read_pair(chain, "boxes").ops[0]
    assert name == "random_zoom_out" and dict(arguments)["fill"] == MEAN
