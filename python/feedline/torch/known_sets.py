# SPDX-License-Identifier: Apache-2.0
"""Data sets whose samples are known without asking them one by one.

A data set is known by the class that defines its `__getitem__`: subclasses that
leave that alone are fine, however they find their files. Reading one copies
nothing; it only says where everything is (a `Piece`), so it can be done for
every epoch. `Subset` and `ConcatDataset` are taken apart, however nested.

Where an index leads is a `Mapping`: positions of the torch data set to those of
all pieces in a row.
"""
from __future__ import annotations

import operator
import sys
from dataclasses import dataclass, field
from os import fspath
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, TypeVar

import feedline

from .. import _c
from ..machine import image_endings
from ._compat import bombs_are_errors
from .chain import NotNative, Reasons
from .changes import Contents, Facts, Items, Memory, Watched
from .compiled import in_the_end, loads_rgb
from .targets import read_labels

# Of files in formats that the engine decodes.
_ENDINGS = image_endings(_c.ENDING_DECODED)

Mapping = Callable[[], Sequence[int]]


class Stream:
    """Of an IterableDataset that is known: what a data set has otherwise."""

    def sampler(self, loader: Any, count: int) -> Any:
        """The order of a loader's batches. Raises NotNative."""
        raise NotImplementedError

    def image(self, samples: feedline.Dataset, position: int) -> Any:
        """A sample's image that the engine cannot make."""
        raise NotImplementedError


UNKNOWN = -1  # samples of a stream, until it is loaded


@dataclass
class Piece:
    """A data set that holds samples itself.

    load: paths and labels, or an array of uint8 [N, H, W] or [N, H, W, 3] and
    labels, of any type.
    """

    where: str
    files: bool
    count: int
    transform: Any
    channels: int  # of its images: 1 or 3
    size: Optional[Tuple[int, int]]  # width, height of all images, or None
    watched: List[Watched]
    load: Callable[[], Tuple[Any, List[Any]]]
    target_transform: Any = None
    options: Dict[str, Any] = field(default_factory=dict)
    ready: bool = False  # load gives a data set of the engine's, and no labels
    # Pillow's mode of its images, as they are in their files; "": converted.
    stored: str = ""
    # Samples are dicts of image and label, under these keys; None: pairs.
    keys: Optional[Tuple[str, str]] = None
    # Samples are tuples of these: "image", "label" and fields; None: pairs.
    output: Optional[Tuple[str, ...]] = None
    stream: Optional[Stream] = None
    # Targets that move with the images: their kind, and how they are loaded.
    kind: str = ""
    moving: Optional[Callable[[], Any]] = None

    @property
    def of_builder(self) -> Tuple[Any, ...]:
        """The arguments of chain.Builder that say what its images are."""
        made_gray = self.files and self.channels == 1 and not self.stored
        return self.channels, self.size, bool(self.stored), made_gray


@dataclass
class View:
    """A whole data set: pieces, and which of their samples it shows."""

    pieces: List[Piece] = field(default_factory=list)
    watched: List[Watched] = field(default_factory=list)
    mapping: Mapping = tuple
    total: int = 0  # samples of all pieces

    def add(self, piece: Piece) -> Mapping:
        first = self.total
        self.pieces.append(piece)
        self.watched.extend(piece.watched)
        self.total += piece.count
        return lambda: range(first, first + piece.count)


Leaf = Callable[[Any, str], Piece]
Reader = Callable[[Any, str, View], Mapping]
R = TypeVar("R")

# By the name of the class that defines __getitem__: readers of data sets that
# are a piece by themselves, and of others; by that which defines __iter__:
# readers of streams.
LEAVES: Dict[str, Leaf] = {}
HOLDERS: Dict[str, Reader] = {}
STREAMS: Dict[str, Leaf] = {}


def reads(table: Dict[str, R], *names: str) -> Callable[[R], R]:
    """Registers the reader of the classes that have these names."""

    def register(reader: R) -> R:
        table.update(dict.fromkeys(names, reader))
        return reader

    return register


def _stream_reader(dataset: Any) -> Optional[Leaf]:
    """None for what is no stream, or none that is known."""
    cls = type(dataset)
    owner = _owner(cls, "__iter__")
    reader = STREAMS.get(_name(owner))
    if reader is None or owner is None or _is_patched(owner, "__iter__"):
        return None
    package = owner.__module__.split(".")[0] + "."
    for method in ("iterator", "iterator1", "invoke", "__getattribute__"):
        other = _owner(cls, method)
        if other not in (None, object):
            if not str(getattr(other, "__module__", "")).startswith(package):
                return None
    return reader


