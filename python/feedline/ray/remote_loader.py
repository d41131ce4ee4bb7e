# SPDX-License-Identifier: Apache-2.0
"""Loader: feedline's loader, with batches made by actors among its own.

    planner     a loader that never runs: it knows order and position
    this        a loader in the given order: some batches are appended to it,
                others expected, and brought by a Supply

Where a batch is made is decided when it is appended, by a Share. Nothing of the
stream depends on that, so the position is the planner's.
"""

from __future__ import annotations

import json
import time
from typing import Any, Deque, Dict, NamedTuple, Optional, Tuple, Union
from array import array
from collections import deque

import feedline

from ..batch import Batch
from ..elsewhere import Asked, Plan, Planned, expect
from ..errors import InvalidArgument, StateError
from ..lifetime import Aside
from ..loader import EpochInfo
from ..maker import OF_BATCHES
from ..pipeline import Pipeline
from .actors import Actors
from .share import Share
from .supply import Supply

# Of the order, which the planner has.
_OF_ORDER = (
    "seed",
    "shuffle",
    "block",
    "lanes",
    "drop_last",
    "rank",
    "world",
    "shard_tail",
    "repeats",
    "epoch_samples",
)


class _Coming(NamedTuple):
    """A batch that was appended."""

    planned: Planned
    elsewhere: bool


