# SPDX-License-Identifier: Apache-2.0
"""Supply: batches that are asked of actors, and brought to the loader.

What is under way is one table, by ticket in the order of the stream:

    Slot    ticket, what was asked, since when
            tries       who makes it: one actor as a rule
            made        it is here, and waits for its place in the loader

Whoever answers first fills a slot, as all would answer the same. So whatever
goes wrong with an actor is met by asking another one: its node is lost (Ray
raises, after the seconds in which it notices), or it takes much longer than
others do (LATE). Where no actor is there, this process makes the batch.

The consumer asks; one thread of the supply waits for answers and brings them.
It must not keep the loader, so that actors of one that is dropped without
close() do not hold their cores until the program ends.
"""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from dataclasses import dataclass, field
from typing import Any, Deque, Dict, List, Optional, Tuple, Union
from collections import deque

import ray
from ray import cloudpickle
from ray.exceptions import RayActorError, RayError, TaskUnschedulableError

import feedline

from .. import elsewhere
from ..elsewhere import Asked, Made
from ..errors import Error, StateError, UserError
from ..maker import Maker, batch_options
from .actors import Actors, Refusal, recipe_of

# One wait for answers; shorter while a batch waits for its place.
WAIT_S, PARKED_S = 0.05, 0.01

# An answer is late after so many usual ones, and no earlier than this.
LATE, LATE_S = 6.0, 2.0
KEPT_TIMES = 32

# An actor that dies so often without an answer is not made again.
DEATHS = 3


@dataclass(eq=False)
class Member:
    """An actor. opening: the answer to open(), while that is awaited."""

    handle: Any
    opening: Any
    node: str = ""
    asked: int = 0
    deaths: int = 0

    @property
    def is_there(self) -> bool:
        return bool(self.node) and self.opening is None


@dataclass(eq=False)
class Try:
    """One who makes a slot's batch; member None: this process."""

    member: Optional[Member]
    answer: Any  # an ObjectRef, or a Future
    since: float


@dataclass(eq=False)
class Slot:
    """A batch under way."""

    ticket: int
    asked: Asked
    tries: List[Try] = field(default_factory=list)
    made: Union[None, Made, Error] = None


_Awaited = Tuple[Optional[Slot], Any]


