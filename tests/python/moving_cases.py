# SPDX-License-Identifier: Apache-2.0
"""What tests of targets that move share: small data sets on disk, and samples
made again by torchvision from what the engine drew."""

from __future__ import annotations

import copy
import json
import sys
import types
from collections import defaultdict
from pathlib import Path
from typing import Any, Dict, List

import pytest

from torch_cases import Ours, engine_of, same, torch, torchvision, v2

from images import Image
import replay
from replay import pixels_of

if v2 is None or not hasattr(
    torchvision.datasets, "wrap_dataset_for_transforms_v2"
):
    pytest.skip("no wrap_dataset_for_transforms_v2", allow_module_level=True)

tv_tensors = torchvision.tv_tensors
wrap = torchvision.datasets.wrap_dataset_for_transforms_v2

SIZES = [(80, 60), (61, 83), (45, 45), (96, 64), (36, 70), (52, 64)]


def zipped(batch: Any) -> Any:
    return tuple(zip(*batch))


class COCO:
    """As pycocotools has it, as far as CocoDetection needs it."""

    def __init__(self, file: str) -> None:
        made = json.loads(Path(file).read_text())
        self.imgs = {image["id"]: image for image in made["images"]}
        self.anns = {note["id"]: note for note in made["annotations"]}
        self.imgToAnns: Dict[int, List[Any]] = defaultdict(list)
        for note in made["annotations"]:
            self.imgToAnns[note["image_id"]].append(note)

    def loadImgs(self, image: int) -> List[Any]:
        return [self.imgs[image]]

    def getAnnIds(self, image: int) -> List[int]:
        notes = self.imgToAnns[image] if image in self.imgToAnns else []
        return [note["id"] for note in notes]

    def loadAnns(self, ids: List[int]) -> List[Any]:
        return [self.anns[one] for one in ids]


COCO.__module__ = "pycocotools.coco"


@pytest.fixture
def pycocotools(monkeypatch: pytest.MonkeyPatch) -> None:
    package, module = types.ModuleType("pycocotools"), types.ModuleType("coco")
    setattr(module, "COCO", COCO)
    monkeypatch.setitem(sys.modules, "pycocotools", package)
    monkeypatch.setitem(sys.modules, "pycocotools.coco", module)


def save_images(folder: Path) -> List[str]:
    folder.mkdir(parents=True)
    for number, size in enumerate(SIZES):
        image = Image.fromarray(pixels_of(number, *size))
        image.save(folder / f"{number}.jpg", quality=92)
    return [str(number) for number in range(len(SIZES))]


def boxes_of(number: int, width: int, height: int) -> List[List[float]]:
    """Left, top, width, height of some, the last of which is thin."""
    rng = torch.Generator().manual_seed(number)
    found = []
    for i in range(1 + number % 4):
        x, y, w, h = torch.rand(4, generator=rng).tolist()
        found.append(
            [
                round(x * width * 0.6, 2),
                round(y * height * 0.6, 2),
                round(2 + w * width * 0.39, 2),
                0.4 if i == 3 else round(2 + h * height * 0.39, 2),
            ]
        )
    return found


def coco_file(root: Path) -> Path:
    """Images in another order than their ids; image 12 has no objects."""
    names = save_images(root / "images")
    images, notes = [], []
    for number in reversed(range(len(names))):
        width, height = SIZES[number]
        image = 10 + number
        images.append(
            {
                "id": image,
                "file_name": f"{number}.jpg",
                "width": width,
                "height": height,
            }
        )
        for box in boxes_of(number, width, height):
            if number != 2:
                notes.append(
                    {
                        "id": len(notes) + 1,
                        "image_id": image,
                        "category_id": 1 + len(notes) % 5,
                        "bbox": box,
                        "area": box[2] * box[3],
                        "iscrowd": 0,
                    }
                )
    file = root / "instances.json"
    file.write_text(json.dumps({"images": images, "annotations": notes}))
    return file


