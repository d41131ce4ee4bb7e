# SPDX-License-Identifier: Apache-2.0
"""What tests of targets that move share: small data sets on disk, and samples
made again by torchvision from what the engine drew."""

from __future__ import annotations

import json
import sys
import types
from collections import defaultdict
from pathlib import Path
from typing import Any, Dict, List

import pytest

from torch_cases import Ours, engine_of, torch, torchvision, v2

from images import Image
import replay
from replay import pixels_of

if v2 is None or not hasattr(
    torchvision.datasets, "wrap_dataset_for_transforms_v2"
):
    pytest.skip("no wrap_dataset_for_transforms_v2", allow_module_level=True)

F = v2.functional
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


def over(sample: Any, function: Any, *arguments: Any, **named: Any) -> Any:
    """A functional of v2 on the image and on what moves with it."""
    image, target = sample
    if isinstance(target, dict):
        moved = {
            key: function(value, *arguments, **named)
            if isinstance(value, tv_tensors.TVTensor)
            else value
            for key, value in target.items()
        }
    else:
        moved = function(target, *arguments, **named)
    return function(image, *arguments, **named), moved


def size_of(sample: Any) -> Any:
    return sample[0].size


def iou_crop(t: Any, sample: Any, d: Dict[str, Any]) -> Any:
    if "width" not in d:
        return sample
    target = sample[1]
    boxes = target["boxes"]
    x, y = (boxes[:, i] + boxes[:, i + 2] for i in (0, 1))
    x, y = 0.5 * x, 0.5 * y
    left, top, width, height = d["x"], d["y"], d["width"], d["height"]
    inside = (left < x) & (x < left + width) & (top < y) & (y < top + height)
    sample = over(sample, F.crop, top, left, height, width)
    sample[1]["boxes"][~inside] = 0
    return sample


def zoom_out(t: Any, sample: Any, d: Dict[str, Any]) -> Any:
    if not d["done"]:
        return sample
    width, height = size_of(sample)
    x, y = -d["x"], -d["y"]
    padding = [x, y, d["width"] - x - width, d["height"] - y - height]
    return each_filled(t, sample, F.pad, padding)


def each_filled(t: Any, sample: Any, function: Any, *arguments: Any) -> Any:
    image, target = sample
    fills = [
        v2._utils._get_fill(t._fill, kind)
        for kind in (type(image), tv_tensors.Mask)
    ]
    moved = over((image, target), function, *arguments)[1]
    if not isinstance(target, dict):
        moved = function(target, *arguments, fill=fills[1])
    return function(image, *arguments, fill=fills[0]), moved


def crop(t: Any, sample: Any, d: Dict[str, Any]) -> Any:
    height, width = t.size
    left, top = d["x"], d["y"]
    more = [max(0, a - b) for a, b in zip((width, height), size_of(sample))]
    if t.pad_if_needed and any(more):
        sample = each_filled(t, sample, F.pad, more)
        left, top = left + more[0], top + more[1]
    return over(sample, F.crop, top, left, height, width)


def resized(t: Any, sample: Any, d: Dict[str, Any]) -> Any:
    width, height = size_of(sample)
    if "scale" in d:
        a, b = t.target_size
        ratio = min(b / height, a / width) * torch.tensor([d["scale"]])
    elif "min_size" in d:
        ratio = d["min_size"] / min(width, height)
        if t.max_size is not None:
            ratio = min(ratio, t.max_size / max(width, height))
    size = (
        [d["size"]]
        if "size" in d
        else [int(height * ratio), int(width * ratio)]
    )
    return over(sample, F.resize, size, t.interpolation)


DRAWN = {
    "RandomHorizontalFlip": (
        "horizontal_flip",
        lambda t, s, d: over(s, F.horizontal_flip) if d["flip"] else s,
    ),
    "RandomCrop": ("random_crop", crop),
    "RandomZoomOut": ("random_zoom_out", zoom_out),
    "RandomIoUCrop": ("random_iou_crop", iou_crop),
    "ScaleJitter": ("scale_jitter", resized),
    "RandomShortestSize": ("random_shortest_size", resized),
    "RandomResize": ("random_resize", resized),
}


def flat(transform: Any) -> Any:
    for one in getattr(transform, "transforms", [transform]):
        yield from flat(one) if hasattr(one, "transforms") else [one]


def again(chain: Any, sample: Any, drawn: List[Dict[str, Any]]) -> Any:
    """A sample by torchvision, with these draws."""
    left = list(drawn)
    for t in flat(chain):
        if type(t).__name__ == "RandomPhotometricDistort":
            op, run = replay.DRAWN["RandomPhotometricDistort"]
            d = next(d for d in left if d["op"] == op)
            sample = run(t, sample[0], d), sample[1]
        elif type(t).__name__ in DRAWN:
            op, run = DRAWN[type(t).__name__]
            found = [d for d in left if d["op"] == op]
            if found:
                left.remove(found[0])
                sample = run(t, sample, found[0])
        else:
            sample = t(*sample)
    return sample


def bare(dataset: Any, index: int) -> Any:
    """A wrapped data set's sample before its transforms."""
    kept, dataset.transforms = dataset.transforms, None
    try:
        return dataset[index]
    finally:
        dataset.transforms = kept


def same(ours: Any, theirs: Any) -> bool:
    """Equal in values, and in types, of tensors to the bit."""
    if isinstance(ours, torch.Tensor):
        about = ("canvas_size", "format", "clamping_mode")
        return (
            type(ours) is type(theirs)
            and ours.dtype == theirs.dtype
            and ours.shape == theirs.shape
            and torch.equal(ours.as_subclass(torch.Tensor), theirs)
            and all(
                getattr(ours, name, None) == getattr(theirs, name, None)
                for name in about
            )
        )
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(
            same(value, theirs[key]) for key, value in ours.items()
        )
    if isinstance(ours, (list, tuple)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return bool(ours == theirs)


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
        found.append(again(chain, (image, target), drawn))
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
