# SPDX-License-Identifier: Apache-2.0
"""Copies of what samplers have inside: generators, data, arrays, iterators.

A copy is data alone (numbers, text, builtin containers), pickled, so that two
are quickly compared; in a state it is JSON. CODECS says for each kind of thing
how it is copied, and how a copy is put back.
"""

from __future__ import annotations

import base64
import datetime
import enum
import io
import itertools
import json
import pickle
import random
import sys
import zlib
from array import array
from collections import deque
from typing import Any, Dict, Optional, Tuple, Type

import torch

# ---- Data as bytes, and as JSON --------------------------------------------


class _NotData(Exception):
    pass


# Values of the standard library that are made of numbers.
_PLAIN: Dict[str, Any] = {
    "complex": complex,
    "datetime": datetime.datetime,
    "date": datetime.date,
    "timedelta": datetime.timedelta,
}


def _plain_name(thing: Any) -> Optional[str]:
    """Of such a class, or of one of its objects."""
    for name, kind in _PLAIN.items():
        if thing is kind or type(thing) is kind:
            return name
    return None


def _arguments(value: Any) -> Any:
    """That make such a value again."""
    if isinstance(value, complex):
        return (value.real, value.imag)
    return value.__reduce__()[1]


class _Pickler(pickle.Pickler):
    """Of numbers, text and builtin containers of these."""

    def reducer_override(self, thing: Any) -> Any:
        # By identity, for a thing may have an == of its own.
        if any(thing is one for one in (int, float, bool, range)):
            return NotImplemented
        if type(thing) is range or _plain_name(thing) is not None:
            return NotImplemented
        if type(thing).__module__ == "numpy" and thing.shape == ():
            return type(thing.item()), (thing.item(),)
        raise _NotData


def pickled(value: Any) -> Optional[bytes]:
    """None if it is more than data."""
    written = io.BytesIO()
    try:
        _Pickler(written, 4).dump(value)
    except (_NotData, RecursionError, AttributeError):
        return None
    return written.getvalue()


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


_SEQUENCES: Dict[str, Type[Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}


def _long_list(values: Any) -> Any:
    if all(type(one) is int for one in values):
        try:
            return {"ints": _packed(array("q", values).tobytes())}
        except OverflowError:
            pass
    text = json.dumps([to_json(one) for one in values])
    return {"json": _packed(text.encode())}


def to_json(value: Any) -> Any:
    """JSON's values for data; what is long is compressed."""
    if isinstance(value, bytes):
        return {"bytes": _packed(value)}
    if isinstance(value, list):
        if len(value) > 64:
            return _long_list(value)
        return [to_json(one) for one in value]
    name = _plain_name(value)
    if name is not None:
        return {"value": [name, to_json(_arguments(value))]}
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, dict):
        return {"dict": to_json([list(pair) for pair in value.items()])}
    for name, kind in _SEQUENCES.items():
        if isinstance(value, kind):
            return {name: to_json(list(value))}
    return value


def from_json(value: Any) -> Any:
    """Raises what the reading of a wrong value raises."""
    if isinstance(value, list):
        return [from_json(one) for one in value]
    if not isinstance(value, dict):
        return value
    ((name, inside),) = value.items()
    if name == "bytes":
        return _unpacked(inside)
    if name == "ints":
        return array("q", _unpacked(inside)).tolist()
    if name == "json":
        return from_json(json.loads(_unpacked(inside)))
    if name == "value":
        return _PLAIN[inside[0]](*from_json(inside[1]))
    if name == "range":
        return range(*inside)
    if name == "dict":
        return {key: one for key, one in from_json(inside)}
    return _SEQUENCES[name](from_json(inside))


# ---- Kinds of things -------------------------------------------------------


class Codec:
    """How things of one kind are copied. draws: random numbers."""

    name = ""
    draws = False

    def fits(self, thing: Any) -> bool:
        raise NotImplementedError

    def read(self, thing: Any) -> Any:
        """The thing as data."""
        raise NotImplementedError

    def write(self, thing: Any, data: Any) -> Any:
        """What is to stand in the place of the thing that is there: the same
        one where it takes the data, for others may know it, too."""
        raise NotImplementedError


class _TorchGenerator(Codec):
    name, draws = "torch", True

    def fits(self, thing: Any) -> bool:
        return isinstance(thing, torch.Generator)

    def read(self, thing: Any) -> Any:
        return bytes(thing.get_state().numpy())

    def write(self, thing: Any, data: Any) -> Any:
        state = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        thing.set_state(state)
        return thing


