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
import functools
from types import CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, Callable, Dict, List

# By module and name, so that no framework has to be imported for it.
SEEDING = {
    ("lightning.fabric.utilities.seed", "pl_worker_init_function"),
    ("lightning_fabric.utilities.seed", "pl_worker_init_function"),
    ("pytorch_lightning.utilities.seed", "pl_worker_init_function"),
    ("transformers.trainer_utils", "seed_worker"),
    ("timm.data.loader", "_worker_init"),
}
# timm's calls a function of the user's for its seeds, if it is given one.
PLAIN_SEEDING = ("all", "part")


def only_seeds(worker_init_fn: Any, workers: int = 1) -> bool:
    """Whether it seeds generators of a worker and does nothing else.

    workers: how many there would be.
    """
    if _seeds_in_rehearsal(worker_init_fn, workers):
        return True
    arguments: dict[str, Any] = {}
    while isinstance(worker_init_fn, functools.partial):
        arguments = {**worker_init_fn.keywords, **arguments}
        worker_init_fn = worker_init_fn.func
    name = (
        getattr(worker_init_fn, "__module__", None),
        getattr(worker_init_fn, "__qualname__", None),
    )
    seeding = arguments.get("worker_seeding", "all")
    return name in SEEDING and seeding in PLAIN_SEEDING


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
# stand-ins for everything it could touch. Those for functions that seed do
# nothing, numbers and text are themselves, the user's own functions are
# rehearsed in turn, and anything else ends the rehearsal. All that it can
# change meanwhile are its own locals.

_PLAIN = (bool, int, float, str, bytes, type(None))
_BUILTINS = "abs bool divmod float hash int len max min pow range round str sum"
SEED = 67280421310721  # what torch.initial_seed() says: any number will do


class _Refused(Exception):
    """Something that is not known to be seeding."""


class _Module:
    """In place of a module: its functions that are known, and what is below."""

    def __init__(self, module: ModuleType, rehearsal: "_Rehearsal") -> None:
        self.__module, self.__rehearsal = module, rehearsal

    def __getattr__(self, name: str) -> Any:
        return self.__rehearsal.stand_in(getattr(self.__module, name, None))


def _seeds_in_rehearsal(function: Any, workers: int) -> bool:
    """Whether function(worker) for workers of 0 to workers - 1 only seeds."""
    try:
        for worker in range(max(1, workers)):
            _Rehearsal(worker).stand_in(function)(worker)
    except Exception:  # of whatever kind: it did something else
        return False
    return True


class _Rehearsal:
    """One call, in one worker."""

    def __init__(self, worker: int) -> None:
        self._known = _known_functions(worker)
        self._made: Dict[int, FunctionType] = {}

    def stand_in(self, value: Any) -> Any:
        if type(value) in _PLAIN:
            return value
        for known, instead in self._known:
            if value is known:
                return instead
        if type(value) is ModuleType:
            return _Module(value, self)
        if type(value) is FunctionType:
            return self._function(value)
        raise _Refused

    def _function(self, function: FunctionType) -> FunctionType:
        made = self._made.get(id(function))
        if made is not None:
            return made
        names: Dict[str, Any] = {"__builtins__": self._builtins()}
        code = function.__code__
        cells = tuple(
            CellType(self.stand_in(cell.cell_contents))
            for cell in function.__closure__ or ()
        )
        defaults = tuple(map(self.stand_in, function.__defaults__ or ()))
        made = FunctionType(code, names, function.__name__, defaults, cells)
        made.__kwdefaults__ = {
            name: self.stand_in(value)
            for name, value in (function.__kwdefaults__ or {}).items()
        }
        self._made[id(function)] = made
        for name in _names_in(code):
            if name in function.__globals__:
                names[name] = self.stand_in(function.__globals__[name])
        return made

    def _builtins(self) -> Dict[str, Any]:
        found = {name: getattr(builtins, name) for name in _BUILTINS.split()}
        found["print"] = _nothing
        return found


def _names_in(code: CodeType) -> List[str]:
    """Names that code may look up, that of functions inside of it too.

    Those of attributes are among them. One that is a global by chance is asked
    for in vain, and at worst refused.
    """
    found = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found += _names_in(constant)
    return found


def _nothing(*args: Any, **kwargs: Any) -> None:
    pass


def _known_functions(worker: int) -> "list[tuple[Any, Callable[..., Any]]]":
    """Functions that seed or ask for seeds, and what is called for them."""
    import random

    import torch

    info = SimpleNamespace(
        id=worker, seed=SEED + worker, num_workers=worker + 1
    )
    found: "list[tuple[Any, Callable[..., Any]]]" = [
        (random.seed, _nothing),
        (torch.manual_seed, _nothing),
        (torch.cuda.manual_seed, _nothing),
        (torch.cuda.manual_seed_all, _nothing),
        (torch.set_num_threads, _nothing),
        (torch.initial_seed, lambda: SEED + worker),
        (torch.utils.data.get_worker_info, lambda: info),
    ]
    try:
        import numpy.random
    except ImportError:
        return found
    state = ("MT19937", [SEED % 2**32] * 624, 624, 0, 0.0)
    found.append((numpy.random.seed, _nothing))
    found.append((numpy.random.get_state, lambda: state))
    return found