def is_known_stream(dataset: Any) -> bool:
    """Whether view_of may know what an IterableDataset gives."""
    return _stream_reader(dataset) is not None


def view_of(dataset: Any) -> View:
    """What is in a data set. Raises NotNative."""
    view = View()
    stream = _stream_reader(dataset)
    if stream is not None:
        view.mapping = view.add(stream(dataset, "the data set"))
        return view
    view.mapping = _read(dataset, "the data set", view)
    if len(view.pieces) > 1:  # their images become one array, a copy
        view.watched = [
            Contents(w.value) if isinstance(w, Memory) else w
            for w in view.watched
        ]
    return view


def _owner(cls: type, method: str) -> Optional[type]:
    """The class that defines a method of `cls`."""
    for base in cls.__mro__:
        if method in base.__dict__:
            return base
    return None


def _is_patched(cls: Optional[type], method: str) -> bool:
    """Whether somebody put a function of another module into the class."""
    function = getattr(cls, method, None)
    return getattr(function, "__module__", "") != getattr(cls, "__module__", "")


def _name(cls: Optional[type]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}" if cls else ""


_LIBRARIES = (
    "torchvision.",
    "timm.",
    "torch.",
    "feedline.",
    "datasets.",
    "typing",
)


def _read(dataset: Any, where: str, view: View) -> Mapping:
    cls = type(dataset)
    owner = _owner(cls, "__getitem__")
    leaf, holder = LEAVES.get(_name(owner)), HOLDERS.get(_name(owner))
    if not (leaf or holder) or _is_patched(owner, "__getitem__"):
        raise NotNative(
            f"{where} is a {cls.__name__}, whose __getitem__ feedline does not "
            "know; a list of files and labels runs natively as "
            "feedline.torch.ImageList(samples, transform)"
        )
    for method in ("__len__", "__getitems__", "__getattribute__"):
        owner = _owner(cls, method)
        if owner and owner is not object:
            if not owner.__module__.startswith(_LIBRARIES):
                raise NotNative(
                    f"{where} is a {cls.__name__}, which overrides {method} of "
                    "its base class; leave that alone, or let torch load it"
                )
    if leaf is not None:
        return view.add(leaf(dataset, where))
    assert holder is not None
    return holder(dataset, where, view)


# ---- Subsets and concatenations ---------------------------------------------


@reads(HOLDERS, "torch.utils.data.dataset.Subset")
def _subset(dataset: Any, where: str, view: View) -> Mapping:
    inner = _read(dataset.dataset, where + ".dataset", view)
    indices = dataset.indices
    view.watched.append(Items(indices))

    def mapping() -> Sequence[int]:
        whole = inner()
        try:
            return [whole[operator.index(i)] for i in indices]
        except (IndexError, TypeError) as error:
            raise NotNative(
                f"{where} is a Subset with an index that is none: {error}"
            ) from None

    return mapping


@reads(HOLDERS, "torch.utils.data.dataset.ConcatDataset")
def _concatenation(dataset: Any, where: str, view: View) -> Mapping:
    parts, found = [], Reasons()
    for i, part in enumerate(dataset.datasets):
        with found.noted():
            parts.append(_read(part, f"{where}.datasets[{i}]", view))
    found.check()
    ends, end = [], 0
    for part in dataset.datasets:
        end += len(part)
        ends.append(end)
    if ends != list(dataset.cumulative_sizes):
        raise NotNative(
            f"{where} is a ConcatDataset with a part that has grown since; "
            "make a new ConcatDataset"
        )
    return lambda: [i for part in parts for i in part()]


# ---- Files ------------------------------------------------------------------


def _pillow_options() -> Dict[str, Any]:
    """Pillow's global settings, as options of the engine."""
    image = sys.modules.get("PIL.Image")
    file = sys.modules.get("PIL.ImageFile")
    options: Dict[str, Any] = {}
    if file is not None and getattr(file, "LOAD_TRUNCATED_IMAGES", False):
        options["accept_truncated"] = 1e-9
    limit = getattr(image, "MAX_IMAGE_PIXELS", 89478485)
    # Pillow warns above its limit and refuses above twice of it.
    refused = 1 if bombs_are_errors() else 2
    options["max_pixels"] = 1 << 40 if limit is None else refused * int(limit)
    return options


