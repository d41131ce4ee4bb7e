# SPDX-License-Identifier: Apache-2.0
"""torch's functions and methods that are recorded, by what they are.

Each handler returns NotImplemented for calls that are not for it: then the
tensor is made real, and torch's own function runs, and raises what it raises.
"""

from __future__ import annotations

import math
import operator
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Optional,
    Sequence,
    Tuple,
)

import torch

from . import joined
from . import steps as op
from .record import Call, Record, as_pixels, as_table, dense, is_plain
from .record import kept_order, parts_of, selected
from .remembered import add_kinds, then
from .tensor import (
    CODES,
    DeferredTensor,
    ask,
    copied_tensor,
    handlers,
    recorded,
    table_of,
    wrap,
)

# ---- What a tensor says of itself -------------------------------------------

_ASKED = (
    "__len__ dim element_size get_device is_complex is_conj is_contiguous "
    "is_floating_point is_inference is_neg is_signed ndimension nelement numel "
    "size storage_offset stride"
).split()
_PROPERTIES = (
    "device dtype grad grad_fn is_cpu is_cuda is_leaf is_meta is_mkldnn "
    "is_quantized is_sparse itemsize layout names nbytes ndim requires_grad "
    "shape"
).split()


# ---- Arithmetic -------------------------------------------------------------

# Whose result is the same for a value wherever it stands in a tensor: exact
# operations of IEEE 754, and comparisons. What is computed by approximation is
# not: its last bits depend on whether an element is in a vector or in the rest.
_ELEMENTWISE = (
    "abs absolute add bfloat16 bitwise_and bitwise_not bitwise_or bitwise_xor "
    "bool byte ceil char clamp clamp_max clamp_min clip div divide double eq "
    "float floor ge greater greater_equal gt half int le less less_equal "
    "logical_not long lt maximum minimum mul multiply ne neg negative "
    "not_equal reciprocal round rsub short sqrt square sub subtract to "
    "true_divide trunc type __abs__ __add__ __and__ __eq__ __ge__ __gt__ "
    "__invert__ __le__ __lt__ __mul__ __ne__ __neg__ __or__ __radd__ __rdiv__ "
    "__rmul__ __rsub__ __rtruediv__ __sub__ __truediv__ __xor__"
).split()
_IN_PLACE = (
    "abs_ add_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ div_ divide_ floor_ "
    "mul_ multiply_ neg_ negative_ reciprocal_ round_ sqrt_ square_ sub_ "
    "subtract_ true_divide_ trunc_ __iadd__ __imul__ __isub__ __itruediv__"
).split()
# Keywords that change nothing else.
_KEYWORDS = frozenset(
    "other input value min max dtype device copy non_blocking decimals".split()
)


def _elementwise(func: Any, args: Any, kwargs: Any) -> Any:
    found = _arithmetic(func, args, kwargs, False)
    if found is NotImplemented:
        return joined.of_parts(_elementwise, func, args, kwargs)
    return found


def _in_place(func: Any, args: Any, kwargs: Any) -> Any:
    return _arithmetic(func, args, kwargs, True)


def _arithmetic(func: Any, args: Any, kwargs: Any, in_place: bool) -> Any:
    at, tensor = _the_one(args)
    record = None if tensor is None else recorded(tensor)
    if record is None or not _KEYWORDS.issuperset(kwargs):
        return NotImplemented
    if torch.get_default_dtype() is not torch.float32:
        return NotImplemented  # it would count again when it is made real
    if in_place and (at != 0 or not _alone(tensor)):
        return NotImplemented
    rest = (*args[:at], *args[at + 1 :])
    for value in (*rest, *kwargs.values()):
        if not _is_operand(value, record):
            return NotImplemented
    rest = tuple([_snapshot(v) for v in rest])
    if kwargs:
        kwargs = {key: _snapshot(v) for key, v in kwargs.items()}
    call = Call(record.call, func, at, rest, kwargs)
    if in_place:
        made = _computed(record, call, in_place=True)
        return _set(tensor, made) if isinstance(made, Record) else made
    return _result(tensor, record, then(_computed, record, call))


