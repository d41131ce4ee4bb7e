# SPDX-License-Identifier: Apache-2.0
"""What a DataLoader says about itself; see views.py.

Natively that is what its engine says. While torch loads the samples a meter
around torch's iterators counts (watching.py), and texts begin with the reason.
Before the first epoch there is nothing to tell: numbers are refused, words say
it, and phases do nothing, so a training script needs no `if` around them.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Generic, List, Optional, TextIO, TypeVar

import feedline

from .. import views
from ..observable import Observable, Phase
from ..profiling import why_no_engine
from ..views import Verdict
from .decision import IN_PART

# ---- Attributes -------------------------------------------------------------

T = TypeVar("T")


class readable(Generic[T]):
    """Decorator of a method: read as an attribute, computed each time.

    Unlike a property it may be hidden by an attribute of the object: a
    subclass of DataLoader may well set an `engine`.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Any, owner: Optional[type] = None) -> T:
        if instance is None:
            return self  # type: ignore[return-value]
        return self._compute(instance)


class Observing:
    """Statistics, words and views of a loader that has an engine at times."""

    # The DataLoader's.
    fallback_reasons: readable[List[str]]
    partly_native: readable[bool]

    def _feedline_observed(self) -> Optional[Observable]:
        """Who counts the batches; None before the first epoch."""
        raise NotImplementedError

    def _feedline_about_python(self) -> str:
        """Of samples that the program's Python makes: what that costs, and how
        many processes there are for it."""
        raise NotImplementedError

    def _counting(self) -> Observable:
        observed = self._feedline_observed()
        if observed is None:
            raise feedline.StateError(why_no_engine(self))
        return observed

    # As a feedline.Loader has them; StateError before the first epoch.

    def stats(self, flat: bool = False) -> Dict[str, Any]:
        """All statistics since the start or reset_stats(), with the verdict
        (docs/statistics.md).

        flat=True: in one level of floats, {"feedline/wait_fraction": 0.03,
        ...}, for writer.add_scalar and wandb.log.
        """
        return self._counting().stats(flat)

    def tuner_text(self) -> str:
        """What the tuner did and why, as lines of text."""
        return self._counting().tuner_text()

    def metrics_text(self) -> str:
        """The loader's metrics, in Prometheus' text format (docs/live.md)."""
        return self._counting().metrics_text()

    def table(self, sort_by: Optional[str] = None, row_limit: int = 0) -> str:
        """Stages and phases as lines of text.

        sort_by: a column, such as "busy" or "p99"; None: in processing order.
        row_limit: 0 is all rows.
        """
        return self._counting().table(sort_by, row_limit)

    def trace_save(self, path: "str | os.PathLike[str]") -> None:
        """Writes a trace for ui.perfetto.dev. path: of the file."""
        self._counting().trace_save(path)

    def reset_stats(self) -> None:
        """Statistics begin anew; nothing to do before the first epoch."""
        observed = self._feedline_observed()
        if observed is not None:
            observed.reset_stats()

    def explain(self) -> str:
        """Why torch loads the samples, where it does; what limits the loader
        and what to do about it, what each operation costs, and what the tuner
        did."""
        observed = self._feedline_observed()
        if observed is None:
            return why_no_engine(self)
        reasons, words = self.fallback_reasons, observed.explain()
        if not reasons:
            return words + self._feedline_about_python()
        end = IN_PART if self.partly_native else ""
        if len(reasons) == 1:
            why = "as %s%s." % (reasons[0], end)
        else:
            lines = "".join("\n- %s" % reason for reason in reasons)
            why = "for %d reasons%s:%s" % (len(reasons), end, lines)
        words += self._feedline_about_python()
        return "torch loads the samples, %s\n%s" % (why, words)

    @readable
    def verdict(self) -> Verdict:
        """What the statistics mean; StateError as with stats()."""
        return self._counting().verdict

    def top(
        self,
        seconds: Optional[float] = None,
        interval: float = 1.0,
        out: Optional[TextIO] = None,
    ) -> str:
        """Shows this loader while another thread iterates, and returns the last
        screen; before the first epoch it only says that.

        seconds: how long; None: until Ctrl-C; 0: only returns a screen.
        interval: seconds between two screens. out: a text file, None: the
        notebook's cell, or sys.stdout.
        """
        if self._feedline_observed() is None:
            return why_no_engine(self)
        return views.top(self, seconds, interval, out)

    def _repr_html_(self) -> str:
        return views.repr_html(self)

    def phase(self, name: str) -> Phase:
        """A context: what the training loop does in it is called `name`, in
        statistics and traces; see feedline.Loader.phase."""
        begun: List[Phase] = []

        def begin() -> None:
            observed = self._feedline_observed()
            if observed is not None:
                begun.append(observed.phase(name).__enter__())

        def end() -> None:
            if begun:
                begun.pop().__exit__()

        return Phase(name, begin, end)
