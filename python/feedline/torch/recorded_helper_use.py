# SPDX-License-Identifier: Apache-2.0
"""Helper processes of one iterator: whether, how many, until when."""

from __future__ import annotations

import multiprocessing
import warnings
from typing import Any, Optional

import torch.multiprocessing
from torch.utils.data.dataloader import default_collate

import feedline

from ._compat import collates, is_stream
from .arguments import AUTO, cores
from .recorded_draws import ENGINE
from .recorded_helper_count import Tuner
from .recorded_helper_proof import reason_against
from .recorded_helpers import Helpers
from .recorded_helpers_child import Work
from .recorded_run import RecordedSet


NONE = "a DataLoader has no helper processes: "


class Use:
    """Of one iterator; each method in the consumer's thread."""

    def __init__(self, loader: Any, recorded: RecordedSet, work: Work) -> None:
        self.helpers: Optional[Helpers] = None
        self._recorded = recorded
        self._helping = helping = recorded.helping
        self._dataset = loader.dataset
        self._batched = work.batched
        self._tuner: Optional[Tuner] = None
        asked = loader._feedline.given.helpers
        self._asked = asked != AUTO
        helping.alive = 0
        context = loader.multiprocessing_context
        if context is None:
            context = torch.multiprocessing.get_context()
        helping.against = _reason(loader, asked, context) or helping.found
        if self._asked and asked > 0 and helping.found is None:
            self._find_out()
        if helping.against:
            return
        limit = asked if self._asked else cores() - 1
        self.helpers = Helpers(work, context, lambda: limit)
        if self._asked:
            helping.count = asked
        else:
            self._tuner = Tuner(helping, self.helpers, limit)
        self._grow(helping.count)

    def _find_out(self) -> bool:
        """Whether there may be helpers, as far as a few samples tell. Once for
        a data set."""
        helping = self._helping
        if helping.found is None:
            helping.found = helping.against = reason_against(
                self._recorded, self._dataset, self._batched, self._asked
            )
            if helping.found and self._asked:
                _warn(NONE + helping.found)
        return not helping.found

    def _grow(self, count: int) -> None:
        helpers = self.helpers
        assert helpers is not None
        for _ in range(count):
            # So that no copy begins in the middle of a sample.
            with self._recorded.lock:
                if not helpers.grow():
                    break
        self._note()

    def _note(self) -> None:
        helpers, helping = self.helpers, self._helping
        assert helpers is not None
        helping.alive = len(helpers)
        if helpers.refused:
            if not helping.against:
                helping.against = helping.found = helpers.refused
                _warn(NONE + helpers.refused)
        elif helpers.lost and not helping.lost:
            _warn(
                "a helper process of a DataLoader ended (%s); what it had to "
                "do is done again" % helpers.end
            )
        helping.lost += helpers.lost
        helpers.lost = 0

    def begin(self, key: Any) -> None:
        """An epoch that draws from that key."""
        if self.helpers is not None:
            self.helpers.begin(key)

    def delivered(self, samples: int, waited_s: float) -> None:
        """A batch, for which the consumer has waited so long."""
        if self.helpers is None:
            return
        self._note()
        if self._tuner is None or self._helping.against:
            return
        more = self._tuner.look(samples, waited_s)
        if more < 0:
            self.helpers.shrink()
        elif more > 0 and self._find_out():
            self._grow(1)

    def refuse(self, why: str) -> None:
        if self.helpers is not None:
            self.helpers.refuse(why)
            self._note()

    def close(self) -> None:
        if self.helpers is not None:
            self.helpers.close()


def _warn(text: str) -> None:
    warnings.warn(text, feedline.EngineWarning, stacklevel=5)


def work_of(
    loader: Any,
    recorded: RecordedSet,
    dataset: Any,
    collate_fn: Any,
    seed: int,
) -> Work:
    """seed: from which workers of torch's seed theirs."""
    batched = collates(loader)
    return Work(
        dataset=dataset,
        init=loader.worker_init_fn,
        seed=seed,
        batched=batched,
        chains=recorded.chains.decided(),
        collate=batched and collate_fn is default_collate,
    )


def _reason(loader: Any, asked: Any, context: Any) -> Optional[str]:
    """What stands in the way, whatever the data set; None: nothing."""
    given = loader._feedline.given
    if asked == 0:
        return "helpers=0"
    if is_stream(loader):
        return "a stream's samples come one behind the other"
    if given.draws != ENGINE:
        return 'with draws="torch" one thread makes the samples in their order'
    if multiprocessing.current_process().daemon:
        return "this process is a daemonic one, which may have no children"
    if asked != AUTO:
        return None
    if loader.num_workers == 0:
        return (
            "with num_workers=0 the data set is the program's own; "
            "num_workers='auto' allows copies of it"
        )
    if cores() < 2:
        return "there is one core"
    if context.get_start_method() != "fork":
        return "processes do not begin as a fork; helpers=1 starts one"
    return None