def _result(tensor: Any, record: Record, made: Any) -> Any:
    """The tensor of what a move has made, which may be no record."""
    if made is record:
        return tensor
    if type(made) is not Record:
        return made
    return wrap(made, tensor if made.is_view else None)


add_kinds(torch.dtype, torch.device)
# Whose result is of the class that the tensor is of.
_KEPT = ("to", "clone", "detach")


def _computed(
    record: Record, call: Call, *args: Any, in_place: bool = False, **named: Any
) -> Any:
    """The move of a call that makes a value of each byte, and of what has been
    erased."""
    every = as_pixels(table_of(record), record)
    if in_place:
        every = every.clone()
    made = call.on(every)
    if not isinstance(made, torch.Tensor):
        return made  # the name of its type
    if made is every and not in_place:
        return record
    gray = record.order == "chw" and record.mode == "L"
    if made.shape != every.shape and gray and not record.erased:
        # A gray image and three numbers: all channels begin as the gray one.
        record = _gray_to_rgb(record)
        every = as_pixels(table_of(record), record)
        if in_place or made.shape != every.shape:
            return NotImplemented
    if made.shape != every.shape or made.is_complex() or made.requires_grad:
        return NotImplemented
    erased = tuple(
        (place, _apply_to_value(call, value, record))
        for place, value in record.erased
    )
    if erased and made.dtype not in CODES:
        return NotImplemented
    kept = getattr(call.function, "__name__", "") in _KEPT
    return record.but(
        table=as_table(made, record),
        scaled=False,
        normalized=(),
        erased=erased,
        dtype=made.dtype,
        strides=kept_order(record),
        kind=record.kind if kept else torch.Tensor,
        call=call,
        is_view=False,
    )


def _set(tensor: Any, record: Record) -> Any:
    """The same tensor, changed."""
    record.kind = tensor._kind
    tensor._record, tensor._base = record, None
    return tensor


def _alone(tensor: Any) -> bool:
    """Whether nothing else shows what is written to it."""
    if tensor._viewed or isinstance(tensor._base, torch.Tensor):
        return False
    if tensor._base is None:
        return True
    from .array import only_view

    return only_view(tensor)


def _the_one(args: Any) -> Tuple[int, Any]:
    """The place of the only deferred tensor among arguments."""
    found = [i for i, a in enumerate(args) if isinstance(a, DeferredTensor)]
    return (found[0], args[found[0]]) if len(found) == 1 else (-1, None)


def _is_operand(value: Any, record: Record) -> bool:
    """A number, a dtype, the CPU; or a tensor that has at most a value for each
    channel."""
    if isinstance(value, torch.Tensor):
        if isinstance(value, DeferredTensor) or value.requires_grad:
            return False
        if value.device.type != "cpu" or value.is_sparse:
            return False
        n, mine = value.dim(), len(record.axes)
        if n > mine:
            return False
        axes = record.axes[mine - n :]
        return all(
            side == 1 or axis == "c" for axis, side in zip(axes, value.shape)
        )
    if isinstance(value, (torch.device, str)):
        try:
            return torch.device(value).type == "cpu"
        except RuntimeError:
            return isinstance(value, str) and value.startswith("torch.")
    if isinstance(value, type):
        return True  # torch.FloatTensor
    return value is None or isinstance(
        value, (int, float, torch.dtype, torch.Size)
    )


