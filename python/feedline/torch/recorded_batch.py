# SPDX-License-Identifier: Apache-2.0
"""A batch of recorded samples while its pixels are made, and their memory.

The first sample of a batch says of what shape and type its leaves are. From
then on there is one tensor for the leaves at each position, [samples, ...]; the
engine writes every sample's pixels into its row, and default_collate has
nothing left to copy: the tensor is the batch (`collated`). A leaf of another
shape or type gets memory of its own.
"""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Tuple

import torch
from torch.utils.data.dataloader import default_collate

from ..deferred.canvas import lay
from ..deferred.steps import EXPECT
from ..deferred.packing import address_in
from . import _compat
from .recorded_draws import States
from .recorded_leaves import Copies
from .recorded_memory import Memory
from .recorded_told import Told


class Rows(NamedTuple):
    """Memory of the leaves at one position."""

    whole: torch.Tensor
    each: Tuple[torch.Tensor, ...]
    first: int  # an address
    step: int  # bytes of a row
    form: Any


class Batch:
    """Samples of a batch: indices, what was recorded, where pixels go.

    copies: how often each sample had occurred before. samples: copies of those
    that were recorded. leaves: of each its deferred images with their memory,
    which the engine writes to until it has delivered the batch. after: the
    generators behind the batch as it was recorded, with torch's draws; truth:
    as the batch has left them, where that is known to be another matter.
    """

    def __init__(
        self, indices: List[Any], copies: Optional[List[int]] = None
    ) -> None:
        count = len(indices)
        self.indices = indices
        self.copies = copies or [0] * count
        self.samples: List[Any] = [None] * count
        self.leaves: List[List[Tuple[Any, Any]]] = [[] for _ in indices]
        self.after: Optional[States] = None
        self.truth: Optional[States] = None
        # By place: leaves and addresses, or what the sample raised.
        self.recorded: Dict[int, Any] = {}
        self.told: Optional[Told] = None  # from then on
        self.shares = False  # samples have objects in common
        self.here = ""  # why no other process can record it
        # Plain tensors with attributes, which a worker does not send.
        self.marked: List[Any] = []
        self.made: Any = None  # by a helper: a Received
        self.lost = 0  # helpers that ended with it
        # Places of samples that failed when they were recorded.
        self.unfinished: FrozenSet[int] = frozenset()
        self.stacked: Any = None  # the Stacked of its collate_fn
        self._rows: Dict[int, Rows] = {}

    def isolate(
        self, place: int, sample: Any, copies: Copies, memory: Memory, pin: bool
    ) -> List[Any]:
        """Keeps a copy of a sample; its deferred images, for the engine."""
        leaves: List[Any] = []
        outs: List[int] = []

        def room(leaf: Any) -> Any:
            made, out = self.room(place, leaf, memory, pin)
            for part in leaf.parts or (leaf,):
                lay(part, leaves, outs)
                leaves.append(part)
                outs.append(out)
                out += part.form.nbytes
            return made

        self.samples[place] = copies.of(sample, room)
        self.recorded[place] = leaves, outs
        return leaves

    def begin_again(self) -> None:
        """Nothing has been recorded, and has memory."""
        self.leaves = [[] for _ in self.leaves]
        self._rows.clear()

    def room(
        self, place: int, leaf: Any, memory: Memory, pin: bool
    ) -> Tuple[Any, int]:
        """What stands for a deferred image of a sample, and the address where
        its pixels go."""
        leaves, form = self.leaves[place], leaf.form
        if form.dtype is None:
            # An image of Pillow's, of which the data set may keep its own.
            leaf.leaf = _twin(leaf.leaf)
            pixels = bytearray(form.nbytes)
            leaves.append((leaf, pixels))
            return leaf.leaf, address_in(pixels)
        row = self._row(len(leaves), place, form, memory, pin)
        if leaf.dim:
            # Its parts lie elsewhere, until all of them are made.
            shape = _in_front(form.shape, leaf.dim)
            parts = memory.empty(shape, form.dtype, False)
            leaves.append((leaf, (row, parts)))
            return row, parts.data_ptr()
        leaves.append((leaf, row))
        return row if form.wrap is None else form.wrap(row), row.data_ptr()

    def _row(
        self, position: int, place: int, form: Any, memory: Memory, pin: bool
    ) -> torch.Tensor:
        rows = self.column(position, form, memory, pin)
        if rows.form is not form and not _are_alike(rows.form, form):
            return memory.empty(form.shape, form.dtype, pin)
        return rows.each[place]

    def column(
        self, position: int, form: Any = None, memory: Any = None, pin: Any = 0
    ) -> Rows:
        """Memory at that position, for the form of the first leaf there."""
        rows = self._rows.get(position)
        if rows is None:
            shape = len(self.indices), *form.shape
            whole = memory.empty(shape, form.dtype, pin)
            step = whole.stride(0) * whole.element_size()
            each, first = whole.unbind(0), whole.data_ptr()
            rows = self._rows[position] = Rows(whole, each, first, step, form)
        return rows

    @property
    def nbytes(self) -> int:
        return sum(
            len(rows.each) * rows.step for rows in list(self._rows.values())
        )

    def finished(self, place: int) -> Any:
        """The sample, whose pixels have been made."""
        for leaf, memory in self.leaves[place]:
            if leaf.form.dtype is None:
                leaf.give(memory)
            elif leaf.dim:
                row, parts = memory
                row.copy_(parts.movedim(0, leaf.dim))
        return self.samples[place]

    def whole_of(self, tensors: Any) -> Optional[torch.Tensor]:
        """That of which these are all the rows, in their order; for once."""
        start = _start_of(tensors[0])
        for position, rows in list(self._rows.items()):
            if rows.first == start and _are_rows(tensors, rows):
                del self._rows[position]
                return rows.whole
        return None

    def settle(self) -> None:
        """Behind the collate_fn: the samples are not needed any more."""
        stacked, self.stacked = self.stacked, None
        if stacked is not None:
            self.samples, self.leaves = [], []
            self._rows.clear()
            stacked.settle()

    def made_as_recorded(self, place: int) -> bool:
        """Makes the images of a sample that the engine could not make, by the
        calls that were recorded. Whether they can be: OpenCV reads damaged
        files, and a data set that changes itself is not to be asked twice."""
        leaves = self.leaves[place]
        images = [leaf for leaf, _ in leaves if leaf.form.dtype is None]
        if self.made is not None or not leaves or images:
            return False
        if place in self.unfinished or self.expects(place):
            return False
        try:
            for leaf, memory in leaves:
                real = leaf.real()
                real = getattr(real, "_feedline_real", real)
                put_real(leaf, memory, torch.as_tensor(real))
        except Exception:
            return False
        return True

    def expects(self, place: int) -> bool:
        """Whether an answer about its pixels may have been wrong."""
        return any(
            step[0] == EXPECT
            for leaf, _ in self.leaves[place]
            for step in getattr(leaf, "steps", ())
        )

    def zeroed(self, place: int) -> Any:
        """The sample with zeros for pixels."""
        for _, memory in self.leaves[place]:
            if isinstance(memory, tuple):
                memory[1].zero_()
            elif isinstance(memory, torch.Tensor):
                memory.zero_()
            else:
                memory[:] = bytes(len(memory))
        return self.finished(place)

    def collated(self, samples: List[Any]) -> Any:
        """What default_collate makes of these samples."""
        functions = _compat.collate_functions()
        usual = functions.get(torch.Tensor)
        if usual is None or usual is not _compat.collate_tensors:
            return default_collate(samples)
        wholes = {rows.first: rows for rows in self._rows.values()}

        def tensors(parts: Any, **more: Any) -> Any:
            rows = wholes.get(_start_of(parts[0]))
            if rows is None or not _are_rows(parts, rows):
                return usual(parts, **more)
            del wholes[rows.first]  # once: two results must not be one tensor
            return rows.whole

        functions = {**functions, torch.Tensor: tensors}
        return _compat.collate_by(samples, collate_fn_map=functions)


