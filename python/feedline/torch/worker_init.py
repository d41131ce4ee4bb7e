# SPDX-License-Identifier: Apache-2.0
"""Functions for workers that do nothing but seed random generators.

A worker_init_fn may do anything to a worker process, so a loader that is given
one is torch's. But most of them only seed the generators of the workers, those
of frameworks and that of PyTorch's recipe. Native workers have none: what they
draw follows from the epoch's seed and the sample, whatever the rank. Such a
function needs no call, and its loader can be native. Those of frameworks are
known by name; a user's own function is rehearsed, see below.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import logging
import os
import random
import sys
import time
import warnings
from types import CellType, CodeType, FunctionType, MappingProxyType
from types import MethodType, ModuleType
from typing import Any, Dict, Iterator, Mapping, NamedTuple, NoReturn

import torch

from .callables import WRAPPERS, call_of, layer

# By module and name, so that no framework has to be imported for it.
SEEDING = {
    ("lightning.fabric.utilities.seed", "pl_worker_init_function"),
    ("lightning_fabric.utilities.seed", "pl_worker_init_function"),
    ("pytorch_lightning.utilities.seed", "pl_worker_init_function"),
    ("transformers.trainer_utils", "seed_worker"),
    ("timm.data.loader", "_worker_init"),
}
# Of frameworks, too, with a seed as their argument.
SEEDERS = {
    ("lightning.fabric.utilities.seed", "seed_everything"),
    ("lightning_fabric.utilities.seed", "seed_everything"),
    ("transformers.trainer_utils", "set_seed"),
    ("accelerate.utils.random", "set_seed"),
}
# timm's calls a function of the user's for its seeds, if it is given one.
PLAIN_SEEDING = ("all", "part")


class Rehearsed(NamedTuple):
    """What a function does beside seeding, in words; "": nothing. speaks: it
    prints, logs or warns."""

    other: str
    speaks: bool


def rehearsed(worker_init_fn: Any, workers: int = 1) -> Rehearsed:
    """What a worker_init_fn does in each of so many workers."""
    if _is_known(worker_init_fn):
        return Rehearsed("", False)
    speaks = False
    for worker in range(max(1, workers)):
        call = _Rehearsal(worker, max(1, workers))
        call.run(worker_init_fn)
        speaks = speaks or call.speaks
        if call.other:
            return Rehearsed(call.other, speaks)
    return Rehearsed("", speaks)


def only_seeds(worker_init_fn: Any, workers: int = 1) -> bool:
    """Whether it seeds generators of a worker and does nothing else."""
    return not rehearsed(worker_init_fn, workers).other


def _is_known(function: Any) -> bool:
    """Whether it is a framework's that only seeds."""
    arguments: Dict[str, Any] = {}
    while isinstance(function, functools.partial):
        arguments = {**function.keywords, **arguments}
        function = function.func
    seeding = arguments.get("worker_seeding", "all")
    return _name_of(function) in SEEDING and seeding in PLAIN_SEEDING


def _name_of(function: Any) -> Any:
    names = ("__module__", "__qualname__")
    return tuple(getattr(function, name, None) for name in names)


# ---- Functions of the user --------------------------------------------------
#
# PyTorch's recipe for reproducible loading is
#
#     def seed_worker(worker_id):
#         worker_seed = torch.initial_seed() % 2**32
#         numpy.random.seed(worker_seed)
#         random.seed(worker_seed)
#
# A rehearsal finds out whether a function is like that: its code runs with
# stand-ins for everything it could touch. What seeds, or only matters to a
# process of its own, does nothing. Numbers and text are themselves, the user's
# own functions, methods and objects are rehearsed in turn, and anything else
# ends the rehearsal. All that it can change meanwhile are its own locals.

_PLAIN = (bool, int, float, str, bytes, range, type(None))
_BUILTINS = (
    "abs bool dict divmod enumerate float hash int len list max min "
    "pow range repr reversed round sorted str sum tuple zip AssertionError "
    "AttributeError Exception ImportError KeyError RuntimeError TypeError "
    "ValueError"
)
SEED = 67280421310721  # what torch.initial_seed() says: any number will do
# More of a list or dict than anybody's seeds.
_MOST = 1024


class _Refused(BaseException):
    """Something that is not known to be seeding; no `except Exception`."""


