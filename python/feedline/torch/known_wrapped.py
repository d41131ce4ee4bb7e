# SPDX-License-Identifier: Apache-2.0
"""torchvision's wrap_dataset_for_transforms_v2 around a data set of its own.

The wrapper makes targets of types that v2's transforms move. It is known by the
function that makes them, which a reader in known_detection.py or
known_segmentation.py is registered for.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Sequence, Tuple

from torch.utils.data import Subset

from .chain import NotNative
from .known_sets import Mapping, Piece, View, knows, listed_piece
from .moving import Moving

_WRAPPER = "torchvision.tv_tensors._dataset_wrapper"
_CLASS = "VisionDatasetTVTensorWrapper"


def is_wrapped(dataset: Any) -> bool:
    """Whether it is one, or a Subset of one."""
    while type(dataset) is Subset:
        dataset = dataset.dataset
    bases = type(dataset).__mro__  # a class of its own for each data set's
    return any((c.__module__, c.__name__) == (_WRAPPER, _CLASS) for c in bases)


@knows(f"{_WRAPPER}.{_CLASS}")
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


Wrapped = Callable[[Any, Any, str], Piece]
_WRAPPED: Dict[str, Wrapped] = {}


def wraps(factory: str) -> Callable[[Wrapped], Wrapped]:
    """Registers the reader of what a factory of torchvision's wraps."""

    def register(function: Wrapped) -> Wrapped:
        _WRAPPED[factory] = function
        return function

    return register


def only_methods_of(inner: Any, base: str, where: str, *names: str) -> None:
    """Refuses a subclass that loads its samples in another way."""
    for name in ("__getitem__", "__len__", *names):
        owner = next(c for c in type(inner).__mro__ if name in c.__dict__)
        if not f"{owner.__module__}.{owner.__name__}".startswith(base):
            raise NotNative(
                f"{where} wraps a {type(inner).__name__}, which overrides "
                f"{name}"
            )


def moving_piece(
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
