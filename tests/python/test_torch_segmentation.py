# SPDX-License-Identifier: Apache-2.0
"""Masks that move with their images: data sets of torchvision, wrapped for v2,
with the preset of torchvision's segmentation references."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moving_cases import SIZES, check, save_images, tv_tensors
from moving_cases import voc_tree, wrap, zipped
from images import Image
from torch_cases import Ours, Theirs, same, torch, torchvision, v2

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
TAIL = [
    v2.PILToTensor(),
    v2.ToDtype(
        {torch.Tensor: torch.float32, tv_tensors.Mask: torch.int64}, scale=True
    ),
    v2.Normalize(MEAN, STD),
    v2.ToPureTensor(),
]
FLIP = v2.RandomHorizontalFlip()
TRAIN = [
    v2.RandomResize(26, 104),
    FLIP,
    v2.RandomCrop(
        48, pad_if_needed=True, fill={"others": 0, tv_tensors.Mask: 255}
    ),
]


@pytest.fixture
def voc(tmp_path: Path) -> Any:
    return wrap(
        torchvision.datasets.VOCSegmentation(
            str(voc_tree(tmp_path)), "2007", transforms=v2.Compose(TAIL)
        )
    )


def test_the_reference(voc: Any) -> None:
    loader = check(voc, v2.Compose([*TRAIN, *TAIL]), 6)
    for collate in (None, zipped):
        loader = Ours(voc, 3, collate_fn=collate)
        assert loader.native, loader.fallback_reason
        images, masks = next(iter(loader))
        assert images[0].shape == (3, 48, 48) and masks[0].shape == (1, 48, 48)
        assert masks[0].dtype == torch.int64


def test_images_of_their_own_sizes(voc: Any) -> None:
    check(voc, v2.Compose([v2.RandomResize(40, 41), *TAIL]))
    check(voc, v2.Compose([FLIP, v2.ToImage()]))


def test_as_torchs_loader(voc: Any) -> None:
    voc.transforms = v2.Compose([v2.Resize((30, 44)), *TAIL])
    for collate in (None, zipped):
        arguments = {"batch_size": 4, "collate_fn": collate}
        ours, theirs = Ours(voc, **arguments), Theirs(voc, **arguments)
        assert ours.native, ours.fallback_reason
        assert all(same(a, b) for a, b in zip(ours, theirs))


def test_pets(tmp_path: Path) -> None:
    base = tmp_path / "oxford-iiit-pet"
    names = save_images(base / "images")
    (base / "annotations" / "trimaps").mkdir(parents=True)
    lines = [f"{name} 1 1 1" for name in names]
    (base / "annotations" / "trainval.txt").write_text("\n".join(lines))
    for number, size in enumerate(SIZES):
        mask = Image.new("L", size, 1 + number % 3)
        mask.putpixel((3, 4), 2)
        mask.save(base / "annotations" / "trimaps" / f"{number}.png")
    pets = torchvision.datasets.OxfordIIITPet(
        str(tmp_path), target_types="segmentation", transform=v2.ToImage()
    )
    check(wrap(pets), v2.Compose([*TRAIN, *TAIL]))


def test_too_large_for_its_place(
    voc: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data set makes it."""
    from feedline.torch.moving import Moving

    monkeypatch.setattr(Moving, "largest", (80, 80))
    voc.transforms = v2.Compose([v2.ToImage()])
    ours = Ours(voc, 4, collate_fn=zipped)
    theirs = Theirs(voc, 4, collate_fn=zipped)
    assert ours.native, ours.fallback_reason
    assert all(same(a, b) for a, b in zip(ours, theirs))


def test_what_is_refused(voc: Any) -> None:
    voc.transforms = v2.Compose([v2.RandomIoUCrop(), *TAIL])
    reason = Ours(voc, 2).fallback_reason
    assert reason is not None and "a mask" in reason


@pytest.mark.parametrize(
    "first",
    [
        v2.RandomErasing(p=1),
        v2.Pad(2, fill={"others": 0, tv_tensors.Mask: 7}),
        v2.Pad(2, fill={tv_tensors.Image: (9, 99, 199), "others": 3}),
        v2.ToDtype({tv_tensors.Mask: torch.int64, "others": None}),
        v2.RandomAdjustSharpness(2, p=1),
        v2.Pad(2, padding_mode="reflect"),
    ],
    ids=lambda first: type(first).__name__,
)
def test_what_python_does_by_class(voc: Any, first: Any) -> None:
    """What the engine does not know runs in Python, where masks are masks."""
    voc.transforms = v2.Compose([first, v2.Resize((40, 40)), *TAIL])
    arguments = {"batch_size": 2, "num_workers": 1}
    torch.manual_seed(4)
    ours = Ours(voc, **arguments, draws="torch")
    got = list(ours)
    torch.manual_seed(4)
    for a, b in zip(got, Theirs(voc, **arguments)):
        assert same(a, b)
