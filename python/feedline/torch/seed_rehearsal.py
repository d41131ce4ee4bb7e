# SPDX-License-Identifier: Apache-2.0
"""Whether a worker_init_fn of the user's does nothing but seed generators.

PyTorch's recipe for reproducible loading is one that does:

    def seed_worker(worker_id):
        worker_seed = torch.initial_seed() % 2**32
        numpy.random.seed(worker_seed)
        random.seed(worker_seed)

It is found out by a rehearsal: the function's code runs, with stand-ins in
place of everything that it could touch. Those for the functions that seed do
nothing, numbers and text are themselves, functions of the user's are rehearsed
in turn, and anything else ends the rehearsal. What it can change meanwhile are
its own locals.
"""

from __future__ import annotations

import builtins
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Callable, Dict, List

_PLAIN = (bool, int, float, str, bytes, type(None))
_BUILTINS = "abs bool divmod float hash int len max min pow range round str sum"
SEED = 67280421310721  # what torch.initial_seed() says: any number will do


class _Refused(Exception):
    """Something that is not known to be seeding."""


class _Info:
    """In place of torch.utils.data.get_worker_info()."""

    def __init__(self, worker: int) -> None:
        self.id = worker
        self.seed = SEED + worker
        self.num_workers = worker + 1


class _Module:
    """In place of a module: its functions that are known, and what is below."""

    def __init__(self, module: ModuleType, rehearsal: "_Rehearsal") -> None:
        self.__module, self.__rehearsal = module, rehearsal

    def __getattr__(self, name: str) -> Any:
        return self.__rehearsal.stand_in(getattr(self.__module, name, None))


def only_seeds(function: Any, workers: int) -> bool:
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

    found: "list[tuple[Any, Callable[..., Any]]]" = [
        (random.seed, _nothing),
        (torch.manual_seed, _nothing),
        (torch.cuda.manual_seed, _nothing),
        (torch.cuda.manual_seed_all, _nothing),
        (torch.set_num_threads, _nothing),
        (torch.initial_seed, lambda: SEED + worker),
        (torch.utils.data.get_worker_info, lambda: _Info(worker)),
    ]
    try:
        import numpy.random
    except ImportError:
        return found
    state = ("MT19937", [SEED % 2**32] * 624, 624, 0, 0.0)
    found.append((numpy.random.seed, _nothing))
    found.append((numpy.random.get_state, lambda: state))
    return found
