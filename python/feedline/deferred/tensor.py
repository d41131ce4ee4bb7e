# SPDX-License-Identifier: Apache-2.0
"""A tensor without memory, which records what is done to it.

It is torch's wrapper subclass: whoever asks it for memory gets an error, in
Python and in C++. Functions that can be recorded give another one; all others
make it real first: the same object is then a plain tensor, for good.

torch's real functions make the table: they are called with a tensor of all byte
values in place of the image, so dtypes, rounding and errors are torch's.
"""

from __future__ import annotations

import ctypes
import operator
import sys
import time
from functools import lru_cache
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from .. import _c
from . import steps as op
from .description import Deferred, Form
from .record import Call, Record, Shape, Table, as_bytes, image_size
from .kinds import metaclass_of
from .remembered import bytes_of
from .recording import lock, no_run, state
from .steps import Steps

# dtypes that the engine knows; of others it copies elements of a table.
CODES = {
    torch.uint8: _c.U8,
    torch.float32: _c.F32,
    torch.float16: _c.F16,
    torch.bfloat16: _c.BF16,
}

_swap: Any = getattr(torch.utils, "swap_tensors", None)
_guard: Any = getattr(torch._C, "_set_storage_data_ptr_access_error_msg", None)
_base: Any = getattr(torch._C, "TensorBase", None)
_storage_of: Any = getattr(_base, "untyped_storage", None)
Off: Any = getattr(torch._C, "DisableTorchFunctionSubclass", None)
# Without these a tensor could not become another one, or could be read.
WANTED = "torch 2.4 or later"
POSSIBLE = None not in (_swap, _guard, _storage_of, Off)


def born(
    image: Any,
    function: Callable[..., Any],
    args: Tuple[Any, ...],
    scaled: bool = False,
) -> Any:
    """The tensor [C, H, W] of a deferred image.

    image: has _source, _steps, _mode, _size and _run. function: of args, makes
    the real one.
    """
    w, h = image._size
    c = op.CHANNELS[image._mode]
    record = Record()
    record.source = image._source
    record.mode, record.steps = as_bytes(image)
    record.run = image._run
    record.axes = "chw"
    record.shape = (c, h, w)
    record.strides = (h * w, w, 1) if scaled else (1, w * c, c)
    record.dtype = torch.float32 if scaled else torch.uint8
    record.scaled, record.kind = scaled, torch.Tensor
    record.call = Call(None, function, 0, args)
    record.source.wanted = True
    return wrap(record)


# ---- Tables -----------------------------------------------------------------

_bytes: Dict[int, Table] = {}


def table_of(record: Record) -> Table:
    """What becomes of each byte. Not to be changed."""
    if record.table is not None:
        return record.table
    c = record.side("c")
    table = _bytes.get(c)
    if table is None:
        every = torch.arange(256, dtype=torch.uint8)
        table = _bytes[c] = every.repeat(c, 1)
    return _scaled(c, record.normalized) if record.scaled else table


@lru_cache(maxsize=64)
def _scaled(c: int, normalized: Tuple[float, ...]) -> Table:
    table = _bytes[c].to(torch.float32).div(255)
    if normalized:
        both = torch.tensor(normalized, dtype=torch.float32)
        table = table.sub_(both[:c, None]).div_(both[c:, None])
    return table


def _table_bytes(table: Table) -> bytes:
    table = table.contiguous()
    size = table.numel() * table.element_size()
    return ctypes.string_at(table.data_ptr(), size)


def steps_of(record: Record) -> Steps:
    """All of the engine's."""
    steps: List[op.Step] = list(record.steps)
    if record.table is not None:
        data = bytes_of(record.table, _table_bytes)
        steps.append((op.LOOKUP, (), data))
    elif record.scaled:
        steps.append((op.SCALE, (), None))
        if record.normalized:
            steps.append((op.NORMALIZE, record.normalized, None))
    for place, value in record.erased:
        if value.dim() == 3:
            steps.append((op.ERASE, place, _table_bytes(value)))
            continue
        numbers = value.reshape(-1).tolist()
        steps.append((op.ERASE, (*place, *map(float, numbers)), None))
    if record.pending is not None:
        steps += record.pending.finished
    return tuple(steps)


# ---- The tensor -------------------------------------------------------------


_Meta: Any = metaclass_of(torch.Tensor)


