# SPDX-License-Identifier: Apache-2.0
"""Which torch data sets the engine can serve, and how: `plan`.

    data set --known_sets--> pieces ---------+
    transform --chain------> operations -----+--> Plan

A plan promises the samples that the data set itself would give, image for image
and label for label, for the same random draws, to the bit; on a device float32
to the last rounding (docs/pixels.md). Where that cannot be promised,
`NotNative` says why, and torch loads the samples.

A plan is made once per data set and checked against it, by value, every time
that it is asked for. So replaced transforms, appended samples and edited labels
count from the next epoch on, as they do in torch.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import weakref
from array import array
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import prod
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import feedline

from ..options import option_pillow
from . import chain_families, known_huggingface, known_torchvision
from . import known_webdataset
from .chain import Builder, Chain, NotNative, Reasons, Size, is_read
from .chain_pairs import Pair, bytes_of, read_pair
from .chain_views import Part, parts_of
from .known_sets import Piece, Stream, View, view_of
from .moving import Moving
from .targets import Targets, are_ints, as_bytes

__all__ = ["NotNative", "Plan", "plan"]


@dataclass
class Plan:
    """How the engine serves a data set.

    Attributes:
        dataset: all samples that the torch data set is made of.
        indices: for each position of the torch data set that of `dataset`;
            None where they are the same.
        pipeline: what its transform does.
        options: of the loader: channels, dtype, layout and limits.
        random: torch would draw random numbers for a sample.
        shape: of a sample, [C, H, W]; of views the largest.
        views: how many there are of each sample, as a list; 0: it is no list.
        targets: the labels, where they are not the engine's own.
        keys: of image and label, where samples are dicts.
        output: what samples are tuples of, where that is not image and label.
        stream: what an IterableDataset has in place of positions.
        mix: what is done to batches; None: nothing.
        moving: what moves with the images, and what becomes of both.
        recorded: the program's own Python makes the samples, all but their
            pixels; None: it does not.
    """

    dataset: feedline.Dataset
    indices: Optional[Sequence[int]]
    pipeline: feedline.Pipeline
    options: Dict[str, Any]
    random: bool
    shape: Tuple[int, int, int]
    views: int
    targets: Optional[Targets]
    keys: Optional[Tuple[str, str]]
    output: Optional[Tuple[str, ...]]
    stream: Optional[Stream]
    _digest: Callable[[], str] = field(repr=False)
    mix: Optional[Dict[str, Any]] = None
    moving: Optional[Tuple[Moving, Pair]] = None
    recorded: Any = None

    def __len__(self) -> int:
        """Samples of the torch data set."""
        indices = self.indices
        return len(self.dataset) if indices is None else len(indices)

    @property
    def of_pairs(self) -> bool:
        """Samples are an image and an int, and no more is done to them."""
        more = (self.targets, self.keys, self.output, self.mix, self.moving)
        if self.recorded is not None:
            return False
        return self.views == 0 and all(part is None for part in more)

    def mixed(self, mix: Dict[str, Any]) -> "Plan":
        """This plan with mixed batches. mix: arguments of the operation "mix".
        Raises feedline.Error."""
        pipeline = self.pipeline.copy().add("mix", **mix)
        return replace(self, pipeline=pipeline, mix=mix)

    @cached_property
    def fingerprint(self) -> str:
        """Names the data (files and labels, or pixels) and their order.

        Files by their names below the folder that all of them are in, so that
        a copy of the data set elsewhere has the same one. Transforms do not
        count.
        """
        return self._digest()


@dataclass
class _Entry:
    """A plan, and what it was made of."""

    alive: "weakref.ref[Any]"
    process: int
    chain: Chain
    kept: List[Any]
    plan: Plan

    def fits(self, view: View, chain: Chain) -> bool:
        return (
            self.process == os.getpid()
            and self.chain == chain
            and len(self.kept) == len(view.watched)
            and all(w.is_kept(k) for w, k in zip(view.watched, self.kept))
        )


_plans: Dict[int, _Entry] = {}


def plan(dataset: Any) -> Plan:
    """How the engine serves `dataset`.

    The same plan as before if nothing changed. Raises NotNative.
    """
    try:
        view = view_of(dataset)
    except NotNative as no:
        raise NotNative(*no.reasons, *_reasons_behind(dataset)) from None
    try:
        chain = _chain_of(view)
    except NotNative as no:
        found = Reasons(no.reasons)
        for piece in view.pieces:
            if piece.files and not piece.ready:
                with found.noted():
                    piece.load()
        raise NotNative(*found) from None
    return _planned(dataset, view, chain)


def _reasons_behind(dataset: Any) -> Reasons:
    """What is wrong with the transforms of a data set that is not known, where
    it has them as torchvision's do."""
    found = Reasons()
    while hasattr(dataset, "dataset"):
        dataset = dataset.dataset
    transform = getattr(dataset, "transform", None)
    if transform is not None and is_read(transform):
        with found.noted():
            chain = read_chain(transform, 3, None)
            if chain.size is None and hasattr(dataset, "samples"):
                raise NotNative(_NO_SIZE)
    return found