class _Rehearsal:
    """One call, in one worker."""

    def __init__(self, worker: int, workers: int) -> None:
        self.worker = worker
        self.other = ""
        self.speaks = False
        self._known = _known_functions(_Info(self, worker, workers))
        self._made: Dict[int, Any] = {}

    def run(self, function: Any) -> None:
        try:
            self.stand_in(function, _words_for(function))(self.worker)
        except _Refused:
            pass  # it is noted
        except Exception as error:
            self.other = self.other or "it raises %s" % type(error).__name__

    def refuse(self, what: str) -> NoReturn:
        self.other = self.other or what
        raise _Refused

    def speak(self, *args: Any, **kwargs: Any) -> None:
        self.speaks = True

    def stand_in(self, value: Any, name: str) -> Any:
        """name: of the value, for words."""
        if type(value) in _PLAIN or _is_number(value):
            return value
        for known, instead in self._known:
            # Before thread_draws.py had replaced it, or since.
            if value is known or value is getattr(known, "__wrapped__", known):
                return instead
        if any(value is one for one in _SPEAKING) or _is_told(value):
            return self.speak
        if isinstance(value, logging.Logger):
            return _Logger(self)
        if type(value) in (list, tuple, dict) and len(value) <= _MOST:
            return self._container(value, name)
        if type(value) is FunctionType:
            seeds = _name_of(value) in SEEDERS
            return _nothing if seeds else self._function(value)
        found = layer(value) if type(value) in WRAPPERS else None
        if found is not None:
            inner, args, keywords = found
            given = [self.stand_in(one, name) for one in args]
            named = {k: self.stand_in(v, k) for k, v in keywords.items()}
            inner = self.stand_in(inner, name)
            return functools.partial(inner, *given, **named)
        if _may_be_read(value):
            return _StandIn(value, name, self)
        self.refuse("it uses %s" % name)

    def _container(self, value: Any, name: str) -> Any:
        """A copy that cannot be written."""
        if type(value) is not dict:
            return tuple(self.stand_in(one, name) for one in value)
        return MappingProxyType(
            {k: self.stand_in(v, f"{name}[{k!r}]") for k, v in value.items()}
        )

    def _function(self, function: FunctionType) -> Any:
        if id(function) in self._made:
            return self._made[id(function)]
        code = function.__code__
        names = _Globals(function.__globals__, self)
        cells = tuple(
            CellType(self.stand_in(cell.cell_contents, name))
            for name, cell in zip(code.co_freevars, function.__closure__ or ())
        )
        defaults = tuple(
            self.stand_in(value, "a default")
            for value in function.__defaults__ or ()
        )
        made = FunctionType(code, names, function.__name__, defaults, cells)
        made.__kwdefaults__ = {
            name: self.stand_in(value, name)
            for name, value in (function.__kwdefaults__ or {}).items()
        }
        self._made[id(function)] = made
        for name in _written(code):
            self.refuse("it sets %s" % name)
        return made

    def builtins(self) -> Dict[str, Any]:
        found = {name: getattr(builtins, name) for name in _BUILTINS.split()}
        found.update(isinstance=self.is_instance, print=self.speak)
        return {**found, "__import__": self.imported}

    def is_instance(self, value: Any, kinds: Any) -> bool:
        """Of numbers and text: stand-ins are of no other type's."""
        for kind in kinds if isinstance(kinds, tuple) else (kinds,):
            if kind not in _PLAIN:
                self.refuse("it asks for types")
        return isinstance(value, kinds)

    def imported(
        self, name: str, globals: Any, locals: Any, names: Any, level: int
    ) -> Any:
        """An import in the function, of a module that is here anyway."""
        if level or name not in sys.modules:
            self.refuse("it imports %s" % name)
        top = name if names else name.partition(".")[0]
        return self.stand_in(sys.modules[top], top)


def _written(code: CodeType) -> Iterator[str]:
    """Names outside of a function that its code writes."""
    for step in dis.get_instructions(code):
        shared = step.argval in code.co_freevars
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
            step.opname == "STORE_DEREF" and shared
        ):
            yield step.argval
    for inside in code.co_consts:
        if isinstance(inside, CodeType):
            written = _written(inside)
            yield from (n for n in written if n not in code.co_cellvars)


class _Globals(Dict[str, Any]):
    """In place of a function's globals: read as stand-ins, when they are."""

    def __init__(self, theirs: Mapping[str, Any], rehearsal: _Rehearsal):
        super().__init__(__builtins__=rehearsal.builtins())
        self._theirs = theirs
        self._rehearsal = rehearsal

    def __missing__(self, name: str) -> Any:
        if name in self._theirs:
            return self._rehearsal.stand_in(self._theirs[name], name)
        if name not in self["__builtins__"] and hasattr(builtins, name):
            self._rehearsal.refuse("it calls %s" % name)
        raise KeyError(name)