class Supply:
    """The actors of a loader, and what is asked of them."""

    def __init__(self, loader: feedline.Loader, actors: Actors) -> None:
        self._loader = weakref.ref(loader, self._loader_is_gone)
        self._made_of = loader.dataset, loader.pipeline
        self._actors = actors
        self._options = batch_options(loader)
        self._recipe = ray.put(
            cloudpickle.dumps(recipe_of(loader, self._options))
        )
        self._lock = threading.Condition()  # guards all below
        self._slots: Dict[int, Slot] = {}
        self._members = [self._new_member() for _ in range(actors.count)]
        self._own: Optional[Maker] = None
        self._times: Deque[float] = deque(maxlen=KEPT_TIMES)
        self._failure: Optional[Error] = None
        self._warned = False
        self._closing = False
        self._remade = 0
        self._thread = threading.Thread(
            target=self._run, name="feedline-supply", daemon=True
        )
        self._thread.start()

    def _new_member(self) -> Member:
        handle = self._actors.create(self._recipe)
        return Member(handle, handle.open.remote())

    # ---- The consumer -----------------------------------------------------

    def has_room(self) -> bool:
        """Whether an actor is there that may be asked for one more."""
        with self._lock:
            return self._idlest() is not None

    def is_empty(self) -> bool:
        """No actor is there (yet, or any more)."""
        with self._lock:
            return not any(member.is_there for member in self._members)

    def nodes(self) -> List[str]:
        """Of the actors that are there."""
        with self._lock:
            return [m.node for m in self._members if m.is_there]

    def wait_for_actors(self, seconds: float) -> int:
        """Waits until all are there; how many are."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and len(self.nodes()) < len(self._members):
            self.check()
            time.sleep(0.02)
        return len(self.nodes())

    @property
    def remade(self) -> int:
        """Batches that were asked of another one as well."""
        return self._remade

    def ask(self, ticket: int, asked: Asked) -> None:
        """The batch of this ticket, which the loader expects."""
        with self._lock:
            slot = self._slots[ticket] = Slot(ticket, asked)
            self._try(slot)
            self._lock.notify()

    def forget(self) -> None:
        """Nothing that was asked is brought any more."""
        with self._lock:
            for slot in self._slots.values():
                self._drop_tries(slot)
            self._slots.clear()

    def check(self) -> None:
        """Raises what is wrong with an actor, once."""
        with self._lock:
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Ends the actors."""
        with self._lock:
            self._closing = True
            self._slots.clear()
            self._lock.notify()
        self._thread.join(10)
        self._end()

    def _loader_is_gone(self, _loader: object) -> None:
        """The thread ends the actors. No lock is taken: the garbage collector
        may be running on a thread that has it."""
        self._closing = True

    def _end(self) -> None:
        for member in self._members:
            _kill(member)
        if self._own is not None:
            self._own.close()

    # ---- Asking, with the lock --------------------------------------------

    def _idlest(self, but: "List[Optional[Member]]" = []) -> Optional[Member]:
        there = [
            member
            for member in self._members
            if member.is_there
            and member.asked < self._actors.window
            and member not in but
        ]
        return min(there, key=lambda member: member.asked, default=None)

    def _try(self, slot: Slot) -> None:
        """Asks an actor that was not asked yet, or this process."""
        asked_before = [one.member for one in slot.tries]
        member = self._idlest(asked_before)
        if member is not None:
            answer = member.handle.make.remote(slot.asked)
            member.asked += 1
        elif None in asked_before:
            return
        else:
            answer = self._here().ask(slot.asked)
        slot.tries.append(Try(member, answer, time.monotonic()))

    def _here(self) -> Maker:
        if self._own is None:
            self._own = Maker(*self._made_of, self._options, live=False)
        return self._own

    def _drop_tries(self, slot: Slot) -> None:
        for one in slot.tries:
            if one.member is not None:
                one.member.asked -= 1
        slot.tries = []

    # ---- Its thread -------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._closing:
                    break
                answers = self._answers()
                parked = self._bring_all()
            try:
                if not ray.is_initialized():  # a call would begin it anew
                    raise StateError("it was shut down")
                came = self._wait(answers, PARKED_S if parked else WAIT_S)
                with self._lock:
                    self._take(came)
                    self._ask_again()
            except Exception as error:  # Ray was shut down
                with self._lock:
                    self._fail(UserError("Ray: %s" % error))
                    self._lock.wait(WAIT_S)
        if self._loader() is None:
            self._end()

    def _answers(self) -> "Dict[Any, _Awaited]":
        """What is awaited: a slot and a try of it, or None and a member."""
        found: Dict[Any, _Awaited] = {}
        for member in self._members:
            if member.opening is not None:
                found[member.opening] = (None, member)
        for slot in self._slots.values():
            for one in slot.tries:
                found[one.answer] = (slot, one)
        return found

    def _wait(
        self, answers: "Dict[Any, _Awaited]", seconds: float
    ) -> "List[Tuple[_Awaited, Any]]":
        """Those that came, with their values, or exceptions."""
        refs = [one for one in answers if isinstance(one, ray.ObjectRef)]
        own = [one for one in answers if not isinstance(one, ray.ObjectRef)]
        done = [one for one in own if one.done()]
        if own:
            seconds = min(seconds, PARKED_S)
        if refs:
            some = ray.wait(refs, timeout=0 if done else seconds)[0]
            rest = [ref for ref in refs if ref not in set(some)]
            if some and rest:  # what else is there
                some += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
            done += some
        elif not done:
            with self._lock:
                if not self._closing:
                    self._lock.wait(seconds)
        return [(answers[one], _value_of(one)) for one in done]

    def _take(self, came: "List[Tuple[_Awaited, Any]]") -> None:
        for (slot, owner), value in came:
            if slot is None:
                self._opened(owner, value)
            else:
                self._answered(slot, owner, value)

    def _opened(self, member: Member, value: Any) -> None:
        first = not member.deaths
        member.opening = None
        if isinstance(value, str):
            member.node = value
        elif isinstance(value, RayError):
            self._lost(member, value)
        else:
            error = _error_of(value)
            if first:
                self._fail(error)
            else:
                warnings.warn(
                    "feedline: an actor that was replaced cannot be used: %s"
                    % error,
                    feedline.EngineWarning,
                    stacklevel=2,
                )

    def _answered(self, slot: Slot, one: Try, value: Any) -> None:
        if one not in slot.tries:
            return  # forgotten meanwhile
        slot.tries.remove(one)
        member = one.member
        if member is not None:
            member.asked -= 1
            if isinstance(value, RayActorError):
                self._lost(member, value)
                return
            member.deaths = 0
        if slot.made is not None:
            return
        if isinstance(value, Made):
            self._times.append(time.monotonic() - one.since)
            slot.made = value
        else:
            slot.made = _error_of(value)
        self._drop_tries(slot)

    def _lost(self, member: Member, why: RayError) -> None:
        """Another one takes its place, wherever Ray has one."""
        if member.opening is not None:
            return
        member.node = ""
        member.deaths += 1
        if isinstance(why, TaskUnschedulableError) or member.deaths > DEATHS:
            self._fail(UserError("an actor cannot be made: %s" % why))
            return
        _kill(member)  # which may merely be out of reach
        member.handle = self._actors.create(self._recipe)
        member.opening = member.handle.open.remote()

    def _ask_again(self) -> None:
        """What nobody makes, and the oldest batch if it is late."""
        oldest: Optional[Slot] = None
        for slot in self._slots.values():
            if slot.made is not None:
                continue
            if not slot.tries:
                self._remade += 1
                self._try(slot)
            oldest = oldest or slot
        if oldest is not None and self._is_late(oldest):
            before = len(oldest.tries)
            self._try(oldest)
            self._remade += len(oldest.tries) - before

    def _is_late(self, slot: Slot) -> bool:
        if not self._times or not slot.tries:
            return False
        usual = sorted(self._times)[len(self._times) // 2]
        late = time.monotonic() - slot.tries[-1].since
        return late > max(LATE_S, LATE * usual)

    def _fail(self, error: Error) -> None:
        """The consumer raises it: now, or in place of the next batch."""
        if not self._slots:
            self._failure = error
        for slot in self._slots.values():
            self._drop_tries(slot)
            slot.made = error

    def _bring_all(self) -> bool:
        """Brings what is here; whether some waits for its place."""
        parked = False
        loader = self._loader()
        if loader is None:
            return False
        for slot in list(self._slots.values()):
            if slot.made is None:
                continue
            try:
                there = _bring(loader, slot)
            except StateError:  # the run ended
                there = True
            except Error as error:  # an answer that is none
                slot.made, there = error, False
            if there:
                del self._slots[slot.ticket]
            parked = parked or not there
        return parked


def _kill(member: Member) -> None:
    if not ray.is_initialized():  # it would begin anew
        return
    try:
        ray.kill(member.handle)
    except Exception:  # Ray has lost it
        pass


def _bring(loader: feedline.Loader, slot: Slot) -> bool:
    if isinstance(slot.made, Error):
        return elsewhere.fail(loader, slot.ticket, slot.made)
    assert slot.made is not None
    return elsewhere.bring(loader, slot.ticket, slot.made)


def _value_of(answer: Any) -> Any:
    try:
        if isinstance(answer, ray.ObjectRef):
            return ray.get(answer)
        return answer.result()
    except Exception as error:
        return error


def _error_of(value: Any) -> Error:
    if isinstance(value, Refusal):
        return value.error()
    if isinstance(value, Error):
        return value
    text = "%s: %s" % (type(value).__name__, value)
    return UserError(text.splitlines()[0] if text else "an actor failed")