def _planned(dataset: Any, view: View, chain: Chain) -> Plan:
    entry = _plans.get(id(dataset))
    if entry and entry.alive() is dataset and entry.fits(view, chain):
        return entry.plan
    made = _make(view, chain)
    _remember(dataset, view, chain, made)
    return made


def _remember(dataset: Any, view: View, chain: Chain, made: Plan) -> None:
    key = id(dataset)

    def forget(reference: "weakref.ref[Any]") -> None:
        entry = _plans.get(key)
        if entry and entry.alive is reference:
            _plans.pop(key, None)

    try:
        alive = weakref.ref(dataset, forget)
    except TypeError:
        return  # it is planned anew each time
    kept = [watched.keep() for watched in view.watched]
    _plans[key] = _Entry(alive, os.getpid(), chain, kept, made)


def _chain_of(view: View) -> Chain:
    """The one chain that all pieces have."""
    chain, as_stored = None, False
    for piece in view.pieces:
        if piece.kind:
            if len(view.pieces) > 1:
                raise NotNative(
                    "the data set is made of several, and one has targets that "
                    "move; the engine has these of one alone"
                )
            return read_pair(piece.transform, piece.kind)
        found = read_chain(piece.transform, *piece.of_builder)
        if found.as_stored and piece.stored not in ("L", "RGB"):
            raise NotNative(
                f"{piece.where} has images of mode {piece.stored}; write "
                'transform(x.convert("RGB"))'
            )
        as_stored = as_stored or found.as_stored
        found = replace(found, as_stored=False)
        if chain is not None and found != chain:
            raise NotNative(
                f"{piece.where} has another transform than the data sets "
                "before it; the engine has one for all"
            )
        chain = found
    if chain is None:
        raise NotNative("the data set has no parts")
    if chain.size is None:
        raise NotNative(_NO_SIZE)
    return replace(chain, as_stored=as_stored)


# ---- A part of a chain ------------------------------------------------------


TV_TENSORS = "torchvision.tv_tensors"


@dataclass
class Head:
    """What the engine does of a chain that it does not know to its end.

    tail: the transforms behind it. form: what they take: "image" of Pillow's,
    "array" of numpy's, "tensor", or "tv_tensor", torchvision's Image. idle: it
    does nothing to the images.
    """

    plan: Plan
    tail: List[Any]
    form: str
    idle: bool


def head_of(dataset: Any) -> Head:
    """The begin of a data set's chain: all of it, or up to a transform that is
    unknown. Raises NotNative."""
    view = view_of(dataset)
    if not view.pieces:
        raise NotNative("the data set has no parts")
    piece = view.pieces[0]
    for other in view.pieces:
        if other.transform is not piece.transform:
            raise NotNative("the parts of the data set have several chains")
        if other.stream or other.keys or other.output or other.kind:
            raise NotNative("samples are not pairs of image and label")
    if len({(o.of_builder, o.stored) for o in view.pieces}) > 1:
        raise NotNative("the parts of the data set have different images")
    builder = Builder(*piece.of_builder)
    tail: List[Any] = []
    try:
        builder.read(piece.transform, "")
    except NotNative as no:
        if no.cut is None or no.cut.of is not piece.transform:
            raise
        builder, tail = no.cut.head, no.cut.tail
    chain = builder.finish(images=True)
    if builder.form == "tv_tensor" and TV_TENSORS not in sys.modules:
        raise NotNative("this torchvision has its tensors elsewhere")
    idle = not chain.ops
    return Head(_planned(dataset, view, chain), tail, builder.form, idle)


# ---- Making one -------------------------------------------------------------


