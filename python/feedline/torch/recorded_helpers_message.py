# SPDX-License-Identifier: Apache-2.0
"""A batch as a helper process has recorded it, as bytes.

    helper    Sent   --- message_of ---> bytes ---> Received   reading thread
              samples with a Slot for each deferred image
              structs of feedline/recorded.h, with pointers from their begin on

A message is some hundred bytes a sample. The reading thread gives each image
memory, makes addresses of the pointers, a column at a time, and hands a sample
to the engine with one call. Samples are unpickled only where they are wanted:
where default_collate makes the batch it has done so in the helper, with whole
columns of slots in place of tensors.
"""

from __future__ import annotations

import ctypes
import io
import os
import pickle
import struct
from functools import lru_cache
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import torch
from PIL import Image

from .. import _c
from ..deferred import packing
from ..deferred.canvas import Canvas
from . import _compat
from .native import pipeline_of
from .recorded_batch import Batch
from .recorded_chains import MOST
from .recorded_told import Told

# Bytes of the head, the samples, the collated batch, and of the structs.
_LENGTHS = struct.Struct("<QQQQ")
LENGTH_BYTES = _LENGTHS.size
_ALIGN = 64

_WORD = 8
_IMAGE_WORDS = packing.IMAGE.size // _WORD


def _word(field: str) -> int:
    return int(getattr(_c.recorded_image, field).offset) // _WORD


_STEPS, _OUT, _PIPELINE = _word("steps"), _word("out"), _word("pipeline")
_POINTERS = slice(_STEPS, _word("data") + 1)  # steps, path, data
_CANVAS = _word("canvas")
_DATA_OF_STEP = int(_c.recorded_step.data.offset)
# Both structs end in a pointer.
_PARTS_OF_CANVAS = packing.CANVAS_BYTES - _WORD
_MASK_OF_PART = packing.PART_BYTES - _WORD


class RecordingError(RuntimeError):
    """A sample failed in a helper. Who wants to know how makes it again."""


# ---- In the helper ---------------------------------------------------------


class Slot:
    """Stands for a deferred image in a sample."""

    __slots__ = ("number", "place", "position", "leaf")

    def __init__(self, number: int, place: int, position: int, leaf: Any):
        self.number, self.place, self.position = number, place, position
        self.leaf = leaf


class Column(NamedTuple):
    """Stands for the slots at one position of all samples."""

    position: int


class Sent(Batch):
    """A batch that is recorded for another process: nothing has memory."""

    def __init__(self, indices: List[Any], copies: List[int]) -> None:
        super().__init__(indices, copies)
        self.slots: List[Slot] = []

    def begin_again(self) -> None:
        super().begin_again()
        self.slots.clear()

    def room(
        self, place: int, leaf: Any, memory: Any, pin: bool
    ) -> Tuple[Any, int]:
        leaves = self.leaves[place]
        slot = Slot(len(self.slots), place, len(leaves), leaf)
        self.slots.append(slot)
        leaves.append((leaf, slot))
        return slot, 0


class _Head(NamedTuple):
    """What the reading thread needs at once.

    kinds: of each image, or of each position where `uniform`: all samples have
    images of the same kinds. counts: images of each sample, where they do not.
    tables: words with pointers that are none of an image's own. errors: of
    samples, by place. chains: by their pipelines in the helper. shares: as a
    Batch's. counted: by the recorder. parts: where images have parts, which are
    images, too, in front of them: how many each sample has in all, and which
    ones are no parts.
    """

    uniform: bool
    kinds: List[Any]
    counts: List[int]
    tables: List[int]
    errors: Dict[int, str]
    chains: Dict[int, Any]
    shares: bool
    counted: Any
    parts: Optional[Tuple[List[int], List[int]]]