class DeferredTensor(torch.Tensor, metaclass=_Meta):  # type: ignore[metaclass]
    _abstract = True  # see class_of()
    _record: Any = None  # None: it is real
    # Of a view: the tensor that it shows, whose changes it would show.
    _base: Any = None
    _viewed = False  # it is the base of another one
    _kind: Any = torch.Tensor  # the class of the real one

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        handler = handlers.get(func)
        # With set_return_type("TVTensor") what is computed keeps its class.
        plain = cls._kind is torch.Tensor or not _keeps_kinds()
        if handler is not None and (plain or handler is ask):
            found = handler(func, args, kwargs or {})
            if found is not NotImplemented:
                return found
        name = getattr(func, "__name__", "")
        args = real_of(args, name)
        return func(*args, **real_of(kwargs or {}, name))

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """What reaches torch's C++ without a function of torch's in Python. The
        caller there holds the object, so another one has its pixels."""
        name = str(func)
        args = real_of(args, name, swap=False)
        return func(*args, **real_of(kwargs or {}, name, swap=False))

    def as_subclass(self, cls: Any) -> Any:
        # torch's asks no __torch_function__.
        function = torch.Tensor.as_subclass
        kind = getattr(cls, "_kind", cls)
        found = handlers[function](function, (self, kind), {})
        if found is NotImplemented:
            return make_real(self, "as_subclass").as_subclass(kind)
        return found

    @property
    def _feedline_deferred(self) -> Any:
        """How the engine makes it; None once it is real."""
        record: Any = recorded(self, leaf=True)
        found = None if record is None else described(self, record)
        if found is None:
            make_real(self, "kept")
        return found

    def _make_real(self) -> None:
        make_real(self, "real")

    def _give(self, memory: Any) -> None:
        kind = self._kind
        _become(self, memory.detach().as_subclass(kind))

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Not torch's, which would ask the class from before.
        return make_real(self, "pickle").__reduce_ex__(protocol)


def described(leaf: Any, record: Any) -> Optional[Deferred]:
    """How the engine makes a tensor; None: it has to be real."""
    if record.whole:
        found: Optional[Deferred] = record.deferred(leaf)
        return found
    if record.source.read:
        return None
    form = _form_of(record.axes, tuple(record.shape), record.dtype, record.kind)
    return Deferred(leaf, record.source, steps_of(record), form)


@lru_cache(maxsize=256)
def _form_of(axes: str, shape: Shape, dtype: Any, kind: Any) -> Form:
    wrap_real = None
    if kind is not torch.Tensor:
        wrap_real = operator.methodcaller("as_subclass", kind)
    return Form(
        shape,
        image_size(axes, shape),
        dtype=dtype,
        nhwc=axes.strip("1")[-1] == "c",
        code=CODES.get(dtype, _c.U8),
        element_bytes=dtype.itemsize,
        wrap=wrap_real,
    )


def ask(func: Any, args: Any, kwargs: Any) -> Any:
    """A handler of what a tensor says of itself."""
    with Off():
        return func(*args, **kwargs)


def _keeps_kinds() -> bool:
    helpers = sys.modules.get("torchvision.tv_tensors._torch_function_helpers")
    return bool(getattr(helpers, "_TORCHFUNCTION_SUBCLASS", False))


handlers: Dict[Any, Callable[[Any, Any, Any], Any]] = {}

_kinds: Dict[Any, Any] = {}
_empty: Dict[str, Any] = {}
_make: Any = torch.Tensor._make_wrapper_subclass
_subclass: Any = torch.Tensor._make_subclass
_MESSAGE = "the pixels of this image have not been decoded yet"


def class_of(kind: Any) -> Any:
    """The deferred class that passes for a class of tensors."""
    found = _kinds.get(kind)
    if found is None:
        bases: Any = DeferredTensor, kind
        if kind is torch.Tensor:
            bases = (DeferredTensor,)
        members = {
            "_kind": kind,
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
        }
        found = metaclass_of(*bases)(kind.__name__, bases, members)
        _kinds[kind] = found
    return found


def wrap(record: Record, base: Any = None) -> Any:
    """The tensor of a record. base: the one that it is a view of."""
    form = record.kind, record.shape, record.strides, record.dtype
    found = _forms.get(form) or _new_form(*form)
    tensor = _subclass(*found)
    tensor._record = record
    if base is not None:
        tensor._base = base
        if isinstance(base, torch.Tensor):
            base._viewed = True  # type: ignore[attr-defined]
    return tensor


