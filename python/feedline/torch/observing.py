# SPDX-License-Identifier: Apache-2.0
"""What a DataLoader says about itself: that of its engine; see observe.py.

While torch loads the samples there is no engine, and so nothing to measure:
numbers are refused with the reason, words say it, and phases do nothing, so a
training script needs no `if` around them.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, TextIO

import feedline

from .. import observe
from ..observe import Verdict
from ..phase_span import Phase
from ..profiling import why_no_engine
from .readable import readable


class Observing:
    """Statistics, words and views of a loader that has an engine at times."""

    @readable
    def engine(self) -> Optional[feedline.Loader]:
        """The engine that was used last, while there is one."""
        raise NotImplementedError

    def _watched(self) -> feedline.Loader:
        engine = self.engine
        if engine is None:
            raise feedline.StateError(why_no_engine(self))
        return engine

    def stats(self, flat: bool = False) -> Dict[str, Any]:
        """All statistics, with the verdict; see feedline.Loader.stats.

        Since the engine was made or reset_stats(). StateError where there is no
        engine: before the first epoch, or while torch loads the samples.
        """
        return self._watched().stats(flat)

    def reset_stats(self) -> None:
        """Statistics begin anew; nothing to do where there is no engine."""
        engine = self.engine
        if engine is not None:
            engine.reset_stats()

    def tuner_text(self) -> str:
        """What the tuner did and why, as lines of text."""
        return self._watched().tuner_text()

    def explain(self) -> str:
        """What limits the loader and what to do about it, what each operation
        costs, and what the tuner did; or why there is no engine."""
        if self.engine is None:
            return why_no_engine(self)
        return self.engine.explain()

    @readable
    def verdict(self) -> Verdict:
        """What the statistics mean; StateError as with stats()."""
        return self._watched().verdict

    def top(
        self,
        seconds: Optional[float] = None,
        interval: float = 1.0,
        out: Optional[TextIO] = None,
    ) -> str:
        """Shows this loader while another thread iterates; see observe.top.

        seconds=0: only returns one screen; None: until Ctrl-C. Where there is
        no engine it returns why.
        """
        if self.engine is None:
            return why_no_engine(self)
        return observe.top(self, seconds, interval, out)

    def _repr_html_(self) -> str:
        return observe.repr_html(self)

    def phase(self, name: str) -> Phase:
        """A context: what the training loop does in it is called `name`, in
        statistics and traces; see feedline.Loader.phase."""
        begun: List[Phase] = []

        def begin() -> None:
            engine = self.engine
            if engine is not None:
                begun.append(engine.phase(name).__enter__())

        def end() -> None:
            if begun:
                begun.pop().__exit__(None, None, None)

        return Phase(begin, end)