def _only_decodable(paths: List[str], where: str) -> None:
    """Refuses files of other formats; few endings speak for all paths."""
    longest = max(map(len, _ENDINGS))
    for tail in {path[-longest:] for path in paths}:
        if not isinstance(tail, str):
            raise NotNative(
                f"{where} has paths that are bytes; os.fsdecode makes them text"
            )
        if not tail.lower().endswith(_ENDINGS):
            path = next(path for path in paths if path.endswith(tail))
            raise NotNative(
                f"{where} has files that the engine does not decode, such as "
                f"{path}; it decodes {' '.join(_ENDINGS)}"
            )


def files_piece(
    dataset: Any,
    samples: Any,
    where: str,
    channels: int = 3,
    transforms: Any = None,
) -> Piece:
    """Files, as a sequence of (path, label); the rest as for listed_piece."""

    def load() -> Tuple[Any, List[Any]]:
        try:
            paths = [path for path, _ in samples]
            labels = [label for _, label in samples]
        except (TypeError, ValueError):
            raise NotNative(
                f"{where} has samples that are not pairs of path and label"
            ) from None
        if not all(issubclass(kind, tuple) for kind in set(map(type, samples))):
            raise NotNative(
                f"{where} has samples that are not tuples, and whether one was "
                "changed is not seen; make them tuples"
            )
        return paths, labels

    return listed_piece(dataset, where, [samples], load, channels, transforms)


def listed_piece(
    dataset: Any,
    where: str,
    lists: List[Any],
    load: Optional[Callable[[], Tuple[Any, Any]]] = None,
    channels: int = 3,
    transforms: Any = None,
) -> Piece:
    """Files with labels: two sequences, or as `load` makes them of sequences,
    one item of each of which is a sample. transforms: what has transform and
    target_transform, if that is not the data set."""
    options = _pillow_options()
    transform = (transforms or dataset).transform
    on_labels = getattr(transforms or dataset, "target_transform", None)

    def loaded() -> Tuple[Any, List[Any]]:
        paths, labels = load() if load else lists
        try:
            paths = list(map(fspath, paths))
        except TypeError:
            raise NotNative(
                f"{where} has samples that are not pairs of path and label"
            ) from None
        _only_decodable(paths, where)
        return paths, read_labels(labels, False)

    return Piece(
        where=where,
        files=True,
        count=len(lists[0]),
        transform=transform,
        channels=channels,
        size=None,
        watched=[
            *map(Items, lists),
            Facts((on_labels, *sorted(options.items()))),
        ],
        load=loaded,
        target_transform=on_labels,
        options=options,
    )


def needs_pillow_loader(dataset: Any, loader: Any, where: str) -> None:
    """Refuses what opens images differently from torchvision's own."""
    folder = sys.modules["torchvision.datasets.folder"]
    known = (getattr(folder, "default_loader"), getattr(folder, "pil_loader"))
    loader = in_the_end(loader)
    if not any(loader is one for one in known) and not loads_rgb(loader):
        raise NotNative(
            f"{where} has a loader of its own, which may do anything; use "
            "torchvision's default_loader"
        )
    backend = getattr(sys.modules["torchvision"], "get_image_backend")()
    if loader is known[0] and backend != "PIL":
        raise NotNative(
            f"torchvision's image backend is {backend!r}, whose pixels differ; "
            "call torchvision.set_image_backend('PIL')"
        )


@reads(LEAVES, "torchvision.datasets.folder.DatasetFolder")
def _dataset_folder(dataset: Any, where: str) -> Piece:
    needs_pillow_loader(dataset, dataset.loader, where)
    return files_piece(dataset, dataset.samples, where)