def message_of(batch: Sent, collate: bool, counted: Any) -> List[Any]:
    """The parts of a message, whose bytes follow each other. Whatever pickle
    raises. collate: default_collate is what makes the batch."""
    slots = batch.slots
    if batch.here:
        raise ValueError(batch.here)
    if any(slot.leaf.parts for slot in slots):
        raise ValueError("a tensor is put together of several images")
    images, with_parts = [slot.leaf for slot in slots], None
    if any(type(image.source) is Canvas for image in images):
        images, with_parts = _and_parts(batch)
    errors = {
        place: "%s: %s" % (type(error).__name__, error)
        for place, error in batch.recorded.items()
        if isinstance(error, BaseException)
    }
    uniform = not errors and _are_uniform(batch)
    first = len(batch.leaves[0]) if uniform else len(slots)
    blob, tables = _blob_of(images)
    head = _Head(
        uniform=uniform,
        kinds=[_kind_of(slot.leaf) for slot in slots[:first]],
        counts=[] if uniform else [len(leaves) for leaves in batch.leaves],
        tables=tables,
        errors=errors,
        chains=_chains_of(slots),
        shares=batch.shares,
        counted=counted,
        parts=with_parts,
    )
    samples = _pickled(batch.samples)
    whole = _collated(batch) if collate and uniform else b""
    parts = [pickle.dumps(tuple(head), 5), samples, whole]
    lengths = [len(part) for part in parts]
    gap = -(LENGTH_BYTES + sum(lengths)) % _ALIGN
    parts.append(bytes(gap))
    return [_LENGTHS.pack(*lengths, gap + len(blob)), *parts, blob]


def _and_parts(batch: Sent) -> Tuple[List[Any], Tuple[List[int], List[int]]]:
    """All images of the samples; what the head says of them."""
    images: List[Any] = []
    counts, wholes = [], []
    slots = {id(slot.leaf) for slot in batch.slots}
    for place in range(len(batch.indices)):
        recorded = batch.recorded.get(place)
        found = recorded[0] if isinstance(recorded, tuple) else []
        for image in found:
            image.kept = 0  # a number of this process's
            if id(image) in slots:
                wholes.append(len(images))
            images.append(image)
        counts.append(len(found))
    if len(wholes) != len(batch.slots):
        raise ValueError("a sample failed whose images have parts")
    return images, (counts, wholes)


def _are_uniform(batch: Sent) -> bool:
    """Whether all samples have tensors of the same kinds."""
    firsts = [leaf for leaf, _ in batch.leaves[0]]
    step = len(firsts)
    if len(batch.slots) != step * len(batch.leaves):
        return False
    for position, first in enumerate(firsts):
        if first.dtype is None or first.wrap is not None:
            return False
        kind = first.shape, first.dtype
        for slot in batch.slots[position::step]:
            leaf = slot.leaf
            if slot.position != position or (leaf.shape, leaf.dtype) != kind:
                return False
            if leaf.wrap is not None:
                return False
    return True


def _kind_of(leaf: Any) -> Any:
    if leaf.dtype is None:
        image = leaf.leaf
        added = {**image.added(), "info": image.info}
        return leaf.nbytes, *image.maker(), added
    return leaf.shape, leaf.dtype, leaf.wrap


def _chains_of(slots: List[Slot]) -> Dict[int, Any]:
    found = {}
    for slot in slots:
        handle = slot.leaf.draws[0]
        if handle and handle not in found:
            found[handle] = slot.leaf.result.value
    return found


def _blob_of(images: List[Any]) -> Tuple[bytearray, List[int]]:
    """Structs, and behind them the tables and bytes that they point to."""
    end = packing.most_bytes(images)
    end += -end % _ALIGN
    behind: Dict[int, Tuple[int, bytes]] = {}

    def place_of(data: bytes) -> int:
        nonlocal end
        found = behind.get(id(data))
        if found is None:
            found = behind[id(data)] = end, data
            end += len(data) + (-len(data) % 16 or 16)
        return found[0]

    blob = bytearray(end)
    used = packing.write(blob, 0, images, [0] * len(images), place_of)
    if not behind:
        laid = any(image.laid is not None for image in images)
        return blob[:used], _tables_in(blob, images) if laid else []
    blob.extend(bytes(end - len(blob)))
    for at, data in behind.values():
        blob[at : at + len(data)] = data
    return blob, _tables_in(blob, images)