def voc_tree(root: Path) -> Path:
    """Boxes of integers, and masks with a palette, of VOC 2007."""
    base = root / "VOCdevkit" / "VOC2007"
    if base.exists():
        return root
    names = save_images(base / "JPEGImages")
    for folder in ("Annotations", "SegmentationClass"):
        (base / folder).mkdir()
    for kind in ("Main", "Segmentation"):
        (base / "ImageSets" / kind).mkdir(parents=True)
        listing = base / "ImageSets" / kind / "train.txt"
        listing.write_text("\n".join(names))
    for number, (width, height) in enumerate(SIZES):
        objects = ""
        for x, y, w, h in boxes_of(number, width, height):
            sides = zip(
                ("xmin", "ymin", "xmax", "ymax"), (x, y, x + w + 1, y + h + 1)
            )
            inside = "".join(f"<{s}>{int(v)}</{s}>" for s, v in sides)
            objects += f"<object><name>cat</name><bndbox>{inside}</bndbox>"
            objects += "<part><name>head</name></part></object>"
        (base / "Annotations" / f"{number}.xml").write_text(
            f"<annotation><size><width>{width}</width><height>{height}"
            f"</height></size>{objects}</annotation>"
        )
        mask = Image.fromarray(pixels_of(number, width, height)).convert("L")
        mask = mask.point(lambda level: level // 13)
        mask.putpalette([i * 7 % 256 for i in range(768)])
        mask.save(base / "SegmentationClass" / f"{number}.png")
    return root


# ---- torchvision with the engine's draws ------------------------------------


def given(t: Any, sample: Any, **params: Any) -> Any:
    """A transform that takes these in place of what it would draw."""
    t = copy.copy(t)
    t.make_params = t._get_params = lambda flat: params
    t.p = 1.0
    return t(sample)


def iou_crop(t: Any, sample: Any, d: Dict[str, Any]) -> Any:
    if "width" not in d:
        return sample
    place = {key: d[key] for key in ("width", "height")}
    place.update(left=d["x"], top=d["y"])
    boxes = sample[1]["boxes"]
    x, y = (0.5 * (boxes[:, i] + boxes[:, i + 2]) for i in (0, 1))
    inside = (d["x"] < x) & (x < d["x"] + d["width"])
    inside &= (d["y"] < y) & (y < d["y"] + d["height"])
    return given(t, sample, is_within_crop_area=inside, **place)


def zoom_out(t: Any, sample: Any, d: Dict[str, Any]) -> Any:
    if not d["done"]:
        return sample
    width, height = sample[0].size
    x, y = -d["x"], -d["y"]
    padding = [x, y, d["width"] - x - width, d["height"] - y - height]
    return given(t, sample, padding=padding)


def crop(t: Any, sample: Any, d: Dict[str, Any]) -> Any:
    height, width = t.size
    more = [max(0, a - b) for a, b in zip((width, height), sample[0].size)]
    return given(
        t,
        sample,
        needs_pad=any(more),
        padding=more,
        needs_crop=True,
        left=d["x"] + more[0],
        top=d["y"] + more[1],
        height=height,
        width=width,
    )


# Those that torchvision does to an image and its target alike are replay's.
DRAWN = {
    **replay.DRAWN,
    "RandomCrop": ("random_crop", crop),
    "RandomZoomOut": ("random_zoom_out", zoom_out),
    "RandomIoUCrop": ("random_iou_crop", iou_crop),
    "RandomPhotometricDistort": (
        "random_photometric_distort",
        lambda t, s, d: (replay.distort(t, s[0], d), s[1]),
    ),
}


def bare(dataset: Any, index: int) -> Any:
    """A wrapped data set's sample before its transforms."""
    kept, dataset.transforms = dataset.transforms, None
    try:
        return dataset[index]
    finally:
        dataset.transforms = kept


def remade(dataset: Any, chain: Any, epoch: int, seed: int) -> List[Any]:
    """Every sample as torchvision makes it of what the engine draws."""
    from feedline.torch.native import plan

    base = getattr(dataset, "dataset", dataset)
    engine = engine_of(plan(dataset))
    engine.begin(epoch, seed=seed)
    engine.end()
    found = []
    for index in getattr(dataset, "indices", range(len(base))):
        image, target = bare(base, index)
        drawn = engine.draws(epoch, index, *image.size)["operations"]
        found.append(replay.again(chain, (image, target), drawn, DRAWN))
    engine.close()
    return found


def check(dataset: Any, chain: Any, epochs: int = 3, **arguments: Any) -> Any:
    """Natively, and each sample as torchvision makes it of the same draws.

    Returns the loader.
    """
    getattr(dataset, "dataset", dataset).transforms = chain
    arguments = {"batch_size": 4, "collate_fn": zipped, **arguments}
    loader = Ours(dataset, seed=11, **arguments)
    assert loader.native, loader.fallback_reason
    for epoch in range(epochs):
        made = [s for images, targets in loader for s in zip(images, targets)]
        wanted = remade(dataset, chain, epoch, 11)
        assert len(made) == len(wanted)
        for ours, theirs in zip(made, wanted):
            assert same(ours, theirs), (ours, theirs)
    return loader