class Loader(feedline.Loader):
    """A feedline.Loader whose batches are also made by actors.

    Everything of a feedline.Loader works as it does there, but order="given"
    and epochs, and the stream is the same. A batch is images of one size and
    labels: a data set with fields, objects or masks, a pipeline that mixes, and
    max_sample_bytes are refused.
    """

    def __init__(
        self,
        dataset: feedline.Dataset,
        pipeline: Union[None, str, Pipeline] = None,
        *,
        actors: Union[int, Actors],
        share: Optional[float] = None,
        **options: Any,
    ) -> None:
        """dataset, pipeline: as for feedline.Loader. actors: which, or how many
        of one core each. share: the part of batches that they make, 0 to 1;
        None: what this process cannot make in time, as measured. options: as
        for feedline.Loader.
        """
        for name in ("order", "epochs"):
            if options.get(name, "own") not in ("own", 0):
                raise InvalidArgument("%s does not apply to actors" % name)
        if share is not None and not 0 <= share <= 1:
            raise InvalidArgument("share=%r: 0 to 1, or None" % share)
        own = {k: v for k, v in options.items() if k not in _OF_ORDER}
        if str(own.get("device", "host")) != "host":
            # Actors send batches as they are delivered.
            own.setdefault("finish", "host")
        super().__init__(dataset, pipeline, order="given", **own)
        of_both = OF_BATCHES + _OF_ORDER
        asked = {k: v for k, v in options.items() if k in of_both}
        try:
            self._check_batches()
            self._planner = feedline.Loader(
                dataset, self.pipeline, live=False, **asked
            )
            self._plan = Plan(self._planner, 0, 0)
            if isinstance(actors, int):
                actors = Actors(actors)
            self._supply = Supply(self, actors)
        except BaseException:
            super().close()
            raise
        self.options: Dict[str, Any] = {
            **options,
            "actors": actors,
            "share": share,
        }
        self._share = Share(share)
        self._seed = self._planner.get("seed")
        self._coming: Deque[_Coming] = deque()
        self._here = 0  # of them
        self._at = (0, 0)  # epoch and position, over all ranks
        self._epoch: Optional[int] = None  # that was begun
        self._ended = False  # its last batch is among those coming
        self._returned = time.monotonic()

    def _check_batches(self) -> None:
        """Raises NotSupported if a batch is more than can be brought."""
        super().begin(0)
        expect(self, 1)
        super().stop()

    # ---- Batches ----------------------------------------------------------

    def _next_batch(self, timeout: Optional[float]) -> Optional[Batch]:
        self._supply.check()
        if self._undelivered() is None:
            self._top_up()
        called = time.monotonic()
        batch = super()._next_batch(timeout)
        now = time.monotonic()
        if batch is None:
            self._epoch = None
            return None
        came = self._coming.popleft()
        self._here -= not came.elsewhere
        self._stand_behind(came.planned)
        spent = now - self._returned
        self._share.see(came.elsewhere, now - called, spent)
        self._returned = now
        return batch

    def _stand_behind(self, planned: Planned) -> None:
        rank, world = self._ranks
        position = planned.place - rank + planned.samples * world
        self._at = planned.epoch, position
        if planned.last:
            self._at = planned.epoch + 1, 0

    @property
    def _ranks(self) -> Tuple[int, int]:
        return self._planner.get("rank"), self._planner.get("world")

    def _top_up(self) -> None:
        """Appends what may be made now; the next batch in any case."""
        if self._epoch is None:
            self._begin_epoch()
        depth = self._depth()
        while not self._ended:
            planned = self._plan.peek()
            where = self._choose(depth)
            if where is None:
                return
            self._plan.take()
            self._append_planned(planned, where)
            if planned.last:
                self._ended = True
                super().end()

    def _begin_epoch(self) -> None:
        planned = self._plan.peek()
        self._supply.forget()
        self._coming.clear()
        self._here = 0
        super().begin(planned.epoch, self._seed, planned.position)
        self._epoch = planned.epoch
        self._ended = False

    def _choose(self, depth: int) -> Optional[bool]:
        """Whether the next batch is made elsewhere; None: wait with it."""
        room = self._supply.has_room()
        if self._share.wants() and room:
            return True
        if self._share.is_all and not self._supply.is_empty():
            return None
        return False if self._here < depth else None

    def _append_planned(self, planned: Planned, away: bool) -> None:
        self._share.place(away)
        if away:
            ticket = expect(self, planned.samples)
            asked = Asked(
                planned.epoch, self._seed, planned.indices, planned.copies
            )
            self._supply.ask(ticket, asked)
        else:
            indices, copies = array("Q"), array("I")
            indices.frombytes(planned.indices)
            copies.frombytes(planned.copies)
            super().append(indices, copies)
            self._here += 1
        self._coming.append(_Coming(planned, away))

    def begin(self, epoch: int, seed: int = 0, position: int = 0) -> None:
        raise StateError("the order is the loader's own: start() or seek()")

    def append(self, indices: Any, copies: Any = None) -> None:
        raise StateError("the order is the loader's own")

    def end(self) -> None:
        raise StateError("the order is the loader's own")

    def wait_for_actors(self, seconds: float = 60.0) -> int:
        """Waits until all actors are there, which need not be waited for; how
        many are. seconds: no longer than that."""
        return self._supply.wait_for_actors(seconds)

    @property
    def actors(self) -> Dict[str, Any]:
        """nodes: of the actors that are there. share: of batches that they
        make now. remade: batches that were asked of another one as well, as an
        actor was lost or late."""
        return {
            "nodes": self._supply.nodes(),
            "share": self._share.value,
            "remade": self._supply.remade,
        }

    # ---- Position ---------------------------------------------------------

    @property
    def position(self) -> Tuple[int, int]:
        return self._at

    def start(self, epoch: int = 0) -> "Loader":
        return self._go_to(epoch, 0)

    def seek(self, epoch: int, position: int) -> None:
        self._go_to(epoch, position)

    def _go_to(self, epoch: int, position: int) -> "Loader":
        plan = Plan(self._planner, epoch, position)
        first = plan.peek()
        self._supply.forget()
        super().stop()
        self._spare = None
        self._midway = False
        self._plan, self._epoch = plan, None
        rank, _ = self._ranks
        self._at = first.epoch, first.place - rank
        return self

    def save(self) -> str:
        state = json.loads(self._planner.save())
        state["epoch"], state["position"] = self.position
        return json.dumps(state, separators=(",", ":"))

    def restore(self, state: str) -> None:
        self._planner.restore(state)
        epoch, position = self._planner.position
        self._planner.stop()
        self._go_to(epoch, position)

    # ---- What the planner knows -------------------------------------------

    def __len__(self) -> int:
        return len(self._planner)

    @property
    def epoch_info(self) -> EpochInfo:
        return self._planner.epoch_info

    def draws(self, *arguments: Any, **named: Any) -> Dict[str, Any]:
        return self._planner.draws(*arguments, **named)

    # ---- Life -------------------------------------------------------------

    def stop(self) -> None:
        self._supply.forget()
        super().stop()

    def _end(self) -> Optional[Aside]:
        supply = getattr(self, "_supply", None)
        if supply is not None:
            supply.close()
            self._planner.close()
        return super()._end()