class _Random(Codec):
    name, draws = "random", True

    def fits(self, thing: Any) -> bool:
        return isinstance(thing, random.Random) and not isinstance(
            thing, random.SystemRandom
        )

    def read(self, thing: Any) -> Any:
        version, numbers, gauss = thing.getstate()
        return [version, list(numbers), gauss]

    def write(self, thing: Any, data: Any) -> Any:
        version, numbers, gauss = data
        thing.setstate((version, tuple(numbers), gauss))
        return thing


def _from_numpy(thing: Any, *names: str) -> bool:
    numpy = sys.modules.get("numpy")
    if numpy is None or type(thing).__module__.split(".")[0] != "numpy":
        return False
    return isinstance(thing, tuple(getattr(numpy.random, n) for n in names))


def lists(value: Any) -> Any:
    """numpy's arrays and numbers in a state as Python's."""
    if isinstance(value, dict):
        return {key: lists(one) for key, one in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


class _RandomState(Codec):
    name, draws = "RandomState", True

    def fits(self, thing: Any) -> bool:
        return _from_numpy(thing, "RandomState")

    def read(self, thing: Any) -> Any:
        return lists(thing.get_state(legacy=False))

    def write(self, thing: Any, data: Any) -> Any:
        thing.set_state(data)
        return thing


class _NumpyGenerator(Codec):
    name, draws = "numpy", True

    def fits(self, thing: Any) -> bool:
        return _from_numpy(thing, "Generator", "BitGenerator")

    def read(self, thing: Any) -> Any:
        return lists(getattr(thing, "bit_generator", thing).state)

    def write(self, thing: Any, data: Any) -> Any:
        getattr(thing, "bit_generator", thing).state = data
        return thing


class _SeedSequence(Codec):
    """It counts what it has spawned, and can only be made anew."""

    name = "SeedSequence"

    def fits(self, thing: Any) -> bool:
        return _from_numpy(thing, "SeedSequence")

    def read(self, thing: Any) -> Any:
        return lists(thing.state)

    def write(self, thing: Any, data: Any) -> Any:
        return sys.modules["numpy"].random.SeedSequence(**data)


class _Array(Codec):
    name = "array"

    def fits(self, thing: Any) -> bool:
        numpy = sys.modules.get("numpy")
        return (
            numpy is not None
            and type(thing) is numpy.ndarray
            and not thing.dtype.hasobject
        )

    def read(self, thing: Any) -> Any:
        return [str(thing.dtype), list(thing.shape), thing.tobytes()]

    def write(self, thing: Any, data: Any) -> Any:
        kind, shape, content = data
        made = sys.modules["numpy"].frombuffer(content, kind).reshape(shape)
        if not self.fits(thing) or thing.shape != made.shape:
            return made.copy()
        if thing.dtype != made.dtype or not thing.flags.writeable:
            return made.copy()
        thing[...] = made
        return thing


class _Tensor(Codec):
    name = "tensor"

    def fits(self, thing: Any) -> bool:
        return type(thing) is torch.Tensor and thing.device.type == "cpu"

    def read(self, thing: Any) -> Any:
        flat = thing.detach().contiguous().reshape(-1).view(torch.uint8)
        kind = str(thing.dtype).split(".")[-1]
        return [kind, list(thing.shape), bytes(flat.numpy())]

    def write(self, thing: Any, data: Any) -> Any:
        kind, shape, content = data
        made = torch.empty(shape, dtype=getattr(torch, kind))
        if content:
            flat = torch.frombuffer(bytearray(content), dtype=made.dtype)
            made.copy_(flat.reshape(shape))
        if not self.fits(thing) or thing.shape != made.shape:
            return made
        with torch.no_grad():
            return thing.copy_(made) if thing.dtype == made.dtype else made


# Iterators that say where they are, as pickle asks them (those of itertools
# until Python 3.14), by the function that makes them again.
_MAKERS: Dict[str, Any] = {
    "iter": iter,
    "reversed": reversed,
    "enumerate": enumerate,
    "zip": zip,
    **{
        name: getattr(itertools, name)
        for name in ("count", "cycle", "islice", "chain", "repeat")
    },
}


def _taken_apart(thing: Any) -> Any:
    """Data, of iterators with the function that makes them; or _NotData."""
    if not hasattr(type(thing), "__next__"):
        if isinstance(thing, tuple):
            return tuple(map(_taken_apart, thing))
        if pickled(thing) is None:
            raise _NotData
        return thing
    if type(thing).__module__ not in ("builtins", "itertools"):
        raise _NotData
    try:
        maker, arguments, *states = thing.__reduce__()
    except TypeError:
        raise _NotData from None
    for name, known in _MAKERS.items():
        if maker is known:
            parts = [_taken_apart(one) for one in arguments]
            at = _taken_apart(states[0]) if states else None
            return {"made by": name, "of": parts, "at": at}
    raise _NotData


def _put_together(data: Any) -> Any:
    if isinstance(data, tuple):
        return tuple(map(_put_together, data))
    if not (isinstance(data, dict) and "made by" in data):
        return data
    made = _MAKERS[data["made by"]](*map(_put_together, data["of"]))
    if data["at"] is not None:
        made.__setstate__(_put_together(data["at"]))
    return made


class _Iterator(Codec):
    name = "iterator"

    def fits(self, thing: Any) -> bool:
        if not hasattr(type(thing), "__next__"):
            return False
        try:
            _taken_apart(thing)
        except _NotData:
            return False
        return True

    def read(self, thing: Any) -> Any:
        return _taken_apart(thing)

    def write(self, thing: Any, data: Any) -> Any:
        return _put_together(data)


class _Container(Codec):
    """A deque, or a container of a class of its own, of data."""

    name = "container"

    def fits(self, thing: Any) -> bool:
        kinds = (list, dict, set, deque, bytearray)
        return type(thing) not in kinds[:3] and isinstance(thing, kinds)

    def read(self, thing: Any) -> Any:
        for kind in (dict, set):
            if isinstance(thing, kind):
                return kind(thing)
        return list(thing)

    def write(self, thing: Any, data: Any) -> Any:
        thing.clear()
        if isinstance(thing, dict):
            for key, one in data.items():
                thing[key] = one
        else:
            (thing.update if isinstance(thing, set) else thing.extend)(data)
        return thing


class _Enum(Codec):
    """A member, by its value."""

    name = "enum"

    def fits(self, thing: Any) -> bool:
        return isinstance(thing, enum.Enum)

    def read(self, thing: Any) -> Any:
        return thing.value

    def write(self, thing: Any, data: Any) -> Any:
        return type(thing)(data)


class _Data(Codec):
    """Numbers, text and builtin containers, which are filled anew in place."""

    name = "data"

    def fits(self, thing: Any) -> bool:
        return True

    def read(self, thing: Any) -> Any:
        return thing

    def write(self, thing: Any, data: Any) -> Any:
        kind = type(thing)
        if kind is not type(data) or kind not in (list, dict, set):
            return data
        thing.clear()
        (thing.extend if kind is list else thing.update)(data)
        return thing


_DATA = _Data()
CODECS: Dict[str, Codec] = {
    codec.name: codec
    for codec in (
        _TorchGenerator(),
        _Random(),
        _RandomState(),
        _NumpyGenerator(),
        _SeedSequence(),
        _Iterator(),
        _Array(),
        _Tensor(),
        _Container(),
        _Enum(),
        _DATA,
    )
}
# Those that can be put where nothing of the kind is.
MADE_ANEW = ("SeedSequence", "iterator", "array", "tensor", "data")
_SCALARS = (type(None), bool, int, float, str, bytes, range)
_BUILTIN = (*_SCALARS, list, dict, tuple, set)

# The name of a codec, and what it has read, pickled.
Copy = Tuple[str, bytes]


def copy_of(thing: Any) -> Optional[Copy]:
    """None for an object that has to be looked into."""
    for codec in (_DATA,) if type(thing) in _BUILTIN else CODECS.values():
        if codec.fits(thing):
            data = pickled(codec.read(thing))
            return None if data is None else (codec.name, data)
    return None


def put_back(thing: Any, copy: Copy) -> Any:
    """What is to stand in the place of the thing that is there."""
    return CODECS[copy[0]].write(thing, pickle.loads(copy[1]))


def copy_to_json(copy: Copy) -> Any:
    name, data = copy
    if name not in CODECS:  # a mark, with a text
        return [name, data.decode()]
    return [name, to_json(pickle.loads(data))]


def copy_from_json(value: Any) -> Copy:
    name, data = value
    if name not in CODECS:
        return name, data.encode()
    found = pickled(from_json(data))
    if found is None:
        raise ValueError("a part of a sampler is no data")
    return name, found
