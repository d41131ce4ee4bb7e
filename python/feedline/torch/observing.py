# SPDX-License-Identifier: Apache-2.0
"""What a DataLoader says about itself; see views.py.

Natively that is what its engine says. While torch loads the samples a meter
around torch's iterators counts (watching.py), and texts begin with the reason.
Before the first epoch there is nothing to tell: numbers are refused, words say
it, and phases do nothing, so a training script needs no `if` around them.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Generic, List, Optional, TextIO, TypeVar, cast

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


F = TypeVar("F", bound=Callable[..., Any])


def counted(method: F) -> F:
    """Calls the method of this name of who counts the batches; StateError
    before the first epoch."""

    @functools.wraps(method)
    def call(self: "Observing", *arguments: Any, **named: Any) -> Any:
        theirs = getattr(self._counting(), method.__name__)
        return theirs(*arguments, **named)

    return cast(F, call)


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

    stats = counted(Observable.stats)
    tuner_text = counted(Observable.tuner_text)
    table = counted(Observable.table)
    trace_save = counted(Observable.trace_save)

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
        """Shows this loader while another thread iterates; see views.top.

        seconds=0: only returns one screen; None: until Ctrl-C. Before the first
        epoch it returns that.
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

        return Phase(begin, end)
