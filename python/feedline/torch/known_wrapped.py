# SPDX-License-Identifier: Apache-2.0
"""torchvision's wrap_dataset_for_transforms_v2 around a data set of its own.

The wrapper makes targets of types that v2's transforms move, boxes or a mask. A
data set is known by the function of the wrapper that makes them. Here the boxes
of all images are one table of the engine's, which moves them; what else a
target has is looked up where it is. The mask of an image is a file of its own,
which the engine reads and moves as it moves the image.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

import torch
from torch.utils.data import Subset

import feedline

from ._compat import voc_labels
from .chain import NotNative
from .chain_pairs import Pair
from .changes import Facts, Items
from .known_sets import HOLDERS, Mapping, Piece, View, listed_piece, reads
from .moving import Moving

_WRAPPER = "torchvision.tv_tensors._dataset_wrapper"
_CLASS = "VisionDatasetTVTensorWrapper"


def is_wrapped(dataset: Any) -> bool:
    """Whether it is one, or a Subset of one."""
    while type(dataset) is Subset:
        dataset = dataset.dataset
    bases = type(dataset).__mro__  # a class of its own for each data set's
    return any((c.__module__, c.__name__) == (_WRAPPER, _CLASS) for c in bases)


# By the function of torchvision that makes targets of them.
_WRAPPED: Dict[str, Callable[[Any, Any, str], Piece]] = {}


@reads(HOLDERS, f"{_WRAPPER}.{_CLASS}")
def _wrapped(dataset: Any, where: str, view: View) -> Mapping:
    inner = dataset._dataset
    made_by = getattr(dataset._wrapper, "__qualname__", "").partition(".")[0]
    reader = _WRAPPED.get(made_by)
    if reader is None or dataset._wrapper.__module__ != _WRAPPER:
        raise NotNative(
            f"{where} wraps a {type(inner).__name__}, which the engine does "
            "not know with targets that move"
        )
    for name in ("transform", "target_transform", "transforms"):
        if getattr(inner, name, None) is not None:
            raise NotNative(
                f"{where} has {name} of the data set that it wraps as well"
            )
    return view.add(reader(dataset, inner, where))


def _only_methods_of(inner: Any, base: str, where: str, *names: str) -> None:
    """Refuses a subclass that loads its samples in another way."""
    for name in ("__getitem__", "__len__", *names):
        owner = next(c for c in type(inner).__mro__ if name in c.__dict__)
        if not f"{owner.__module__}.{owner.__name__}".startswith(base):
            raise NotNative(
                f"{where} wraps a {type(inner).__name__}, which overrides "
                f"{name}"
            )


def _moving_piece(
    dataset: Any,
    where: str,
    items: Sequence[Any],
    paths: Callable[[], Sequence[Any]],
    kind: str,
    moving: Callable[[], Moving],
) -> Piece:
    """items: one of each sample. paths, moving: make files and targets."""

    def load() -> Tuple[Any, Any]:
        return paths(), [0] * len(items)

    piece = listed_piece(dataset, where, [items], load, transforms=dataset)
    piece.transform, piece.target_transform = dataset.transforms, None
    piece.kind, piece.moving = kind, moving
    return piece


# ---- Boxes ------------------------------------------------------------------


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


@reads(_WRAPPED, "coco_dectection_wrapper_factory")
def _coco(dataset: Any, inner: Any, where: str) -> Piece:
    _only_methods_of(
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

    piece = _moving_piece(dataset, where, ids, paths, "boxes", moving)
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


@reads(_WRAPPED, "voc_detection_wrapper_factory")
def _voc(dataset: Any, inner: Any, where: str) -> Piece:
    _only_methods_of(inner, "torchvision.datasets.voc.", where, "parse_voc_xml")
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

    piece = _moving_piece(
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


# ---- Masks ------------------------------------------------------------------

_MASK = "mask"


class Masks(Moving):
    """Of each sample: the file of its mask."""

    def __init__(self, paths: Sequence[Any], where: str) -> None:
        self.paths: List[str] = list(map(os.fspath, paths))
        from PIL import Image

        for path in self.paths[:1]:
            with Image.open(path) as first:
                mode = first.mode
            if mode not in ("L", "P"):
                raise NotNative(
                    f"{where} has masks of Pillow's mode {mode}; the engine "
                    "has those of L and P"
                )

    def attach(self, dataset: feedline.Dataset) -> None:
        dataset.add_files(_MASK, self.paths)

    def options(self, pair: Pair) -> Dict[str, Any]:
        return {"masks": _MASK, "mask_fill": pair.fill, "mask_nearest": "torch"}

    def targets(
        self, batch: feedline.Batch, pair: Pair, images: List[torch.Tensor]
    ) -> List[Any]:
        masks, dtype = batch.masks, getattr(torch, pair.dtype)
        found = [
            torch.from_numpy(masks[i])[None].to(dtype)
            for i in range(len(masks))
        ]
        if not pair.target:
            return found
        from torchvision import tv_tensors

        return [tv_tensors.Mask(mask) for mask in found]


def _mask_piece(
    dataset: Any,
    inner: Any,
    where: str,
    images: Sequence[Any],
    masks: Sequence[Any],
) -> Piece:
    _only_methods_of(inner, "torchvision.datasets.", where)
    piece = _moving_piece(
        dataset,
        where,
        images,
        lambda: images,
        "mask",
        lambda: Masks(masks, where),
    )
    piece.watched.append(Items(masks))
    return piece


@reads(_WRAPPED, "segmentation_wrapper_factory")
def _voc_masks(dataset: Any, inner: Any, where: str) -> Piece:
    return _mask_piece(dataset, inner, where, inner.images, inner.targets)


@reads(_WRAPPED, "oxford_iiit_pet_wrapper_factor")
def _pets(dataset: Any, inner: Any, where: str) -> Piece:
    _only(inner._target_types, "segmentation", where)
    return _mask_piece(dataset, inner, where, inner._images, inner._segs)


@reads(_WRAPPED, "cityscapes_wrapper_factory")
def _cityscapes(dataset: Any, inner: Any, where: str) -> Piece:
    _only(inner.target_type, "semantic", where)
    masks = [files[0] for files in inner.targets]
    return _mask_piece(dataset, inner, where, inner.images, masks)


def _only(kinds: Sequence[str], known: str, where: str) -> None:
    if list(kinds) != [known]:
        raise NotNative(
            f"{where} has targets {list(kinds)}; the engine moves those of "
            f"{known!r} alone"
        )
