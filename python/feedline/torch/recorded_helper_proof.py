# SPDX-License-Identifier: Apache-2.0
"""Whether other processes may make the samples of a data set.

Each helper has a copy, so a sample may not depend on those that were made
before it. Two samples are made in both orders, on copies, and compared. Where
nobody has asked for helpers, that is not enough: a data set that writes to
itself (a counter, a cache, a file that it opens late), or keeps what processes
cannot share (an open file, a connection, a generator), has none either.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, Dict, Optional, Set, Tuple

import torch

from .recorded_batch import Batch
from .recorded_draws import SeededDraws
from .recorded_proof import different
from .recorded_run import RecordedSet, Run
from .worker_info import only_worker
from .working_copy import Copier, is_generator, is_plain_object, working_copy

_SEED = 0x5EED


def reason_against(
    recorded: RecordedSet, dataset: Any, batched: bool, asked_for: bool
) -> str:
    """Why there are no helpers; "" where there may be. asked_for: the program
    has given a number."""
    try:
        count = len(dataset)
    except Exception:
        return "the data set does not say how many samples it has"
    copies = [working_copy(dataset, True) for _ in range(4)]
    if count > 1:
        why = _difference(recorded, copies, (0, count // 2), batched, asked_for)
        if why:
            return why
    changed = _changed(copies[0], copies[3], "", set())
    if changed is not None and (changed[1] or not asked_for):
        return "the data set writes to itself (%s)" % (changed[0] or "itself")
    return "" if asked_for else _what_is_shared(dataset)


def _difference(
    recorded: RecordedSet,
    copies: Any,
    places: Tuple[int, int],
    batched: bool,
    asked_for: bool,
) -> str:
    forth = _made(recorded, copies[0], places, batched)
    back = _made(recorded, copies[1], places[::-1], batched)
    for place in places:
        where = different(forth[place], back[place])
        if where is None:
            continue
        where = "sample %d%s" % (place, where)
        again = _made(recorded, copies[2], places, batched)
        if different(forth[place], again[place]) is None:
            return "a sample depends on those made before it (%s)" % where
        if not asked_for:
            return "a sample is another each time (%s)" % where
    return ""


def _made(
    recorded: RecordedSet, dataset: Any, places: Tuple[int, int], batched: bool
) -> Dict[int, Any]:
    """Each in a batch of its own, in this order."""
    info = only_worker(_SEED, dataset)
    run: Run = recorded.begin(dataset, SeededDraws(_SEED, 0), info, batched)
    found: Dict[int, Any] = {}
    for place in places:
        batch = Batch([place])
        try:
            if run.many is not None:
                found[place] = run.all_truly(batch)
            else:
                found[place] = run.truly(batch, 0)
        except Exception as error:
            found[place] = type(error).__name__
    return found


# ---- What it has written to itself -----------------------------------------

# Where, and whether it is a generator, which the next sample draws from.
Change = Tuple[str, bool]


def _changed(
    made: Any, fresh: Any, where: str, seen: Set[int]
) -> Optional[Change]:
    """Of two working copies, one of which has made samples."""
    if made is fresh or id(made) in seen:
        return None
    seen.add(id(made))
    if type(made) is not type(fresh):
        return where, False
    if is_generator(made):
        same = _state_of(made) == _state_of(fresh)
        return None if same else (where, True)
    if isinstance(made, dict):
        parts, others = made, fresh
    elif isinstance(made, (list, tuple)) or hasattr(made, "popleft"):
        parts, others = dict(enumerate(made)), dict(enumerate(fresh))
    elif is_plain_object(type(made)):
        parts, others = vars(made), vars(fresh)
    else:
        return None if _are_equal(made, fresh) else (where, False)
    if parts.keys() != others.keys():
        names = [str(name) for name in parts.keys() ^ others.keys()]
        return "%s[%s]" % (where, sorted(names)[0]), False
    if _are_equal(parts, others):
        return None
    for name, part in parts.items():
        found = _changed(part, others[name], _join(where, name), seen)
        if found is not None:
            return found
    return None


def _join(where: str, name: Any) -> str:
    return "%s.%s" % (where, name) if where else str(name)


def _are_equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:
        return False


def _state_of(generator: Any) -> Any:
    if isinstance(generator, torch.Generator):
        return generator.get_state().tolist()
    return pickle.dumps(generator)


# ---- What it keeps ----------------------------------------------------------


class _Nothing(io.RawIOBase):
    """Takes what is written, and keeps none."""

    def write(self, data: Any) -> int:
        return len(data)


def _what_is_shared(dataset: Any) -> str:
    copier = Copier(True)
    copier.of(dataset, 0)
    for thing in copier.alive:
        if is_generator(thing):
            return "the data set keeps a generator of random numbers"
        if copier.made[id(thing)] is not thing or _is_memory(thing):
            continue
        try:
            pickle.Pickler(_Nothing(), 5).dump(thing)
        except Exception:
            return "the data set keeps a %s, which no process can share" % (
                type(thing).__name__
            )
    return ""


def _is_memory(thing: Any) -> bool:
    return isinstance(thing, torch.Tensor) or hasattr(
        thing, "__array_interface__"
    )