def _make(view: View, chain: Chain) -> Plan:
    if view.total == 0:
        raise NotNative("the data set is empty")
    try:
        loaded = [piece.load() for piece in view.pieces]
        targets = _targets(view.pieces, loaded)
        dataset = _dataset(view.pieces, loaded, targets is None)
        moving = _moving(view.pieces[0], dataset)
    except (ValueError, OverflowError) as error:
        raise NotNative(
            f"a path or label of the data set does not fit the engine: {error}"
        ) from None
    indices = _indices(view)
    options: Dict[str, Any] = {
        "channels": chain.channels,
        "dtype": chain.dtype,
        "layout": "nchw",
        "pillow": option_pillow() or "12",
        "rounding": chain.rounding,
    }
    for piece in view.pieces:
        options.update(piece.options)
        if chain.as_stored and piece.stored:
            options["stored_mode"] = piece.stored
    if moving is not None:
        moving.check(chain.pair, indices or range(len(dataset)))
        options.update(moving.options(chain.pair))
        if chain.size is None:
            most = bytes_of(chain, moving.largest)
            options["max_sample_bytes"] = most
    width, height = chain.size or (0, 0)
    return Plan(
        dataset=dataset,
        indices=indices,
        pipeline=pipeline_of(chain),
        options=options,
        random=chain.random,
        shape=(chain.channels, height, width),
        views=sum(count for _, count in chain.views),
        targets=targets,
        keys=view.pieces[0].keys,
        output=view.pieces[0].output,
        stream=view.pieces[0].stream,
        moving=None if moving is None else (moving, chain.pair),
        _digest=lambda: _digest(view.pieces, loaded, indices),
    )


def _moving(piece: Piece, dataset: feedline.Dataset) -> Optional[Moving]:
    """The targets of a piece that move, which the engine's data set gets."""
    if piece.moving is None:
        return None
    made: Moving = piece.moving()
    made.attach(dataset)
    return made


def _indices(view: View) -> Optional[Sequence[int]]:
    found = view.mapping()
    if isinstance(found, range):
        return None  # one piece, all of it
    if len(found) == view.total and all(i == n for n, i in enumerate(found)):
        return None
    return found


def _targets(pieces: List[Piece], loaded: List[Any]) -> Optional[Targets]:
    """None where all labels are ints, and left alone."""
    transform = pieces[0].target_transform
    if any(piece.target_transform is not transform for piece in pieces):
        raise NotNative(
            "the parts of the data set have different target_transforms; "
            "give all of them the same"
        )
    replaced = pieces[0].ready and len(loaded[0][1]) > 0
    ints = all(are_ints(part) for _, part in loaded)
    if transform is None and ints and not replaced:
        return None
    return Targets([label for _, part in loaded for label in part], transform)


def _dataset(
    pieces: List[Piece], loaded: List[Any], labelled: bool
) -> feedline.Dataset:
    """labelled: by the labels themselves; otherwise by positions."""
    if any(piece.ready for piece in pieces):
        if len(pieces) > 1:
            raise NotNative(
                "the data set is made of several, and one of them is Images or "
                "Hugging Face's; join them before, and set the transform of "
                "what was joined (datasets.concatenate_datasets, which drops "
                "those that differ)"
            )
        ready: feedline.Dataset = loaded[0][0]
        return ready
    labels = [label for _, part in loaded for label in part]
    if not labelled:
        labels = list(range(len(labels)))
    if all(piece.files for piece in pieces):
        paths = [path for part, _ in loaded for path in part]
        return feedline.Dataset.paths(paths, labels)
    if any(piece.files for piece in pieces):
        raise NotNative("the data set mixes files with images in memory")
    arrays = [pixels for pixels, _ in loaded]
    if len(arrays) == 1:
        return feedline.Dataset.pixels(arrays[0], labels)
    if len({pixels.shape[1:] for pixels in arrays}) > 1:
        raise NotNative(
            "the parts of the data set have images of different sizes or "
            "channels; make them alike"
        )
    import numpy  # there is one, for the arrays are its own

    return feedline.Dataset.pixels(numpy.concatenate(arrays), labels)


def pipeline_of(chain: Chain) -> feedline.Pipeline:
    pipeline = feedline.Pipeline("none")
    for part, count in chain.views:
        try:
            pipeline.views(pipeline_of(part), count)
        except feedline.Error as error:
            raise NotNative(f"views: {error}") from None
    for name, arguments, where in chain.ops:
        try:
            if name == "python":
                pipeline.python(**dict(arguments))
            else:
                pipeline.add(name, **dict(arguments))
        except feedline.Error as error:
            raise NotNative(f"{where}: {error}") from None
    return pipeline