def put_real(leaf: Any, memory: Any, real: Any) -> None:
    """Where the engine would have put it."""
    if leaf.dtype is None:
        memory[:] = real.tobytes()
    elif leaf.dim:
        memory[1].copy_(real.movedim(leaf.dim, 0))
    else:
        memory.copy_(real)


def _are_alike(a: Any, b: Any) -> bool:
    return tuple(a.shape) == tuple(b.shape) and bool(a.dtype == b.dtype)


def _in_front(shape: Tuple[int, ...], dim: int) -> Tuple[int, ...]:
    """The shape of a tensor whose parts are stacked, with them in front."""
    return (shape[dim], *shape[:dim], *shape[dim + 1 :])


def _twin(image: Any) -> Any:
    """Another image that is deferred in the same way."""
    made = object.__new__(type(image))
    made.__dict__.update(image.__dict__)
    return made


def _start_of(part: Any) -> int:
    dense = part.device.type == "cpu" and part.layout == torch.strided
    return int(part.data_ptr()) if dense and not part.is_nested else -1


def _are_rows(parts: Any, rows: Rows) -> bool:
    """Whether these are all rows in their order, as torch.stack would have
    them."""
    if len(parts) != len(rows.each) or _compat.returns_tv_tensors():
        return False
    step, address = rows.step, rows.first
    like = rows.each[0]
    for part in parts:
        if (
            part.data_ptr() != address
            or part.shape != like.shape
            or part.dtype is not like.dtype
            or part.stride() != like.stride()
            or part.requires_grad
        ):
            return False
        address += step
    return True