def _tables_in(blob: bytearray, images: List[Any]) -> List[int]:
    found = []
    for number, image in enumerate(images):
        for n, (_, _, data) in enumerate(image.steps):
            if data is not None:
                word = number * _IMAGE_WORDS + _STEPS
                (steps,) = struct.unpack_from("@Q", blob, word * _WORD)
                at = steps + n * packing.STEP_BYTES + _DATA_OF_STEP
                found.append(at // _WORD)
        if image.laid is not None:
            found += _tables_of_canvas(blob, number, image.laid.canvas.parts)
    return found


def _tables_of_canvas(blob: bytearray, number: int, parts: Any) -> List[int]:
    """Where an image says where its canvas is; and that, where its parts are;
    and these, where their masks are."""
    word = number * _IMAGE_WORDS + _CANVAS
    (canvas,) = struct.unpack_from("@Q", blob, word * _WORD)
    found = [word, (canvas + _PARTS_OF_CANVAS) // _WORD]
    at = canvas + packing.CANVAS_BYTES + _MASK_OF_PART
    for n, part in enumerate(parts):
        if part.mask is not None:
            found.append((at + n * packing.PART_BYTES) // _WORD)
    return found


class _Pickler(pickle.Pickler):
    def persistent_id(self, thing: Any) -> Any:
        kind = type(thing)
        if kind is Slot:
            return thing.number
        return tuple(thing) if kind is Column else None

    def reducer_override(self, thing: Any) -> Any:
        if type(thing) is torch.Tensor and _is_plain(thing):
            data = thing.contiguous()
            size = data.numel() * data.element_size()
            raw = ctypes.string_at(data.data_ptr(), size) if size else b""
            return _tensor, (raw, thing.dtype, tuple(thing.shape))
        return NotImplemented


def _is_plain(tensor: torch.Tensor) -> bool:
    return (
        tensor.device.type == "cpu"
        and tensor.layout == torch.strided
        and not tensor.requires_grad
        and not tensor.is_quantized
        and not tensor.is_conj()
        and not tensor.is_neg()
        and not tensor.__dict__
    )


def _tensor(raw: bytes, dtype: torch.dtype, shape: Tuple[int, ...]) -> Any:
    if not raw:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(raw), dtype=dtype).view(shape)


def _pickled(thing: Any) -> bytes:
    file = io.BytesIO()
    _Pickler(file, 5).dump(thing)
    return file.getvalue()


class _NotInColumns(Exception):
    pass


def _collated(batch: Sent) -> bytes:
    """What default_collate makes of the samples; nothing where only memory
    would tell."""
    functions = _compat.collate_functions()
    usual = functions.get(torch.Tensor)
    if usual is None or usual is not _compat.collate_tensors:
        return b""
    if _compat.returns_tv_tensors():
        return b""
    used = set()
    places = list(range(len(batch.indices)))

    def column(slots: Any, **more: Any) -> Any:
        position = slots[0].position
        if position in used or [slot.place for slot in slots] != places:
            raise _NotInColumns
        if any(slot.position != position for slot in slots):
            raise _NotInColumns
        used.add(position)  # once: two results must not be one tensor
        return Column(position)

    functions = {**functions, Slot: column}
    try:
        made = _compat.collate_by(batch.samples, collate_fn_map=functions)
        return _pickled(made)
    except Exception:
        return b""  # the consumer finds out, in its turn


# ---- In the engine's process -----------------------------------------------


class _Tensors:
    """Deferred tensors of one kind, for Batch.room."""

    dim = 0
    form = property(lambda self: self)

    def __init__(self, shape: Any, dtype: Any, wrap: Any) -> None:
        self.shape, self.dtype, self.wrap = shape, dtype, wrap


class _Picture:
    """A deferred image of Pillow's, for Batch.room."""

    dtype = None
    form = property(lambda self: self)

    def __init__(self, nbytes: int, make: Any, args: Any, added: Any) -> None:
        self.nbytes = nbytes
        self.leaf = object.__new__(Image.Image)
        self._made_of = make, args, added

    def give(self, memory: Any) -> None:
        make, args, added = self._made_of
        real = make(*args, bytes(memory))
        self.leaf.__class__ = real.__class__
        self.leaf.__dict__.update(real.__dict__)
        self.leaf.__dict__.update(added)


@lru_cache(maxsize=MOST)
def _pipeline_of(process: int, chain: Any) -> Any:
    """A forked child makes its own."""
    return pipeline_of(chain)


def _leaf(kind: Any) -> Any:
    return _Picture(*kind) if isinstance(kind[0], int) else _Tensors(*kind)


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: Any, load: Callable[[Any], Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._load_slot = load

    def persistent_load(self, name: Any) -> Any:
        return self._load_slot(name)


class Received:
    """A batch that a helper has recorded."""

    def __init__(self, memory: bytearray) -> None:
        self._memory = memory
        *lengths, blob = _LENGTHS.unpack_from(memory)
        view, at = memoryview(memory), LENGTH_BYTES
        parts = []
        for length in lengths:
            parts.append(view[at : at + length])
            at += length
        at += -at % _ALIGN
        self._head = head = _Head(*pickle.loads(parts[0]))
        self.counted = head.counted
        self._samples: Any = parts[1]
        self._whole: Any = parts[2]
        self._each: List[Any] = []  # what stands for the slots
        self._begin = at
        self._pipelines: List[Any] = []  # until the batch is delivered

    def give_memory(self, batch: Batch, memory: Any, pin: bool) -> Told:
        """On the reading thread, once: all that the engine needs."""
        batch.shares = self._head.shares
        count = len(batch.indices)
        outs = (
            self._columns(batch, memory, pin)
            if self._head.uniform
            else self._one_by_one(batch, memory, pin)
        )
        base = ctypes.addressof(
            (ctypes.c_char * len(self._memory)).from_buffer(self._memory)
        )
        self._address = base + self._begin
        counts = self._head.counts or [len(self._head.kinds)] * count
        if self._head.parts is not None:
            counts, wholes = self._head.parts
            of_wholes, outs = outs, torch.zeros(sum(counts), dtype=torch.int64)
            outs[wholes] = of_wholes
        if any(counts):
            self._relocate(sum(counts), outs)
        errors: Dict[int, BaseException] = {
            place: RecordingError(said)
            for place, said in self._head.errors.items()
        }
        return Told(self._memory, self._address, counts, errors)

    def _columns(self, batch: Batch, memory: Any, pin: bool) -> Any:
        """An address for each image; rows of samples lie behind each other."""
        columns = []
        for position, kind in enumerate(self._head.kinds):
            rows = batch.column(position, _leaf(kind), memory, pin)
            end = rows.first + rows.step * len(batch.indices)
            columns.append(
                torch.arange(rows.first, end, rows.step)
                if rows.step
                else torch.full((len(batch.indices),), rows.first)
            )
        return torch.stack(columns, 1).view(-1) if columns else None

    def _one_by_one(self, batch: Batch, memory: Any, pin: bool) -> Any:
        kinds, outs = iter(self._head.kinds), []
        for place, n in enumerate(self._head.counts):
            for _ in range(n):
                made, out = batch.room(place, _leaf(next(kinds)), memory, pin)
                self._each.append(made)
                outs.append(out)
        return torch.tensor(outs, dtype=torch.int64)

    def _relocate(self, images: int, outs: Any) -> None:
        """Pointers, which count from the first struct, become addresses."""
        words = torch.frombuffer(
            self._memory,
            dtype=torch.int64,
            offset=self._begin,
            count=(len(self._memory) - self._begin) // _WORD,
        )
        structs = words[: images * _IMAGE_WORDS].view(images, _IMAGE_WORDS)
        pointers = structs[:, _POINTERS]
        pointers.add_(pointers.ne(0) * self._address)
        structs[:, _OUT] = outs
        for theirs, chain in self._head.chains.items():
            mine = _pipeline_of(os.getpid(), chain)
            self._pipelines.append(mine)
            column = structs[:, _PIPELINE]
            column[column == theirs] = mine.handle
        if self._head.tables:
            words[self._head.tables] += self._address

    # ---- For the consumer

    def load(self, batch: Batch) -> None:
        """The samples, once."""
        samples, self._samples = self._samples, None
        if samples is None:
            return
        nowhere: Any = None  # there are rows for all of them
        if self._head.uniform:
            for place in range(len(batch.indices)):
                for position, kind in enumerate(self._head.kinds):
                    made, _ = batch.room(place, _leaf(kind), nowhere, False)
                    self._each.append(made)
        batch.samples = _Unpickler(samples, self._each.__getitem__).load()

    def collated(self, batch: Batch) -> Optional[Any]:
        """The batch of default_collate, as far as the helper could tell."""
        if not len(self._whole):
            return None

        def column(found: Tuple[int]) -> Any:
            return batch.column(found[0]).whole

        return _Unpickler(self._whole, column).load()