# By class, shape, strides and dtype: our class, and a tensor of torch's whose
# storage, which nobody can read, all tensors of this form have. So one more
# takes a third of the time that one with a storage of its own takes.
_forms: Dict[Any, Tuple[Any, torch.Tensor]] = {}
_MOST_FORMS = 256


def _new_form(
    kind: Any, shape: Any, strides: Any, dtype: Any
) -> Tuple[Any, torch.Tensor]:
    cls = class_of(kind)
    with torch.inference_mode(False), Off():
        storage = _storage_of(_make(cls, shape, strides=strides, dtype=dtype))
        empty = torch.empty(0, dtype=dtype, device="cpu")
        like = empty.set_(storage, 0, shape, strides)
    _guard(storage._cdata, _MESSAGE)
    if len(_forms) >= _MOST_FORMS:
        _forms.clear()
    found = _forms[kind, shape, strides, dtype] = cls, like
    return found


def recorded(tensor: Any, leaf: bool = False) -> Optional[Record]:
    """The record of a deferred tensor that may be recorded on; None if it is
    real, or has to be.

    leaf: as part of a sample, which also may be that of the last run.
    """
    record: Any = tensor._record
    if record is None:
        return None
    run = record.run
    if not leaf and (run is not state.run or record.whole):
        return None
    if run is not state.run and run is not state.last:
        return None
    base = tensor._base
    while base is not None:
        if getattr(base, "_record", None) is None:
            return None  # it shows a real one
        base = base._base
    found: Record = record
    return found if leaf or found.pending is None else None


def copied_tensor(tensor: Any) -> Optional[Record]:
    """The same, of one whose elements are only copied."""
    record = recorded(tensor, leaf=True)
    if record is None or record.whole or record.run is not state.run:
        return None
    return record


def make_real(tensor: Any, asked: str, swap: bool = True) -> Any:
    """The real tensor, which is the same object if that is possible."""
    with lock, no_run():
        if not isinstance(tensor, DeferredTensor):
            return tensor
        record: Any = tensor._record
        if record is None:
            return _of_real_class(tensor)
        if isinstance(record, _Elsewhere):
            return record.tensor
        began = time.monotonic_ns()
        if tensor._base is None:
            real = record.call.again()
        else:
            real = record.call.on(_real_base(tensor._base, asked, swap))
        if swap and _become(tensor, real):
            real = tensor
        else:
            tensor._record = _Elsewhere(real)
        record.run.recorder.count(asked, began)
        return real


def _real_base(base: Any, asked: str, swap: bool) -> Any:
    if isinstance(base, torch.Tensor):
        return make_real(base, asked, swap)
    return base._feedline_real


def _of_real_class(tensor: Any) -> Any:
    """A tensor with pixels that torch has made of our class, like another one.
    torch has noted that our class sees calls, so a new class is not enough."""
    kind = tensor._kind
    with Off():
        real = torch.empty(0, dtype=tensor.dtype).set_(
            _storage_of(tensor),
            tensor.storage_offset(),
            tensor.size(),
            tensor.stride(),
        )
    real = real.as_subclass(kind)
    return tensor if _become(tensor, real) else real


class _Elsewhere:
    """In place of a record: the pixels are another object's, because C++ or a
    weak reference holds this one."""

    whole = True
    run = object()  # no run

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


def _become(tensor: Any, real: Any) -> bool:
    """Whether the real tensor has taken the place of a deferred one."""
    own = {
        name: value
        for name, value in tensor.__dict__.items()
        if name not in ("_record", "_base", "_viewed")
    }
    try:
        with Off():
            _swap(tensor, real)
    except RuntimeError:
        return False
    tensor.__dict__.update(own)
    return True


def real_of(value: Any, asked: str, swap: bool = True) -> Any:
    """Arguments with real tensors in place of deferred ones."""
    if isinstance(value, DeferredTensor):
        return make_real(value, asked, swap)
    if isinstance(value, (list, tuple)):
        made = [real_of(v, asked, swap) for v in value]
        if isinstance(value, list):
            return made
        if hasattr(value, "_fields"):
            return type(value)(*made)
        return tuple(made)
    if isinstance(value, dict):
        return {key: real_of(v, asked, swap) for key, v in value.items()}
    return value