@reads(LEAVES, "timm.data.dataset.ImageDataset")
def _timm_dataset(dataset: Any, where: str) -> Piece:
    reader = dataset.reader
    name = _name(_owner(type(reader), "__getitem__"))
    if not name.endswith("reader_image_folder.ReaderImageFolder"):
        raise NotNative(
            f"{where} has a {type(reader).__name__}; the engine reads folders "
            "of images (ReaderImageFolder)"
        )
    if getattr(dataset, "additional_features", None) is not None:
        raise NotNative(f"{where} gives additional_features with each sample")
    if getattr(dataset, "load_bytes", False):
        raise NotNative(f"{where} has load_bytes=True, which gives no images")
    channels = {"RGB": 3, "L": 1}.get(dataset.input_img_mode, 0)
    if channels == 0:
        raise NotNative(
            f"{where} has input_img_mode={dataset.input_img_mode!r}; the "
            "engine has 'RGB' and 'L'"
        )
    return files_piece(dataset, reader.samples, where, channels)


@reads(
    LEAVES, "feedline.torch.folders.Decoded", "feedline.torch.any_images.Images"
)
def _ours(dataset: Any, where: str) -> Piece:
    piece: Piece = dataset.piece(where)
    return piece


def ready_piece(
    where: str,
    count: int,
    load: Callable[[], feedline.Dataset],
    transform: Any,
    facts: Tuple[Any, ...],
    **options: Any,
) -> Piece:
    """All samples of a data set of the engine's, with their labels. facts: the
    same for as long as load would give the same."""
    options.update(_pillow_options())
    return Piece(
        where=where,
        files=True,
        count=count,
        transform=transform,
        channels=3,
        size=None,
        watched=[Facts((facts, *sorted(options.items())))],
        load=lambda: (load(), []),
        options=options,
        ready=True,
    )


# ---- Images in memory -------------------------------------------------------


def _pixels_piece(
    dataset: Any, where: str, axes: str, labels: Any, converted: bool
) -> Piece:
    """An array or tensor `dataset.data` of uint8 with these axes."""
    data = dataset.data
    for tensor in (data, labels):
        if str(getattr(tensor, "device", "cpu")) != "cpu":
            raise NotNative(
                f"{where} has its data on {tensor.device}; call .cpu() on them"
            )
    array = data.numpy() if hasattr(data, "numpy") else data
    kind = str(getattr(array, "dtype", type(array).__name__))
    if kind != "uint8" or array.ndim != len(axes):
        raise NotNative(
            f"{where} has data that is not uint8 of axes {axes}: {kind}"
        )
    if "C" in axes:
        array = array.transpose([axes.index(a) for a in "NHWC"])
    channels = array.shape[3] if "C" in axes else 1
    if channels != 3 and "C" in axes:
        raise NotNative(f"{where} has images of {channels} channels")
    if len(labels) < len(array):
        raise NotNative(f"{where} has fewer labels than images")
    shared = array.flags.c_contiguous
    pixels = Memory(array) if shared else Contents(array)
    on_labels = getattr(dataset, "target_transform", None)

    def load() -> Tuple[Any, List[Any]]:
        found = read_labels(labels, converted)[: len(array)]
        return (array if shared else array.copy("C")), found

    return Piece(
        where=where,
        files=False,
        count=len(array),
        transform=dataset.transform,
        channels=channels,
        size=(array.shape[2], array.shape[1]),
        watched=[pixels, Items(labels), Facts(on_labels)],
        load=load,
        target_transform=on_labels,
    )


# Class -> axes of its array, its labels, and whether it makes an int of each.
_ARRAYS = {
    "mnist.MNIST": ("NHW", "targets", True),
    "usps.USPS": ("NHW", "targets", True),
    "cifar.CIFAR10": ("NHWC", "targets", False),
    "semeion.SEMEION": ("NHW", "labels", True),
    "svhn.SVHN": ("NCHW", "labels", True),
    "stl10.STL10": ("NCHW", "labels", True),
}


@reads(LEAVES, *("torchvision.datasets." + name for name in _ARRAYS))
def _array(dataset: Any, where: str) -> Piece:
    cls = _name(_owner(type(dataset), "__getitem__"))
    axes, name, converted = _ARRAYS[cls[len("torchvision.datasets.") :]]
    labels = getattr(dataset, name)
    if labels is None:
        raise NotNative(f"{where} has no labels")
    return _pixels_piece(dataset, where, axes, labels, converted)


@reads(LEAVES, "torchvision.datasets.mnist.QMNIST")
def _qmnist(dataset: Any, where: str) -> Piece:
    if not dataset.compat:
        raise NotNative(
            f"{where} has compat=False, so its labels are rows of numbers"
        )
    return _pixels_piece(dataset, where, "NHW", dataset.targets[:, 0], True)
