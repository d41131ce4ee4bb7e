# SPDX-License-Identifier: Apache-2.0
"""An array without memory, which records what is done to it.

It is no ndarray, so C code that reads arrays finds none: it gets real pixels by
__array__, or raises an error. Python is told that it is one. What can be
recorded gives another one; everything else gets the real array, which this one
then stands for, for good.
"""

from __future__ import annotations

import sys
import time
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from .. import _c
from . import steps as op
from .description import Deferred, Form
from .image_source import Source
from .kept_arrays import adopted
from .kinds import metaclass_of
from .record import Call, Record, Table, as_bytes, as_pixels, dense
from .record import image_size
from .recording import lock, no_run, state
from .remembered import add_kinds, add_numbers, bytes_of

Handler = Callable[[Any, Any], Any]
References = Tuple[Any, ...]  # weak ones; mostly none


_Meta: Any = metaclass_of(object)


class DeferredArray(metaclass=_Meta):  # type: ignore[metaclass]
    _kind = np.ndarray
    __slots__ = (
        "_record",  # None: it is real
        "_real",
        "_base",  # of a view: what it shows, whose changes it would show
        "_views",  # weak references to those that show this one
        "_writable",
        "_shown",  # weak references to images that have its memory
        "__weakref__",
    )
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, record: Record, base: Any = None, writable: bool = True
    ) -> None:
        self._record: Optional[Record] = record
        self._real: Any = None
        self._base = base
        self._views: References = ()
        self._writable = writable
        self._shown: References = ()
        if type(base) is DeferredArray:
            self._writable = base._writable
            base._views += (weakref.ref(self),)

    __class__ = property(lambda self: np.ndarray)

    # ---- What it says of itself

    @property
    def shape(self) -> Any:
        record = self._record
        return self._real.shape if record is None else record.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        real_array(self, "shape").shape = shape

    @property
    def dtype(self) -> Any:
        record = self._record
        return self._real.dtype if record is None else record.dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        real_array(self, "dtype").dtype = dtype

    @property
    def strides(self) -> Any:
        record = self._record
        if record is None:
            return self._real.strides
        return tuple(s * record.dtype.itemsize for s in record.strides)

    @strides.setter
    def strides(self, strides: Any) -> None:
        real_array(self, "strides").strides = strides

    @property
    def flags(self) -> Any:
        record = self._record
        return self._real.flags if record is None else _Flags(self, record)

    T = property(lambda self: self.transpose())
    ndim = property(lambda self: len(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)

    @property
    def size(self) -> int:
        size = 1
        for side in self.shape:
            size *= side
        return size

    def __len__(self) -> int:
        return int(self.shape[0])

    # ---- The protocols of NumPy

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        real = real_array(self)
        if dtype is not None and real.dtype != dtype:
            return real.astype(dtype)
        return real.copy() if copy else real

    def __array_ufunc__(
        self, ufunc: Any, method: str, *args: Any, **kwargs: Any
    ) -> Any:
        handler = handlers.get(ufunc)
        if handler is not None and method == "__call__":
            found = handler(args, kwargs)
            if found is not NotImplemented:
                return found
        name = ufunc.__name__
        return getattr(ufunc, method)(
            *real_arrays(args, name), **real_arrays(kwargs, name)
        )

    def __array_function__(
        self, func: Any, types: Any, args: Any, kwargs: Any
    ) -> Any:
        handler = handlers.get(func)
        if handler is not None:
            found = handler(args, kwargs)
            if found is not NotImplemented:
                return found
        name = func.__name__
        return func(*real_arrays(args, name), **real_arrays(kwargs, name))

    def __bytes__(self) -> bytes:
        return bytes(real_array(self, "bytes"))

    def __getattr__(self, name: str) -> Any:
        if name not in _NAMES:
            raise AttributeError(
                "'numpy.ndarray' object has no attribute %r" % name
            )
        return getattr(real_array(self, name), name)

    def __dir__(self) -> Any:
        return dir(np.ndarray)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return real_array(self, "pickle").__reduce_ex__(protocol)

    # ---- As part of a sample

    @property
    def _feedline_deferred(self) -> Any:
        """How the engine makes it; None once it is real."""
        whole: Any = getattr(self._record, "deferred", None)
        found = None if whole is None else whole(self)
        if found is not None:
            return found
        record = recorded_array(self, leaf=True)
        kind = None if record is None else torch_dtype(record.dtype)
        if record is None or kind is None or min(record.strides) < 0:
            real_array(self, "kept")
            return None
        form = Form(
            record.shape,
            image_size(record.axes, record.shape),
            dtype=kind,
            nhwc=record.order[-1] == "c",
            code=_code_of(kind),
            element_bytes=record.dtype.itemsize,
            wrap=_numpy_of,
        )
        return Deferred(self, record.source, steps_of(record), form)

    @property
    def _feedline_real(self) -> Any:
        """What stands in its place in a sample."""
        return real_array(self, "kept")

    def _make_real(self) -> None:
        real_array(self, "real")

    def _give(self, memory: Any) -> None:
        self._real, self._record, self._base = memory.numpy(), None, None


class _Flags:
    """Those of a deferred array; all but a few make it real."""

    _TOLD = ("c_contiguous", "f_contiguous", "contiguous", "forc", "fnc")

    def __init__(self, array: Any, record: Record) -> None:
        strides = [s * record.dtype.itemsize for s in record.strides]
        empty = np.empty(1, record.dtype)
        made = np.lib.stride_tricks.as_strided(empty, record.shape, strides)
        object.__setattr__(self, "_array", array)
        object.__setattr__(self, "_like", made.flags)

    def __getattr__(self, name: str) -> Any:
        if name in self._TOLD:
            return getattr(self._like, name)
        if name == "writeable":
            return self._array._writable
        return getattr(real_array(self._array, "flags").flags, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(real_array(self._array, "flags").flags, name, value)

    def __repr__(self) -> str:
        return repr(real_array(self._array, "flags").flags)

    def __getitem__(self, name: str) -> Any:
        if name.lower() in (*self._TOLD, "writeable"):
            return getattr(self, name.lower())
        return real_array(self._array, "flags").flags[name]

    def __setitem__(self, name: str, value: Any) -> None:
        real_array(self._array, "flags").flags[name] = value


_NAMES = frozenset(dir(np.ndarray))
handlers: Dict[Any, Handler] = {}


def first_of(ours: Handler, others: Handler) -> Handler:
    """Where ours is not for a call, the others."""

    def handler(args: Any, kwargs: Any) -> Any:
        found = ours(args, kwargs)
        return others(args, kwargs) if found is NotImplemented else found

    return handler


def _method(name: str) -> Callable[..., Any]:
    """A method of arrays: recorded, if there is a handler of its name."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        handler = handlers.get(name)
        if handler is not None and self._record is not None:
            found = handler((self, *args), kwargs)
            if found is not NotImplemented:
                return found
        asked = name.strip("_")
        real = real_array(self, asked)
        found = getattr(real, name)(
            *real_arrays(args, asked), **real_arrays(kwargs, asked)
        )
        return self if found is real else found

    method.__name__ = name
    return method


_OWN = frozenset(DeferredArray.__dict__) | frozenset(dir(object))
_COMPARED = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
_SHOWN = ("__repr__", "__str__", "__format__", "__sizeof__")
for _name in dir(np.ndarray):
    _is_special = _name in _COMPARED or _name in _SHOWN
    if callable(getattr(np.ndarray, _name)) and (
        _is_special or (_name not in _OWN and _name != "__class_getitem__")
    ):
        setattr(DeferredArray, _name, _method(_name))
# That C code looks for them on an instance is no reason to have them.
for _name in ("__buffer__", "__array_finalize__", "__array_wrap__"):
    if _name in DeferredArray.__dict__:
        delattr(DeferredArray, _name)


# ---- Real ones --------------------------------------------------------------


def recorded_array(array: Any, leaf: bool = False) -> Optional[Record]:
    """The record of a deferred array that may be recorded on; None if it is
    real, or has to be.

    leaf: as part of a sample, which also may be that of the last run.
    """
    record: Optional[Record] = array._record
    if record is None:
        return None
    if record.run is not state.run or record.whole or array._base is not None:
        record = _record_of(array, leaf)
    elif record.source.read:
        return None
    if record is None or record.pending is None:
        return record
    return record if leaf and is_finished(record) else None


def is_finished(record: Record) -> bool:
    """Whether its elements are the engine's, though pixels stay where they
    are."""
    return record.pending is None or bool(floats_behind(record))


def floats_behind(record: Record) -> op.Steps:
    """What is done to its elements in the end; see float_images.py."""
    steps: op.Steps = getattr(record.pending, "finished", ())
    return steps


def copied_array(array: Any) -> Optional[Record]:
    """The record of an array whose elements may be copied, and get other
    dimensions."""
    record = recorded_array(array)
    if record is None:
        record = pending_array(array)
    return record if record is not None and is_finished(record) else None


def pending_array(array: Any) -> Optional[Record]:
    """The record of an array that is not the engine's yet."""
    record = _record_of(array, False) if type(array) is DeferredArray else None
    return None if record is None or record.pending is None else record


def _record_of(array: Any, leaf: bool) -> Optional[Record]:
    record: Optional[Record] = array._record
    if record is None or record.whole:
        return None
    run = record.run
    if run is not state.run and not (leaf and run is state.last):
        record = adopted(array)
        if record is None:
            return None
    if record.source.read:
        return None
    base = array._base
    while base is not None:
        if getattr(base, "_record", None) is None:
            return None  # it shows a real one; a real tensor has none
        base = base._base
    return record


def real_array(array: Any, asked: str = "") -> Any:
    """The ndarray of a deferred array, which it is from here on."""
    with lock, no_run():
        record = array._record
        if record is not None:
            began = time.monotonic_ns()
            record.source.read = True
            base = array._base
            if base is None:
                array._real = record.call.again()
            elif type(base) is DeferredArray:
                array._real = record.call.on(real_array(base, asked))
            else:
                array._real = record.call.on(_real_tensor(base, asked))
            array._record = array._base = None
            if not record.blank:
                record.run.recorder.count(asked, began)
            _show_real(array)
        return array._real


def _show_real(array: Any) -> None:
    """What has the memory of an array has it from now on."""
    for image in (ref() for ref in array._shown):
        if type(image) is not type(None) and hasattr(image, "_steps"):
            image._become(sys.modules["PIL.Image"].fromarray(array._real))
    for view in (ref() for ref in array._views):
        if view is not None and _is_shown(view):
            real_array(view, "fromarray")


def _is_shown(array: Any) -> bool:
    for ref in array._shown:
        if ref() is not None:
            return True
    for ref in array._views:
        view = ref()
        if view is not None and _is_shown(view):
            return True
    return False


def _real_tensor(tensor: Any, asked: str) -> Any:
    from .tensor import make_real

    return make_real(tensor, asked)


def real_arrays(value: Any, asked: str = "") -> Any:
    """Arguments with ndarrays in place of deferred arrays."""
    kind = type(value)
    if kind is DeferredArray:
        return real_array(value, asked)
    if kind is list:
        return [real_arrays(v, asked) for v in value]
    if isinstance(value, tuple):
        made = [real_arrays(v, asked) for v in value]
        return kind(*made) if hasattr(value, "_fields") else tuple(made)
    if kind is dict:
        return {key: real_arrays(v, asked) for key, v in value.items()}
    return value


class Handle:
    """What a tensor is a view of, in place of a deferred array: torch's tensors
    cannot both have weak references and become real."""

    __slots__ = ("_base", "_views", "_shown", "__weakref__")

    def __init__(self, array: Any) -> None:
        self._base = array
        self._views: References = ()
        self._shown: References = ()
        array._views += (weakref.ref(self),)

    @property
    def _record(self) -> Any:
        return self._base._record

    @property
    def _feedline_real(self) -> Any:
        return self._base._feedline_real


def only_view(view: Any) -> bool:
    """Whether a tensor alone sees the memory of the array that it is of."""
    base = view._base
    if type(base) is not Handle:
        return base is None
    del base
    return _references_of(view) <= _OF_ONE_VIEW and alone(view._base)


def alone(array: Any) -> bool:
    """Whether a write in place is seen by this array only: it has no views, and
    what it is a view of is in nobody else's hands."""
    views = 0
    while type(array) in (DeferredArray, Handle) and not _is_shown(array):
        if array._views:
            living = [ref for ref in array._views if ref() is not None]
            array._views = tuple(living)
            if len(array._views) > views:
                return False
        base = array._base
        if base is None:
            return True
        if _references_of(array) > _OF_ONE_VIEW:
            return False
        array, views = base, 1
    return False


def _references_of(view: Any) -> int:
    """To what it is a view of."""
    return sys.getrefcount(view._base)


def _of_one_view() -> int:
    """What _references_of() says where nobody else has it. The name that
    alone() has counts, too."""
    view = object.__new__(DeferredArray)
    base = view._base = object.__new__(DeferredArray)
    found = _references_of(view)
    del base
    return found


_OF_ONE_VIEW = _of_one_view()


# ---- Tables, steps ----------------------------------------------------------

_bytes: Dict[int, Table] = {}


def table_of(record: Record) -> Table:
    """What becomes of each byte: an array [channels, 256], not to be
    changed."""
    if record.table is not None:
        return record.table
    c = record.side("c")
    table = _bytes.get(c)
    if table is None:
        every = np.arange(256, dtype=np.uint8)
        table = _bytes[c] = np.repeat(every[None], c, axis=0)
    return table


def every_pixel(record: Record) -> Any:
    """The table in the dimensions of the array."""
    return as_pixels(table_of(record), record)


def _table_bytes(table: Table) -> bytes:
    made: bytes = np.ascontiguousarray(table).tobytes()
    return made


def steps_of(record: Record) -> op.Steps:
    """All of the engine's."""
    steps: List[op.Step] = list(record.steps)
    if record.table is not None:
        data = bytes_of(record.table, _table_bytes)
        steps.append((op.LOOKUP, (), data))
    for place, value in record.erased:
        numbers = (float(v) for v in value)
        steps.append((op.ERASE, (*place, *numbers), None))
    return (*steps, *floats_behind(record))


add_kinds(*[type(np.dtype(c)) for c in "?bhilqBHILQefd"])


def _said_of(numbers: Any) -> Any:
    """Of numbers for each channel: others are drawn, or maps."""
    if numbers.size > 4:
        return None
    return numbers.dtype.str, numbers.shape, numbers.tobytes()


add_numbers(np.ndarray, _said_of)

_torch_dtypes: Dict[Any, Any] = {}


def torch_dtype(dtype: Any) -> Any:
    """torch's; None if it has none."""
    try:
        return _torch_dtypes[dtype]
    except KeyError:
        torch: Any = sys.modules.get("torch")
        if torch is None:
            return None
        try:
            found = torch.from_numpy(np.empty(0, dtype)).dtype
        except TypeError:
            found = None
        _torch_dtypes[dtype] = found
        return found


def _code_of(kind: Any) -> int:
    from .tensor import CODES

    return CODES.get(kind, _c.U8)


def _numpy_of(tensor: Any) -> Any:
    return tensor.numpy()


# ---- The first one ----------------------------------------------------------


def array_of(image: Any, function: Callable[[Any], Any], writable: bool) -> Any:
    """The array of a deferred image, as function(a real one) makes it."""
    source = image._source
    call = Call(None, _made, 0, (function, source, image._steps))
    mode, steps = as_bytes(image)
    size, run = image._size, image._run
    return first_array(run, source, steps, mode, size, call, writable)


def first_array(
    run: Any,
    source: Source,
    steps: op.Steps,
    mode: str,
    size: Any,
    call: Call,
    writable: bool = True,
) -> DeferredArray:
    """The array of an image of width and height `size`."""
    (w, h), c = size, op.CHANNELS[mode]
    record = Record()
    record.source, record.steps = source, steps
    record.mode, record.run = mode, run
    record.axes = "hw" if c == 1 else "hwc"
    record.shape = (h, w) if c == 1 else (h, w, c)
    record.strides = dense(record.shape)
    if c == 1:
        run.grays.add(record.shape)
    record.dtype = np.dtype(np.uint8)
    record.call = call
    source.wanted = run.has_arrays = True
    return DeferredArray(record, None, writable)


def _made(function: Callable[[Any], Any], source: Any, steps: Any) -> Any:
    from . import pillow_steps

    return function(pillow_steps.image_of(source, steps))