def _digest(
    pieces: List[Piece], loaded: List[Any], indices: Optional[Sequence[int]]
) -> str:
    """16 hexadecimal digits for the data and their order."""
    sums = hashlib.blake2b(digest_size=8)
    for piece, (content, labels) in zip(pieces, loaded):
        sums.update(b"%d %d;" % (piece.files, piece.count))
        whole = are_ints(labels)
        sums.update(array("q", labels) if whole else as_bytes(labels))
        if piece.ready:
            sums.update(_fingerprint(content))
        elif piece.files:
            sums.update(_names_inside(content))
        else:
            sums.update(memoryview(content).cast("B"))
    if indices is not None:
        sums.update(b"=")
        sums.update(array("q", indices))
    return sums.hexdigest()


def _fingerprint(samples: feedline.Dataset) -> bytes:
    """The engine's own, of names, labels and sizes."""
    any_size = feedline.Pipeline().add("center_crop", width=1, height=1)
    with feedline.Loader(samples, any_size) as loader:
        return str(json.loads(loader.save())["dataset"]).encode()


def _names_inside(paths: List[str]) -> bytes:
    """The paths without the folder that all of them are in."""
    root = os.path.commonprefix([min(paths), max(paths)])
    root = root[: root.rfind("/") + 1]
    text = os.fsencode("\0" + "\0".join(paths))
    return text.replace(os.fsencode("\0" + root), b"\0") if root else text


# ---- Whole chains -----------------------------------------------------------

# Importing these modules registered their readers, and those of the modules
# that they build on.
LIBRARIES = (
    chain_families,
    known_huggingface,
    known_torchvision,
    known_webdataset,
)


def read_chain(
    transform: Any, channels: int, size: Optional[Size], *more: bool
) -> Chain:
    """What `transform` does to images of a data set.

    All but the transform are as for Builder. Raises NotNative.
    """
    if transform is None:
        raise NotNative(
            "the data set has no transform, and torch cannot put Pillow images "
            "into a batch; give it transform=ToTensor() at least"
        )
    before, parts = _views_in(transform)
    if parts is not None:
        new = partial(Builder, channels, size, *more)
        return _chain_of_views(before, parts, new)
    builder = Builder(channels, size, *more)
    return _read_to_its_end(builder, [transform], "")


def _read_to_its_end(
    builder: Builder, transforms: Sequence[Any], where: str
) -> Chain:
    """All that these transforms of one view or all do."""
    found = Reasons()
    try:
        for transform in transforms:
            builder.read(transform, where)
    except NotNative as no:
        if no.cut is not None and not builder.unsure:
            with found.noted():
                builder.finish()
            if builder.size is None:
                found.append(_NO_SIZE)
        no.reasons += found
        raise
    with found.noted():
        chain = builder.finish()
    if found and builder.size is None:
        found.append(_NO_SIZE)
    found.check()
    return chain


_NO_SIZE = (
    "the images keep sizes of their own, and those do not make a batch; add "
    "RandomResizedCrop, CenterCrop, or Resize((height, width))"
)


def _views_in(transform: Any) -> Tuple[List[Any], Optional[List[Part]]]:
    """What stands before a transform that makes views, and its views."""
    before: List[Any] = []
    while type(transform).__name__ == "Compose" and is_read(transform):
        if not transform.transforms:
            break
        before += transform.transforms[:-1]
        transform = transform.transforms[-1]
    return before, None if is_read(transform) else parts_of(transform)


def _chain_of_views(
    before: List[Any], parts: List[Part], new: Callable[[], Builder]
) -> Chain:
    """Each view is what stands before all of them, then its own chain."""
    views: List[Tuple[Chain, int]] = []
    found = Reasons()
    for part in parts:
        builder = new()
        with found.noted():
            builder.read_all(before)
            made = _read_to_its_end(builder, part.transforms, part.where)
            views.append((made, part.count))
    found.check()
    first = views[0][0]
    largest: Size = (0, 0)
    for chain, _ in views:
        if chain.size is None:
            return chain  # which is refused
        if (chain.channels, chain.dtype, chain.rounding) != (
            first.channels,
            first.dtype,
            first.rounding,
        ):
            raise NotNative(
                "the views of a sample have different channels or types; end "
                "all their chains in the same way"
            )
        largest = max(largest, chain.size, key=prod)
    return replace(
        first,
        ops=(),
        random=any(chain.random for chain, _ in views),
        as_stored=any(chain.as_stored for chain, _ in views),
        size=largest,
        views=tuple(views),
    )
