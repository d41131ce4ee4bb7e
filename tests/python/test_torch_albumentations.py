# SPDX-License-Identifier: Apache-2.0
"""Data sets that read with OpenCV and augment with albumentations, as they are:
batches are torch's, to the bit, and which transforms stay deferred."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

import images
import needs
from recorded_sets import equal
from torch_cases import Ours, Theirs, torch

np = pytest.importorskip("numpy")
cv2 = pytest.importorskip("cv2", reason="no OpenCV")
os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
A = pytest.importorskip("albumentations", reason="no albumentations")

needs.deferred_tensors()

SIDE = 48
Chain = Callable[[], List[Any]]

# Whose pixels the engine makes.
NATIVE: Dict[str, Chain] = {
    "HorizontalFlip": lambda: [A.HorizontalFlip()],
    "VerticalFlip": lambda: [A.VerticalFlip()],
    "RandomRotate90": lambda: [A.RandomRotate90()],
    "Transpose": lambda: [A.Transpose()],
    "D4": lambda: [A.D4()],
    "PadIfNeeded": lambda: [A.PadIfNeeded(80, 90)],
    "PadIfNeeded by a colour": lambda: [
        A.PadIfNeeded(80, 90, border_mode=0, fill=(9, 99, 200), fill_mask=3)
    ],
    "CenterCrop": lambda: [A.CenterCrop(32, 40)],
    "Resize": lambda: [A.Resize(33, 60)],
    "SmallestMaxSize": lambda: [A.SmallestMaxSize(64)],
    "LongestMaxSize": lambda: [A.LongestMaxSize(40), A.PadIfNeeded(40, 40)],
    "RandomResizedCrop": lambda: [A.RandomResizedCrop((32, 32))],
    "RandomScale": lambda: [A.RandomScale(0.3), A.RandomCrop(30, 30)],
    "Affine": lambda: [A.Affine(scale=(0.8, 1.2), rotate=20, shear=5)],
    "ShiftScaleRotate": lambda: [A.ShiftScaleRotate()],
    "Rotate": lambda: [A.Rotate(30, border_mode=cv2.BORDER_REFLECT_101)],
    "Perspective": lambda: [A.Perspective()],
    "ElasticTransform": lambda: [A.ElasticTransform(alpha=20, sigma=4)],
    "GridDistortion": lambda: [A.GridDistortion()],
    "OpticalDistortion": lambda: [A.OpticalDistortion()],
    "RandomBrightnessContrast": lambda: [A.RandomBrightnessContrast()],
    "RandomGamma": lambda: [A.RandomGamma()],
    "HueSaturationValue": lambda: [A.HueSaturationValue()],
    "RGBShift": lambda: [A.RGBShift()],
    "ChannelDropout": lambda: [A.ChannelDropout()],
    "ToGray": lambda: [A.ToGray()],
    "CLAHE": lambda: [A.CLAHE()],
    "Equalize": lambda: [A.Equalize()],
    "InvertImg": lambda: [A.InvertImg()],
    "Solarize": lambda: [A.Solarize()],
    "Posterize": lambda: [A.Posterize()],
    "Blur": lambda: [A.Blur()],
    "MedianBlur": lambda: [A.MedianBlur()],
    "GaussianBlur": lambda: [A.GaussianBlur(p=0.9)],
    "ColorJitter": lambda: [A.ColorJitter(p=0.9)],
    "GaussNoise": lambda: [A.GaussNoise()],
    "SaltAndPepper": lambda: [A.SaltAndPepper()],
    "ChannelShuffle": lambda: [A.ChannelShuffle()],
    "ImageCompression": lambda: [
        A.ImageCompression(quality_range=(20, 100), p=0.9)
    ],
    "MotionBlur": lambda: [A.MotionBlur()],
    "Sharpen": lambda: [A.Sharpen()],
    "CoarseDropout": lambda: [A.CoarseDropout()],
    "OneOf": lambda: [A.OneOf([A.Blur(), A.RandomGamma(), A.HorizontalFlip()])],
    "SomeOf": lambda: [A.SomeOf([A.Transpose(), A.ToGray(), A.CLAHE()], n=2)],
    "Sequential": lambda: [A.Sequential([A.VerticalFlip(), A.InvertImg()])],
}


class Photos(torch.utils.data.Dataset):  # type: ignore[misc, type-arg]
    """An image and its mask, whichever library makes pixels of them."""

    def __init__(self, root: Path, chain: Chain) -> None:
        self.files = sorted(map(str, root.glob("*.jpg")))
        self.chain = A.Compose([*chain(), A.Normalize()], seed=4)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        image = cv2.imread(self.files[index])
        mask = cv2.imread(self.files[index][:-3] + "png", 0)
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        made = self.chain(image=image, mask=mask)
        pixels = np.ascontiguousarray(made["image"].transpose(2, 0, 1))
        return torch.from_numpy(pixels), made["mask"].astype("int64")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("photos"))


def make_photos(folder: Path) -> Path:
    for n in range(10):
        image = images.picture((SIDE, SIDE), n)
        image.save(folder / ("%02d.jpg" % n), quality=93)
        mask = image.convert("L").point([v // 60 for v in range(256)])
        mask.save(folder / ("%02d.png" % n))
    return folder


def batches(loader: Any) -> List[Any]:
    return [batch for _ in range(2) for batch in loader]


def assert_torchs(root: Path, chain: Chain) -> Any:
    torch.manual_seed(3)
    theirs = batches(Theirs(Photos(root, chain), 5, True, num_workers=1))
    torch.manual_seed(3)
    loader = Ours(Photos(root, chain), 5, True, num_workers=2, draws="torch")
    ours = batches(loader)
    assert len(ours) == len(theirs)
    assert all(equal(a, b) for a, b in zip(ours, theirs))
    return loader


@pytest.mark.parametrize("name", NATIVE)
def test_native(root: Path, name: str) -> None:
    loader = assert_torchs(root, NATIVE[name])
    assert loader.native and loader.recorded, loader.fallback_reason
    assert "made in Python" not in loader.explain()


def test_all_of_a_recipe(root: Path) -> None:
    loader = assert_torchs(
        root,
        lambda: [
            A.RandomResizedCrop((40, 40), scale=(0.4, 1.0)),
            A.HorizontalFlip(),
            A.ShiftScaleRotate(shift_limit=0.1, rotate_limit=20),
            A.OneOf([A.HueSaturationValue(), A.RandomBrightnessContrast()]),
            A.OneOf([A.MotionBlur(), A.MedianBlur(), A.Blur()]),
            A.CoarseDropout(),
        ],
    )
    assert loader.native, loader.fallback_reason
