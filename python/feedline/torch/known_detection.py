# SPDX-License-Identifier: Apache-2.0
"""Detection data sets: CocoDetection and VOCDetection of torchvision, wrapped
by its wrap_dataset_for_transforms_v2.

The wrapper makes a dict of each target, with boxes of torchvision's own type,
which v2's transforms move. Here the boxes of all images are one table of the
engine's, which moves them; what else a target has is looked up where it is.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

import torch

import feedline

from ._compat import voc_labels
from .chain import NotNative
from .chain_pairs import Pair
from .changes import Facts, Items
from .known_sets import Piece
from .known_wrapped import moving_piece, only_methods_of, wraps
from .moving import Moving


class Boxes(Moving):
    """Of each sample: boxes as integers or floats, labels, and `rest`, which
    makes what else its target has."""

    def __init__(self, keys: Set[str], where: str) -> None:
        self.keys = keys
        self.where = where
        self.boxes: List[List[List[Any]]] = []
        self.labels: List[List[Any]] = []
        self.count: List[int] = []
        self.whole = bytearray()  # of each sample: its boxes are integers
        self.rest: Callable[[int], Dict[str, Any]] = lambda sample: {}

    def add(self, boxes: List[List[Any]], labels: List[Any]) -> None:
        """The objects of the next sample, left, top, right, bottom."""
        whole = all(type(x) is int for box in boxes for x in box)
        self.boxes.append(boxes)
        self.labels.append(labels)
        self.count.append(len(boxes))
        self.whole.append(whole and len(boxes) > 0)

    def attach(self, dataset: feedline.Dataset) -> None:
        dataset.set_objects(self.boxes, self.labels)
        self.boxes, self.labels = [], []  # it has them now

    def check(self, pair: Pair, samples: Sequence[int]) -> None:
        if pair.needs_labels and "labels" not in self.keys:
            raise NotNative(
                f"{self.where} has no target_keys 'labels', which "
                f"{pair.needs_labels} needs"
            )
        empty = [i for i in samples if not self.count[i]]
        if empty and pair.needs_boxes:
            raise NotNative(
                f"{pair.needs_boxes} raises for images without boxes, which "
                f"{self.where} has, the first at {empty[0]}; leave them out "
                "with a Subset"
            )
        if not pair.whole and any(self.whole[i] for i in samples):
            raise NotNative(
                f"{self.where} has boxes of integers, which torchvision "
                "rounds after each resampling, and the engine does not"
            )

    def targets(
        self, batch: feedline.Batch, pair: Pair, images: List[torch.Tensor]
    ) -> List[Any]:
        objects = batch.objects
        return [
            self._target(sample, objects[i], pair, images[i])
            for i, sample in enumerate(batch.sample_index)
        ]

    def _target(
        self, sample: int, found: Any, pair: Pair, image: torch.Tensor
    ) -> Dict[str, Any]:
        target = self.rest(sample)
        if not self.count[sample]:
            return target
        if "boxes" in self.keys:
            boxes = torch.from_numpy(found.boxes.copy())
            if self.whole[sample]:
                boxes = boxes.long()
            if pair.target:
                from torchvision import tv_tensors

                size = (image.shape[-2], image.shape[-1])
                boxes = tv_tensors.BoundingBoxes(
                    boxes, format="XYXY", canvas_size=size
                )
            target["boxes"] = boxes
        if "labels" in self.keys:
            target["labels"] = torch.from_numpy(found.labels.copy())
        return target


# ---- COCO -------------------------------------------------------------------


@wraps("coco_dectection_wrapper_factory")
def _coco(dataset: Any, inner: Any, where: str) -> Piece:
    only_methods_of(
        inner,
        "torchvision.datasets.coco.CocoDetection",
        where,
        "_load_image",
        "_load_target",
    )
    coco, ids = inner.coco, inner.ids
    if not type(coco).__module__.startswith("pycocotools"):
        raise NotNative(f"{where} has annotations that are not pycocotools'")
    keys = _keys_of(dataset, {"image_id", "boxes", "labels"})
    if keys is None or "masks" in keys:
        raise NotNative(
            f"{where} has target_keys 'masks', outlines that the engine does "
            "not draw; leave them out"
        )
    wanted: Set[str] = keys

    def paths() -> List[str]:
        names = (coco.imgs[image]["file_name"] for image in ids)
        return [os.path.join(inner.root, name) for name in names]

    def moving() -> Boxes:
        made, images = Boxes(wanted, where), [coco.imgs[i] for i in ids]
        made.largest = (
            max((image.get("width", 2048) for image in images), default=1),
            max((image.get("height", 2048) for image in images), default=1),
        )
        for image in ids:
            notes = _notes(coco, image)
            made.add(_edges(notes), [note["category_id"] for note in notes])
        made.rest = lambda sample: _rest_of_coco(coco, ids[sample], wanted)
        return made

    piece = moving_piece(dataset, where, ids, paths, "boxes", moving)
    parts = [(id(part), len(part)) for part in (coco.anns, coco.imgToAnns)]
    piece.watched.append(Facts((inner.root, sorted(wanted), parts)))
    return piece


def _keys_of(dataset: Any, usual: Set[str]) -> Optional[Set[str]]:
    """None: all that there are."""
    keys = dataset._target_keys
    if keys == "all":
        return None
    return usual if keys is None else set(keys)


def _notes(coco: Any, image: int) -> List[Any]:
    """The annotations of an image, as loadAnns(getAnnIds(image)) has them."""
    if image not in coco.imgToAnns:
        return []
    return [coco.anns[note["id"]] for note in coco.imgToAnns[image]]


def _edges(notes: List[Any]) -> List[List[Any]]:
    """From left, top, width, height: integers, or in float32."""
    boxes = [note["bbox"] for note in notes]
    if all(type(x) is int for box in boxes for x in box):
        return [[x, y, x + w, y + h] for x, y, w, h in boxes]
    found = torch.tensor(boxes, dtype=torch.float32)
    found[:, 2:] += found[:, :2]
    edges: List[List[Any]] = found.tolist()
    return edges


def _rest_of_coco(coco: Any, image: int, keys: Set[str]) -> Dict[str, Any]:
    notes = _notes(coco, image)
    target: Dict[str, Any] = {}
    if "image_id" in keys or not notes:
        target["image_id"] = image
    if notes:
        for key in keys - {"image_id", "boxes", "labels"}:
            target[key] = [note[key] for note in notes if key in note]
    return target


# ---- VOC --------------------------------------------------------------------


@wraps("voc_detection_wrapper_factory")
def _voc(dataset: Any, inner: Any, where: str) -> Piece:
    only_methods_of(inner, "torchvision.datasets.voc.", where, "parse_voc_xml")
    keys = _keys_of(dataset, {"boxes", "labels"})
    if keys is None or "annotation" in keys:
        raise NotNative(
            f"{where} has target_keys 'annotation', which the engine does not "
            "keep; leave it out"
        )
    wanted: Set[str] = keys
    images, files = inner.images, inner.targets

    def moving() -> Boxes:
        made = Boxes(wanted, where)
        sizes = [(1, 1)]
        for file in files:
            boxes, labels, size = _objects_of(file, where)
            made.add(boxes, labels)
            sizes.append(size)
        made.largest = (max(w for w, _ in sizes), max(h for _, h in sizes))
        if not all(made.count):
            raise NotNative(
                f"{where} has images without objects, for which torchvision "
                "raises"
            )
        return made

    piece = moving_piece(
        dataset, where, images, lambda: images, "boxes", moving
    )
    piece.watched += [Items(files), Facts(sorted(wanted))]
    return piece


def _objects_of(
    file: str, where: str
) -> Tuple[List[List[int]], List[int], Tuple[int, int]]:
    """Boxes and labels, as parse_voc_xml and the wrapper make them, and the
    width and height of their image."""
    from xml.etree import ElementTree

    ids = voc_labels()
    sides = ("xmin", "ymin", "xmax", "ymax")
    try:
        root = ElementTree.parse(file).getroot()
        found = root.findall("object")
        names = [(one.findtext("name") or "").strip() for one in found]
        boxes = [
            [int(one.findtext("bndbox/" + side) or "") for side in sides]
            for one in found
        ]
        width = int(root.findtext("size/width") or Moving.largest[0])
        height = int(root.findtext("size/height") or Moving.largest[1])
        return boxes, [ids[name] for name in names], (width, height)
    except (OSError, KeyError, TypeError, ValueError, SyntaxError) as error:
        raise NotNative(
            f"{where} has {file}, which is not as VOC has it: {error!r}"
        ) from None