class _StandIn:
    """In place of a module, a class or an object: what it has, as stand-ins."""

    __slots__ = ("__value", "__name", "__rehearsal")

    def __init__(self, value: Any, name: str, rehearsal: _Rehearsal) -> None:
        for slot, one in zip(_StandIn.__slots__, (value, name, rehearsal)):
            object.__setattr__(self, "_StandIn" + slot, one)

    def __getattr__(self, name: str) -> Any:
        value, path = self.__value, f"{self.__name}.{name}"
        if isinstance(value, ModuleType):
            if name not in vars(value):
                self.__rehearsal.refuse("it uses %s" % path)
            return self.__rehearsal.stand_in(vars(value)[name], path)
        found = inspect.getattr_static(value, name)
        if isinstance(found, FunctionType) and not isinstance(value, type):
            if name not in vars(value):
                return functools.partial(
                    self.__rehearsal.stand_in(found, path), self
                )
        if isinstance(found, property):
            return self.__rehearsal.stand_in(found.fget, path)(self)
        return self.__rehearsal.stand_in(found, path)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        call = call_of(type(self.__value))
        if call is None:
            self.__rehearsal.refuse("it calls %s" % self.__name)
        stand_in = self.__rehearsal.stand_in(call, self.__name)
        return stand_in(self, *args, **keywords)

    def __bool__(self) -> bool:
        kind = type(self.__value)
        if hasattr(kind, "__bool__") or hasattr(kind, "__len__"):
            self.__rehearsal.refuse("it asks whether %s is empty" % self.__name)
        return True

    def __eq__(self, other: Any) -> bool:
        self.__rehearsal.refuse("it compares %s" % self.__name)
        return False

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__value is not torch.backends.cudnn:  # of no use in a worker
            self.__rehearsal.refuse("it sets %s.%s" % (self.__name, name))


class _Info:
    """What torch.utils.data.get_worker_info() returns."""

    def __init__(self, rehearsal: _Rehearsal, worker: int, workers: int):
        self.id, self.num_workers, self.seed = worker, workers, SEED + worker
        self._rehearsal = rehearsal

    def __getattr__(self, name: str) -> Any:
        self._rehearsal.refuse("it uses get_worker_info().%s" % name)


class _Logger:
    """Says all that it is told to nobody."""

    def __init__(self, rehearsal: _Rehearsal) -> None:
        self._rehearsal = rehearsal

    def __getattr__(self, name: str) -> Any:
        if name not in _LEVELS:
            self._rehearsal.refuse("it uses a logger's %s" % name)
        return self._rehearsal.speak


class _Environment:
    """In place of os.environ: it can be read."""

    def __init__(self, rehearsal: _Rehearsal) -> None:
        self._rehearsal = rehearsal
        self.get = os.environ.get

    def __getitem__(self, name: str) -> str:
        return os.environ[name]

    def __setitem__(self, name: str, value: str) -> None:
        if name != "PYTHONHASHSEED":  # which counts when Python starts
            self._rehearsal.refuse("it sets os.environ[%r]" % name)


_LEVELS = "debug info warning error critical exception log".split()
_SPEAKING = [getattr(logging, name) for name in _LEVELS]
_SPEAKING += [print, warnings.warn]


def _is_told(value: Any) -> bool:
    """A method of a logger."""
    return (
        type(value) is MethodType
        and isinstance(value.__self__, logging.Logger)
        and value.__name__ in _LEVELS
    )


def _words_for(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _is_number(value: Any) -> bool:
    """One of numpy's."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def _may_be_read(value: Any) -> bool:
    """Whether its attributes are those that are stored."""
    if isinstance(value, ModuleType):
        return True
    cls = value if isinstance(value, type) else type(value)
    return not any(
        isinstance(vars(base).get(name), FunctionType)
        for base in cls.__mro__
        for name in ("__getattr__", "__getattribute__")
    )


def _nothing(*args: Any, **kwargs: Any) -> None:
    pass


def _known_functions(info: _Info) -> "list[tuple[Any, Any]]":
    """Functions that seed or ask for seeds, and what is called for them."""
    quiet = [random.seed, warnings.simplefilter, warnings.filterwarnings]
    quiet += [torch.manual_seed, torch.set_num_threads]
    quiet += [torch.cuda.manual_seed, torch.cuda.manual_seed_all]
    quiet += [torch.use_deterministic_algorithms]
    same = [random.Random, torch.Generator, os.getpid, torch.cuda.is_available]
    same += [time.time, time.time_ns, time.monotonic, time.perf_counter]
    if torch.distributed.is_available():
        names = ("get_rank", "get_world_size", "is_initialized")
        same += [getattr(torch.distributed, name) for name in names]
    found: "list[tuple[Any, Any]]" = [
        (torch.initial_seed, lambda: info.seed),
        (torch.utils.data.get_worker_info, lambda: info),
        (os.environ, _Environment(info._rehearsal)),
        (os.getenv, os.getenv),
    ]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        state = ("MT19937", [SEED % 2**32] * 624, 624, 0, 0.0)
        found.append((numpy.random.get_state, lambda: state))
        quiet.append(numpy.random.seed)
        same += [numpy.random.SeedSequence, numpy.random.default_rng]
    cv2 = sys.modules.get("cv2")
    if cv2 is not None:
        quiet += [cv2.setNumThreads, cv2.setRNGSeed]
    found += [(one, _nothing) for one in quiet]
    return found + [(one, one) for one in same]