def _snapshot(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _apply_to_value(call: Call, value: Any, record: Record) -> Any:
    if value.dim() == 3:
        return call.on(value.clone())
    sides = [len(value) if axis == "c" else 1 for axis in record.axes]
    return call.on(value.clone().reshape(sides)).reshape(-1)


# ---- Moving pixels ----------------------------------------------------------


def _view(
    record: Record,
    call: Call,
    is_view: bool = True,
    **changed: Any,
) -> Any:
    """The tensor that a call made by moving pixels. Width and height in the
    order of memory, then."""
    kind = changed.pop("kind", torch.Tensor)
    new = record.but(call=call, kind=kind, **changed)
    axes = new.order
    if axes in ("cwh", "whc", "wh"):
        if record.pending is not None:
            return NotImplemented  # its pixels have their place
        new.steps = (*new.steps, (op.TRANSPOSE, (5,), None))
        swapped = {"h": "w", "w": "h"}
        new.axes = "".join(swapped.get(axis, axis) for axis in new.axes)
    elif axes not in ("chw", "hwc", "hw"):
        return NotImplemented
    if len(new.steps) > op.MOST_STEPS - 4:
        return NotImplemented
    new.is_view = is_view
    return new


def _mover(
    move: Callable[..., Any], record_of: Callable[..., Any] = recorded
) -> Callable[[Any, Any, Any], Any]:
    """A handler of a function of a tensor, first among its arguments."""

    def handler(func: Any, args: Any, kwargs: Any) -> Any:
        if "input" in kwargs:
            kwargs = dict(kwargs)
            args = (kwargs.pop("input"), *args)
        if not args or not isinstance(args[0], DeferredTensor):
            return NotImplemented
        tensor, rest = args[0], args[1:]
        record = record_of(tensor)
        if record is None:
            return NotImplemented
        for value in (*rest, *kwargs.values()) if kwargs else rest:
            if isinstance(value, torch.Tensor):
                return NotImplemented
        call = Call(record.call, func, 0, rest, kwargs)
        try:
            return _result(tensor, record, then(move, record, call))
        except (TypeError, ValueError, IndexError):
            return NotImplemented  # torch says what is wrong

    return handler


def _dims(record: Record, dims: Iterable[Any]) -> List[int]:
    n = len(record.axes)
    found = [operator.index(d) for d in dims]
    if any(not -n <= d < n for d in found):
        raise IndexError
    return [d % n for d in found]


def _many(values: Tuple[Any, ...]) -> Tuple[Any, ...]:
    """Of f(1, 2) and f((1, 2))."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        return tuple(values[0])
    return values


def _permute(record: Record, call: Call, *given: Any, dims: Any = None) -> Any:
    order = _dims(record, _many(given if dims is None else (dims,)))
    if sorted(order) != list(range(len(record.axes))):
        return NotImplemented
    axes = "".join(record.axes[d] for d in order)
    # Erased rectangles are in the order of the image's width and height.
    is_turned = axes.find("h") > axes.find("w")
    if record.erased and (is_turned or _has_noise(record)):
        return NotImplemented
    return _view(
        record,
        call,
        axes=axes,
        shape=tuple(record.shape[d] for d in order),
        strides=tuple(record.strides[d] for d in order),
    )


def _has_noise(record: Record) -> bool:
    """Whether a rectangle has values of its own for each pixel."""
    return any(value.dim() == 3 for _, value in record.erased)


def _transpose(record: Record, call: Call, *dims: Any, **named: Any) -> Any:
    given = (*dims, *named.values())
    a, b = _dims(record, given or (-2, -1))
    order = list(range(len(record.axes)))
    order[a], order[b] = b, a
    return _permute(record, call, order)


def _swapped_last(record: Record, call: Call) -> Any:
    return _transpose(record, call, -2, -1)


def _flip(record: Record, call: Call, *given: Any, dims: Any = None) -> Any:
    found = _dims(record, _many(given if dims is None else (dims,)))
    if len(set(found)) != len(found):
        return NotImplemented
    axes = {record.axes[d] for d in found if record.shape[d] > 1}
    if axes == {"c"}:
        chosen = range(record.side("c"))[::-1]
        return _of_channels(record, call, chosen)
    return _turned(record, call, axes)


def _flip_of(dim: int) -> Any:
    def flip(record: Record, call: Call) -> Any:
        return _flip(record, call, dim)

    return flip


def _turned(record: Record, call: Call, axes: Any) -> Any:
    number = {"w": 0, "h": 1, "hw": 3, "": None}.get("".join(sorted(axes)), -1)
    if number == -1 or record.erased:
        return NotImplemented
    steps = record.steps
    if number is not None:
        steps = (*steps, (op.TRANSPOSE, (number,), None))
    strides = kept_order(record)
    return _view(record, call, False, steps=steps, strides=strides)


def _rot90(record: Record, call: Call, k: int = 1, dims: Any = (0, 1)) -> Any:
    a, b = _dims(record, dims)
    turns = operator.index(k) % 4
    pair = record.axes[a] + record.axes[b]
    if pair not in ("hw", "wh") or record.erased:
        return NotImplemented
    if pair == "wh":
        turns = -turns % 4
    steps, shape = record.steps, list(record.shape)
    if turns:
        steps = (*steps, (op.TRANSPOSE, (turns + 1,), None))
    order = list(range(len(shape)))
    if turns % 2:
        order[a], order[b] = b, a
    strides = kept_order(record)
    return _view(
        record,
        call,
        False,
        steps=steps,
        shape=tuple(shape[d] for d in order),
        strides=tuple(strides[d] for d in order),
    )


def _unsqueeze(record: Record, call: Call, dim: int) -> Any:
    n = len(record.axes) + 1
    at = operator.index(dim)
    if not -n <= at < n:
        return NotImplemented
    at %= n
    stride = record.shape[at] * record.strides[at] if at < n - 1 else 1
    return _view(
        record,
        call,
        axes=_put_in(record.axes, at, "1"),
        shape=(*record.shape[:at], 1, *record.shape[at:]),
        strides=(*record.strides[:at], stride, *record.strides[at:]),
    )


def _put_in(text: str, at: int, what: str) -> str:
    return text[:at] + what + text[at:]


def _squeeze(record: Record, call: Call, *given: Any, dim: Any = None) -> Any:
    given = given if dim is None else (dim,)
    dims = _dims(record, _many(given)) if given else range(len(record.axes))
    gone = {d for d in dims if record.shape[d] == 1}
    if any(record.axes[d] in "hw" for d in gone):
        return NotImplemented
    left = [d for d in range(len(record.axes)) if d not in gone]
    return _view(
        record,
        call,
        axes="".join(record.axes[d] for d in left),
        shape=tuple(record.shape[d] for d in left),
        strides=tuple(record.strides[d] for d in left),
    )


def _reshape(record: Record, call: Call, *given: Any, shape: Any = None) -> Any:
    """Dimensions of one that come and go."""
    sizes = list(map(operator.index, _many(given) if shape is None else shape))
    if sizes.count(-1) > 1 or any(size < -1 for size in sizes):
        return NotImplemented
    if -1 in sizes:
        known = math.prod(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = math.prod(record.shape) // max(known, 1)
    axes, strides, at = "", [], 0
    for size in sizes:
        while at < len(record.axes) and record.shape[at] == 1 != size:
            if record.axes[at] in "hw":
                return NotImplemented
            at += 1
        if at < len(record.axes) and record.shape[at] == size:
            axes += record.axes[at]
            strides.append(record.strides[at])
            at += 1
        elif size == 1:
            axes += "1"
            strides.append(1)
        else:
            return NotImplemented
    if any(record.shape[d] != 1 for d in range(at, len(record.axes))):
        return NotImplemented
    return _view(
        record,
        call,
        axes=axes,
        shape=tuple(sizes),
        strides=tuple(strides),
    )


def _narrow(
    record: Record, call: Call, dim: int, start: int, length: int
) -> Any:
    (at,) = _dims(record, (dim,))
    begin, n = operator.index(start), operator.index(length)
    if begin < 0 or n <= 0 or begin + n > record.shape[at]:
        return NotImplemented
    index = [slice(None)] * at + [slice(begin, begin + n)]
    return _item(record, call, tuple(index))


# ---- Indexing ---------------------------------------------------------------


def _ranges(record: Record, index: Any) -> Any:
    """For each dimension: (itself, positions in it, whether it goes), with None
    in between for new ones. NotImplemented if it is more."""
    parts = parts_of(index, len(record.axes))
    if parts is None:
        return NotImplemented
    found: List[Any] = []
    for at, i in parts:
        if i is None:
            found.append(None)
            continue
        side = record.shape[at]
        if isinstance(i, slice):
            begin, end, step = i.indices(side)
            if step != 1 or end <= begin:
                return NotImplemented
            found.append((at, range(begin, end), False))
        elif type(i) is int and -side <= i < side:
            if record.axes[at] in "hw":
                return NotImplemented
            found.append((at, range(i % side, i % side + 1), True))
        else:
            return NotImplemented
    return found


def _item(record: Record, call: Call, index: Any) -> Any:
    if type(index) is list:
        return _channels(record, call, index)
    ranges = _ranges(record, index)
    if ranges is NotImplemented or record.erased:
        return NotImplemented
    changed: Dict[str, Any] = {}
    box = {"w": range(record.side("w")), "h": range(record.side("h"))}
    axes = ""
    shape: List[int] = []
    strides: List[int] = []
    for r in ranges:
        if r is None:
            axes, shape, strides = axes + "1", [*shape, 1], [*strides, 0]
            continue
        d, chosen, goes = r
        axis = record.axes[d]
        if axis == "c" and chosen != range(record.shape[d]):
            found = selected(record, chosen)
            if found is None:
                return NotImplemented
            changed = found
        if axis in box:
            box[axis] = chosen
        if not goes:
            axes += axis
            shape.append(len(chosen))
            strides.append(record.strides[d])
    steps = changed.pop("steps", record.steps)
    rows, columns = box["h"], box["w"]
    place = columns.start, rows.start, columns.stop, rows.stop
    if place != (0, 0, record.side("w"), record.side("h")):
        steps = (*steps, (op.CROP, place, None))
    changed.update(
        axes=axes, shape=tuple(shape), strides=tuple(strides), steps=steps
    )
    return _view(record, call, **changed)


def _channels(record: Record, call: Call, chosen: List[Any]) -> Any:
    """tensor[[2, 1, 0]], which is a new one."""
    n, shape = record.side("c"), record.shape
    if record.axes != "chw" or record.strides != dense(shape):
        return NotImplemented
    if not all(type(i) is int and -n <= i < n for i in chosen):
        return NotImplemented
    return _of_channels(record, call, [i % n for i in chosen])


def _of_channels(record: Record, call: Call, chosen: Sequence[int]) -> Any:
    found = None if record.erased else selected(record, chosen)
    if found is None:
        return NotImplemented
    at = record.axes.index("c")
    shape = (*record.shape[:at], len(chosen), *record.shape[at + 1 :])
    new = record.but(shape=shape)
    strides = kept_order(new)
    return _view(new, call, False, strides=strides, **found)


def _gray_to_rgb(record: Record) -> Record:
    """Three channels, each the gray one."""
    at = record.axes.index("c")
    table = table_of(record)
    plain = record.table is None and not record.scaled
    shape = (*record.shape[:at], 3, *record.shape[at + 1 :])
    return record.but(
        mode="RGB",
        steps=(*record.steps, (op.CONVERT, (3,), None)),
        shape=shape,
        strides=dense(shape),
        table=None if plain else table.expand(3, 256),
        scaled=False,
        normalized=(),
    )


def _repeat(record: Record, call: Call, *given: Any) -> Any:
    """Three channels of a gray image."""
    times = tuple(map(operator.index, _many(given)))
    if (
        record.axes != "chw"
        or record.mode != "L"
        or record.erased
        or times != (3, 1, 1)
    ):
        return NotImplemented
    new = _gray_to_rgb(record)
    return new.but(call=call, kind=torch.Tensor, is_view=False)


def _expand(record: Record, call: Call, *given: Any) -> Any:
    sizes = tuple(map(operator.index, _many(given)))
    _, h, w = record.shape if record.axes == "chw" else (0, 0, 0)
    if (
        record.axes != "chw"
        or record.mode != "L"
        or record.erased
        or sizes not in ((3, -1, -1), (3, h, w))
    ):
        return NotImplemented
    new = _gray_to_rgb(record)
    strides = (0, *record.strides[1:])
    kind = torch.Tensor
    return new.but(call=call, strides=strides, kind=kind, is_view=True)


def _cat(func: Any, args: Any, kwargs: Any) -> Any:
    """torch.cat([gray, gray, gray]), or of any images."""
    found = _cat_gray(func, args, kwargs)
    return joined.cat(func, args, kwargs) if found is NotImplemented else found


def _cat_gray(func: Any, args: Any, kwargs: Any) -> Any:
    if len(args) not in (1, 2) or kwargs not in ({}, {"dim": 0}):
        return NotImplemented
    if len(args) == 2 and (kwargs or args[1] not in (0, -3)):
        return NotImplemented
    tensors = args[0]
    if not isinstance(tensors, (list, tuple)) or len(tensors) != 3:
        return NotImplemented
    first = tensors[0]
    if not isinstance(first, DeferredTensor):
        return NotImplemented
    if any(t is not first for t in tensors):
        return NotImplemented
    record = recorded(first)
    if record is None:
        return NotImplemented
    call = Call(record.call, torch.Tensor.repeat, 0, (3, 1, 1))
    return _result(first, record, _repeat(record, call, 3, 1, 1))


# ---- Writing ----------------------------------------------------------------


def _set_item(func: Any, args: Any, kwargs: Any) -> Any:
    """A rectangle becomes one value for each channel."""
    tensor, index, value = args
    if not isinstance(tensor, DeferredTensor):
        return NotImplemented
    record = recorded(tensor)
    if record is None or not _alone(tensor) or record.dtype not in CODES:
        return NotImplemented
    many = _is_block(value, record)
    if not many and not _is_operand(value, record):
        return NotImplemented
    if isinstance(value, (str, type, torch.dtype)) or value is None:
        return NotImplemented
    ranges = _ranges(record, index)
    if ranges is NotImplemented or len(ranges) != len(record.axes):
        return NotImplemented
    box = {}
    for r in ranges:
        if r is None:
            return NotImplemented
        d, chosen, goes = r
        whole = chosen == range(record.shape[d])
        if goes or (record.axes[d] in "c1" and not whole):
            return NotImplemented
        box[record.axes[d]] = chosen.start, chosen.stop
    (left, right), (top, bottom) = box["w"], box["h"]
    sides = [record.side("c") if axis == "c" else 1 for axis in record.axes]
    if many:
        sides = [record.side("c"), bottom - top, right - left]
    values = torch.zeros(sides, dtype=record.dtype)
    values[...] = value  # torch says where it does not fit
    values = values if many else values.reshape(-1)
    place = (left, top, right - left, bottom - top)
    value = _snapshot(value)
    call = Call(record.call, _with_item, 0, (index, value))
    erased = (*record.erased, (place, values))
    if len(record.steps) + len(erased) > op.MOST_STEPS - 4:
        return NotImplemented
    _set(tensor, record.but(erased=erased, call=call))
    return None


def _is_block(value: Any, record: Record) -> bool:
    """Values for each pixel of a rectangle, as random erasing has."""
    return (
        isinstance(value, torch.Tensor)
        and not isinstance(value, DeferredTensor)
        and not value.requires_grad
        and value.device.type == "cpu"
        and value.layout is torch.strided
        and value.dim() == 3
        and record.axes == "chw"
        and not value.is_complex()
    )


def _with_item(tensor: Any, index: Any, value: Any) -> Any:
    tensor[index] = value
    return tensor


# ---- Copies, padding --------------------------------------------------------


def _contiguous(record: Record, call: Call) -> Any:
    strides = dense(record.shape)
    own = zip(record.shape, record.strides, strides)
    if all(side == 1 or one == other for side, one, other in own):
        return record
    kind = torch.Tensor
    return record.but(call=call, strides=strides, kind=kind, is_view=False)


def _clone(record: Record, call: Call, *, memory_format: Any = None) -> Any:
    if memory_format not in (None, torch.preserve_format):
        return NotImplemented
    strides = kept_order(record)
    return record.but(call=call, strides=strides, is_view=False)


def _detach(record: Record, call: Call) -> Any:
    return record.but(call=call, is_view=True)


def _as_subclass(record: Record, call: Call, kind: Any) -> Any:
    return record.but(call=call, kind=kind, is_view=True)


def _numpy(func: Any, args: Any, kwargs: Any) -> Any:
    from .array import DeferredArray

    tensor = args[0]
    record = recorded(tensor)
    if len(args) > 1 or kwargs or record is None or _has_noise(record):
        return NotImplemented  # arrays have no such blocks
    table = None if is_plain(record) else table_of(record).numpy()
    kind = torch.empty(0, dtype=record.dtype).numpy().dtype
    tensor._viewed = True
    made = record.but(
        call=Call(record.call, func),
        dtype=kind,
        erased=tuple((place, v.numpy()) for place, v in record.erased),
        table=table,
        scaled=False,
        normalized=(),
    )
    return DeferredArray(made, tensor)


def _requires_grad(
    record: Record, call: Call, requires_grad: bool = True
) -> Any:
    return NotImplemented if requires_grad else record


def _cpu(record: Record, call: Call) -> Any:
    return record


def _pad(
    record: Record,
    call: Call,
    pad: Any,
    mode: str = "constant",
    value: Optional[float] = None,
) -> Any:
    """torch.nn.functional.pad of width and height."""
    sides = [operator.index(side) for side in pad]
    number = {"constant": 0, "replicate": 1, "reflect": 2}.get(mode, -1)
    if record.axes[-2:] != "hw" or record.erased or number < 0:
        return NotImplemented
    if len(sides) not in (2, 4) or any(side < 0 for side in sides):
        return NotImplemented
    left, right, top, bottom = (sides + [0, 0])[:4]
    w, h = record.side("w"), record.side("h")
    if number == 2 and (max(left, right) >= w or max(top, bottom) >= h):
        return NotImplemented
    if number and len(record.axes) < len(sides) // 2 + 1:
        return NotImplemented
    fill: Tuple[int, ...] = ()
    if number == 0:
        found = _byte_of(record, 0 if value is None else value)
        if found is None:
            return NotImplemented
        fill = found
    shape = (*record.shape[:-2], h + top + bottom, w + left + right)
    step = (op.PAD, (left, top, right, bottom, number, *fill), None)
    return _view(
        record,
        call,
        False,
        steps=(*record.steps, step),
        shape=shape,
        strides=dense(shape),
    )


def _byte_of(record: Record, value: float) -> Optional[Tuple[int, ...]]:
    """A byte for each channel that becomes that value."""
    table = table_of(record)
    wanted = torch.tensor(value).to(table.dtype)
    if not table.is_floating_point() and wanted.item() != value:
        return None  # torch may refuse it
    same = table == wanted
    if table.is_floating_point():  # -0.0 is not 0.0
        same &= torch.signbit(table) == torch.signbit(wanted)
    if not bool(same.any(1).all()):
        return None
    return tuple(same.to(torch.uint8).argmax(1).tolist())


# ---- The table --------------------------------------------------------------

_MOVERS: Dict[str, Callable[..., Any]] = {
    "__getitem__": _item,
    "as_subclass": _as_subclass,
    "clone": _clone,
    "contiguous": _contiguous,
    "cpu": _cpu,
    "detach": _detach,
    "expand": _expand,
    "flip": _flip,
    "fliplr": _flip_of(1),
    "flipud": _flip_of(0),
    "narrow": _narrow,
    "permute": _permute,
    "repeat": _repeat,
    "requires_grad_": _requires_grad,
    "reshape": _reshape,
    "rot90": _rot90,
    "squeeze": _squeeze,
    "swapaxes": _transpose,
    "swapdims": _transpose,
    "transpose": _transpose,
    "unsqueeze": _unsqueeze,
    "view": _reshape,
}


def register() -> None:
    """Fills the table of handlers. More than once does no harm."""
    plain: Dict[str, Any] = {name: _elementwise for name in _ELEMENTWISE}
    plain.update({name: _in_place for name in _IN_PLACE})
    for name, move in _MOVERS.items():
        of = copied_tensor if move in (_permute, _contiguous) else recorded
        plain[name] = _mover(move, of)
    plain.update({"__setitem__": _set_item, "cat": _cat, "concat": _cat})
    plain.update(stack=joined.stack, unbind=joined.unbind, numpy=_numpy)
    for name, handler in plain.items():
        for owner in (torch.Tensor, torch):
            function = getattr(owner, name, None)
            if function is not None:
                handlers[function] = handler
    for name in _ASKED:
        handlers[getattr(torch.Tensor, name)] = ask
    for name in _PROPERTIES:
        found = getattr(torch.Tensor, name, None)
        if hasattr(found, "__get__"):
            handlers[found.__get__] = ask  # type: ignore[union-attr]
    for name in ("is_floating_point", "is_complex", "numel", "is_tensor"):
        handlers[getattr(torch, name)] = ask
    for name in ("mT", "T"):
        last = getattr(torch.Tensor, name)
        if name == "mT":
            handlers[last.__get__] = _mover(_swapped_last)
    handlers[torch.nn.functional.pad] = _mover(_pad)
