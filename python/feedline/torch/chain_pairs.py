# SPDX-License-Identifier: Apache-2.0
"""Chains that are called with an image and its target: boxes, or a mask.

torchvision's v2 transforms move both by the same draws. A `PairBuilder` reads
such a chain as any other, lets through only the transforms that the engine
does to targets as v2 does, and notes what becomes of their types.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Dict, Optional, Tuple

from .chain import Builder, Chain, NotNative, Stage, _family, reads
from .compiled import handed_to

# Those of v2 that mean to targets what the engine does to them; the others
# either refuse boxes, or look at more than one image.
_KNOWN = frozenset(
    "Compose Identity RandomApply RandomChoice RandomOrder "
    "RandomHorizontalFlip RandomVerticalFlip Resize RandomResizedCrop "
    "CenterCrop RandomCrop Pad RandomZoomOut ScaleJitter RandomShortestSize "
    "RandomResize RandomIoUCrop RandomRotation RandomAffine "
    "RandomPerspective ColorJitter Grayscale RandomGrayscale RGB "
    "RandomInvert RandomPosterize RandomSolarize RandomAutocontrast "
    "RandomEqualize RandomAdjustSharpness RandomChannelPermutation "
    "RandomPhotometricDistort GaussianBlur ToImage PILToTensor ToPureTensor "
    "ToTensor ToDtype ConvertImageDtype Normalize SanitizeBoundingBoxes "
    "ConvertBoundingBoxFormat".split()
)
_FOR_BOXES = frozenset(
    "RandomIoUCrop SanitizeBoundingBoxes ConvertBoundingBoxFormat".split()
)


@dataclass(frozen=True)
class Pair:
    """What a chain makes of images and their targets, beside the pixels.

    image, target: of torchvision's own types, not plain tensors. dtype: of
    masks. fill: of their borders. needs_boxes: the transform that raises for a
    sample without some. needs_labels: one that raises without labels. whole:
    boxes that are integers come out as v2 would make them.
    """

    image: bool
    target: bool
    dtype: str
    fill: int
    needs_boxes: str
    needs_labels: str
    whole: bool


class PairBuilder(Builder):
    """kind: of the targets, "boxes" or "mask"."""

    def __init__(self, kind: str) -> None:
        super().__init__(3, None)
        self.kind = kind
        self.dtype = "uint8"
        self.mask_fill: Optional[int] = None
        self.needs_boxes = self.needs_labels = ""

    def read(self, transform: Any, place: str) -> None:
        name, inner = handed_to(transform, inputs=2)
        if inner is not None:
            self.read(inner, f"{place}.{name}".strip("."))
            return
        known = any(
            _family(cls.__module__) == "v2" and cls.__name__ in _KNOWN
            for cls in type(transform).__mro__
        )
        if not known or (
            self.kind == "mask" and type(transform).__name__ in _FOR_BOXES
        ):
            self._place, self._transform = place, transform
            self.fail(
                "the engine does not know what it does to "
                + ("boxes" if self.kind == "boxes" else "a mask")
                + "; it knows those of torchvision.transforms.v2 in "
                "docs/python.md"
            )
        super().read(transform, place)

    # ---- What differs by type ---------------------------------------------

    def of_image(self, name: str, value: Any) -> Any:
        if name == "dtype" and self.kind == "mask" and isinstance(value, dict):
            dtype = self._of_mask(name, value)
            found = str(dtype).partition(".")[2]
            if dtype is not None and found not in ("int64", "uint8"):
                self.fail(f"dtype={dtype} of masks; use torch.int64")
            self.dtype = found or self.dtype
        return self._of(name, value, self._image_types())

    def _image_types(self) -> Tuple[str, ...]:
        if self.stage == Stage.IMAGE:
            return ("PIL.Image.Image",)
        if self.tv_tensor:
            return ("torchvision.tv_tensors._image.Image",)
        return ("torch.Tensor",)

    def _of(self, name: str, value: Any, types: Tuple[str, ...]) -> Any:
        if not isinstance(value, dict):
            return value
        for key, found in value.items():
            if isinstance(key, type):
                if f"{key.__module__}.{key.__qualname__}" in types:
                    return found
        if "others" in value:
            return value["others"]
        if name == "fill":
            return None  # as v2 has it: black
        self.fail(f"{name} says nothing about {types[0]}")

    def _of_mask(self, name: str, value: Any) -> Any:
        if not self.typed:
            self.fail("after ToPureTensor a mask is a tensor like any other")
        return self._of(name, value, ("torchvision.tv_tensors._mask.Mask",))

    def fill(self, transform: Any) -> Tuple[int, ...]:
        if self.kind == "mask":
            kept = getattr(transform, "_fill", transform.fill)
            value = self._of_mask("fill", kept)
            found = self.integers("fill", 0 if value is None else value)
            if len(set(found)) != 1 or not 0 <= found[0] <= 255:
                self.fail(f"fill={value!r} is no value of a mask")
            if self.mask_fill not in (None, found[0]):
                self.fail("masks have two values of fill; give them one")
            self.mask_fill = found[0]
        return super().fill(transform)

    def finish(self, images: bool = False) -> Chain:
        chain = super().finish(images)
        pair = Pair(
            self.tv_tensor,
            self.typed,
            self.dtype,
            self.mask_fill or 0,
            self.needs_boxes,
            self.needs_labels,
            all(op in _NO_ROUNDING for op, _, _ in chain.ops),
        )
        return replace(chain, pair=pair)


# What boxes of integers come out of as they do in v2, which rounds them down
# behind each step: nothing is ever between two pixels.
_NO_ROUNDING = frozenset(
    "horizontal_flip vertical_flip center_crop random_crop pad "
    "random_zoom_out random_iou_crop sanitize_boxes normalize color_jitter "
    "grayscale random_grayscale random_invert random_posterize "
    "random_solarize random_autocontrast random_equalize "
    "random_adjust_sharpness random_channel_permutation "
    "random_photometric_distort gaussian_blur random_apply random_choice "
    "random_order".split()
)


def bytes_of(chain: Chain, largest: Tuple[int, int]) -> int:
    """The most that an image has; largest: width and height that none exceeds
    at first."""
    for op, arguments, _ in chain.ops:
        largest = _largest(op, dict(arguments), largest)
    each = {"u8": 1, "f32": 4}.get(chain.dtype, 2)
    return 3 * each * largest[0] * largest[1]


def _largest(
    op: str, a: Dict[str, Any], size: Tuple[int, int]
) -> Tuple[int, int]:
    """Width and height that no image exceeds behind an operation."""
    width, height = size
    longest = max(width, height)
    if op == "random_zoom_out":
        factor = a["side_range"][1]
        return int(width * factor), int(height * factor)
    if op == "scale_jitter":
        factor = a["scale"][1]
        return int(a["width"] * factor) + 1, int(a["height"] * factor) + 1
    if op == "random_shortest_size" and a["max_size"]:
        return (a["max_size"],) * 2
    if op in ("random_shortest_size", "random_resize"):
        most = a.get("max_size") or 0
        most = most if op == "random_resize" else max(a["min_size"])
        return max(4 * most, longest), most
    if op == "resize" and "size" in a:
        return max(4 * a["size"], longest), a["size"]
    if op == "pad":
        left, top, right, bottom = a["padding"]
        return width + left + right, height + top + bottom
    if "width" in a and "height" in a:
        return a["width"], a["height"]
    return size


def read_pair(transforms: Any, kind: str) -> Chain:
    """What a chain does to images and their targets. Raises NotNative."""
    if transforms is None:
        raise NotNative(
            "the data set has no transforms; give it transforms=ToImage() at "
            "least, from torchvision.transforms.v2"
        )
    builder = PairBuilder(kind)
    builder.read(transforms, "")
    return builder.finish()


# ---- Readers ----------------------------------------------------------------


def _for_boxes(b: Builder) -> PairBuilder:
    if not isinstance(b, PairBuilder):
        b.fail("it takes an image and boxes, and here is an image alone")
    return b


@reads(
    "v2",
    "RandomIoUCrop",
    "min_scale max_scale min_aspect_ratio max_aspect_ratio options trials "
    "sampler_options",
)
def random_iou_crop(b: Builder, t: Any) -> None:
    pair = _for_boxes(b)
    b.draws()
    pair.needs_boxes = pair.needs_boxes or "RandomIoUCrop"
    b.add(
        "random_iou_crop",
        scale=b.pair("scale", (t.min_scale, t.max_scale)),
        ratio=b.pair("ratio", (t.min_aspect_ratio, t.max_aspect_ratio)),
        overlaps=b.numbers("options", t.options),
        trials=b.integers("trials", t.trials)[0],
    )
    b.size = None


@reads("v2", "SanitizeBoundingBoxes", "min_size min_area labels_getter")
def sanitize_bounding_boxes(b: Builder, t: Any) -> None:
    pair = _for_boxes(b)
    if not pair.typed:
        b.fail("after ToPureTensor there are no boxes any more")
    if t.labels_getter != "default":
        b.fail("labels_getter is not supported natively; leave it out")
    pair.needs_boxes = pair.needs_boxes or "SanitizeBoundingBoxes"
    pair.needs_labels = "SanitizeBoundingBoxes"
    b.add(
        "sanitize_boxes",
        min_size=b.number("min_size", t.min_size),
        min_area=b.number("min_area", t.min_area),
    )


@reads("v2", "ConvertBoundingBoxFormat", "format")
def convert_bounding_box_format(b: Builder, t: Any) -> None:
    _for_boxes(b)
    if getattr(t.format, "value", t.format) != "XYXY":
        b.fail(f"format={t.format!r} is not supported natively; use XYXY")
