# SPDX-License-Identifier: Apache-2.0
"""progress: a bar with rate, remaining time, and what is waited for.

    for batch in feedline.progress(loader):
        train(batch)

    45%|####5     | 450/1000 [00:12<00:15, 36.1batch/s, waits 83%: reading]

Counting, smoothing and the format are tqdm's, which nearly every environment
for training has, and which is asked for only here. Ours are the words about
waits, and where lines go when there is no terminal: into a notebook's cell
without widgets, and into a log as a line now and then, where tqdm would write
one endless line.
"""

from __future__ import annotations

import html
import sys
import time
from functools import lru_cache
from typing import Any, Callable, Dict, Generic, Iterable, Iterator, Optional
from typing import TextIO, TypeVar, cast

from . import views
from .errors import NotSupported, as_also
from .observable import Observable
from .watching import watch

T = TypeVar("T")

# Between two looks at the statistics, which take a fraction of a millisecond.
_LOOK_SECONDS = 1.0
# Between two lines in a log, and two pictures in a notebook.
_LOG_SECONDS = 10.0
_NOTEBOOK_SECONDS = 0.25
_WIDE = 100  # columns


# ---- What is waited for -----------------------------------------------------


def waiting(stats: views.Stats, before: Optional[views.Stats]) -> str:
    """ "waits 83%: reading", of the time between two statistics.

    Of a watched loader, whose inside nobody sees, "waits 83%".
    """
    share = views.rates(stats, before)["wait_fraction"]
    words = "waits %.0f%%" % (100 * share)
    if share < 0.005:  # what is rounded to 0 needs no cause
        return words
    now = stats["stall"]["buckets"]
    then = before["stall"]["buckets"] if before is not None else {}
    grown = {name: now[name] - then.get(name, 0.0) for name in now}
    largest = max(grown, key=lambda name: grown[name])
    if grown[largest] <= 0 or largest == "residual":
        return words
    return "%s: %s" % (words, views.bucket_words(largest))


class _Words:
    """What we add about a loader, renewed once a second at most. Any thread.

    rate: of samples a second, for which a narrow terminal has no room.
    """

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._before = self._stats()
        self._looked = time.monotonic()
        self._known = False
        self.rate = ""
        self.waits = ""

    def _stats(self) -> Optional[Dict[str, Any]]:
        try:
            return cast(Dict[str, Any], self._loader.stats())
        except RuntimeError:  # not iterated so far; closed; in another process
            return None

    def _got_batches(self, stats: views.Stats) -> bool:
        then = self._before["stats"]["batches"] if self._before else 0
        return bool(stats["stats"]["batches"] > then)

    def renew(self) -> None:
        """At the end, too, of an epoch that took less than a second."""
        now = time.monotonic()
        due = now - self._looked >= _LOOK_SECONDS
        if self._known and not due:
            return
        stats = self._stats()
        if stats is None or not (due or self._got_batches(stats)):
            return
        samples = views.rates(stats, self._before)["samples_per_second"]
        self.rate = "%.0f samples/s" % samples if samples else ""
        self.waits = waiting(stats, self._before)
        self._before, self._looked, self._known = stats, now, True


# ---- Where the bar is shown -------------------------------------------------


class _Nowhere:
    """For what tqdm writes around its lines: control characters."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


Show = Callable[[Any], None]  # gets the bar

# tqdm's format without its bar of characters.
_NO_BAR = (
    "{desc}{percentage:3.0f}% {n_fmt}/{total_fmt} "
    "[{elapsed}<{remaining}, {rate_fmt}{postfix}]"
)


def line_of(bar: Any) -> str:
    """tqdm's line, without the bar of characters."""
    parts = dict(bar.format_dict)
    if bar.total and parts["bar_format"] is None:
        parts["bar_format"] = _NO_BAR
        if parts["prefix"] and not parts["prefix"].endswith(": "):
            parts["prefix"] += ": "
    return str(bar.format_meter(**parts))


def _in_log(out: TextIO) -> Show:
    """A line each time; the last batch's is the end's, too."""
    last = [-1]

    def show(bar: Any) -> None:
        if not hasattr(bar, "start_t") or (bar.disable and bar.n == last[0]):
            return  # not begun, or told already
        last[0] = bar.n
        out.write(line_of(bar) + "\n")
        out.flush()

    return show


def _in_notebook(display: Callable[[Dict[str, str]], None]) -> Show:
    """One picture, in place of the last, with the browser's own bar."""

    def show(bar: Any) -> None:
        line = line_of(bar)
        picture = ""
        if bar.total:
            picture = (
                '<progress aria-label="batches" '
                'style="width:12em;vertical-align:middle" '
                'value="%d" max="%d"></progress> ' % (bar.n, bar.total)
            )
        page = '<div style="font-family:monospace">%s%s</div>'
        display(
            {
                "text/plain": line,
                "text/html": page % (picture, html.escape(line)),
            }
        )

    return show


@lru_cache(maxsize=None)
def _bar_class() -> Any:
    """tqdm's class, with our words and places. Made when a bar is asked for."""
    try:
        from tqdm.std import tqdm
    except ImportError as missing:
        raise as_also(
            NotSupported("feedline.progress needs tqdm: pip install tqdm"),
            missing,
        )

    class Bar(tqdm):  # type: ignore[misc, unused-ignore]
        def __init__(
            self, words: _Words, show: Optional[Show], **options: Any
        ) -> None:
            self._feedline_words = words
            self._feedline_show = show
            super().__init__(**options)

        @property
        def format_dict(self) -> Any:
            found = super().format_dict
            ours = self._feedline_words
            ours.renew()
            narrow = found["ncols"] and found["ncols"] < _WIDE
            rate = "" if narrow else ours.rate
            words = (rate, found["postfix"], ours.waits)
            found["postfix"] = ", ".join(filter(None, words))
            return found

        def display(
            self, msg: Optional[str] = None, pos: Optional[int] = None
        ) -> Any:
            if self._feedline_show is None:
                return super().display(msg, pos)
            if msg is None:  # "" takes a line away, which a log keeps
                self._feedline_show(self)
            return True

    return Bar


def _made(loader: Any, options: Dict[str, Any]) -> Any:
    """tqdm's object for one pass over the loader."""
    out = options.pop("file", None)
    notebook = views.notebook_display() if out is None else None
    out = out or sys.stderr
    found: Dict[str, Any] = dict(unit="batch", file=out)
    show: Optional[Show] = None
    if notebook is not None:
        show = _in_notebook(notebook)
        found.update(mininterval=_NOTEBOOK_SECONDS, file=_Nowhere())
    elif not out.isatty():
        show = _in_log(out)
        found.update(mininterval=_LOG_SECONDS, file=_Nowhere())
        found["maxinterval"] = options.get("mininterval", _LOG_SECONDS)
    # Batches of this epoch that came in an earlier run.
    delivered = getattr(loader, "_feedline_delivered", None)
    found["initial"] = delivered() if delivered is not None else 0
    found.update(options)
    return _bar_class()(_Words(loader), show, iterable=loader, **found)


# ---- The public part ---------------------------------------------------------


class Progress(Generic[T]):
    """What progress() returns: iterate it in place of the loader.

    Attributes:
        loader: what is iterated, with stats() and explain(): the loader that
        was
            given, or a Watch of it if it was none of feedline's.
        bar: tqdm's object while an epoch lasts, else None.
    """

    def __init__(
        self, loader: Iterable[T], options: Optional[Dict[str, Any]] = None
    ) -> None:
        """loader: with stats(). options: of tqdm."""
        _bar_class()  # says at once that there is no tqdm
        self.loader: Any = loader
        self.bar: Any = None
        self._options = dict(options or {})

    def __iter__(self) -> Iterator[T]:
        """One epoch, with a bar of its own, which stays behind it."""
        bar = self.bar = _made(self.loader, dict(self._options))
        try:
            yield from bar
        finally:
            bar.close()
            if self.bar is bar:
                self.bar = None

    def __len__(self) -> int:
        return len(self.loader)

    def set_description(self, desc: str) -> None:
        """The words in front of the bar, of this epoch and the next ones.

        desc: such as "epoch 3".
        """
        self._options["desc"] = desc
        if self.bar is not None:
            self.bar.set_description(desc)

    def set_postfix(self, **values: Any) -> None:
        """Values behind the bar, as set_postfix(loss=0.25), until the epoch
        ends.

        values: numbers, or anything else with a str().
        """
        if self.bar is not None:
            self.bar.set_postfix(refresh=False, **values)

    def __repr__(self) -> str:
        return "<feedline.progress of %r>" % (self.loader,)


def progress(loader: Iterable[T], **options: Any) -> Progress[T]:
    """A progress bar for any loader, with rate, remaining time, and the share
    of the time that the program waited for batches, and for what.

        for batch in feedline.progress(loader, desc="epoch 3"):
            train(batch)

    loader: a feedline.Loader or feedline.torch.DataLoader, or any other
        iterable, which is watched (feedline.watch): its waits have no causes.
    options: those of tqdm.tqdm: desc, total, initial, leave, disable, file,
        position, mininterval ... Without a terminal and outside a notebook it
        writes a line every 10 seconds (mininterval), and one at the end.

    It writes to sys.stderr, or `file`, and shows itself in a notebook's cell.
    With several ranks, give all but one disable=True.

    Raises NotSupported, which is an ImportError too, where tqdm is not
    installed, and TypeError for what cannot be iterated.
    """
    observed = isinstance(loader, Observable)
    if not observed and not hasattr(loader, "_feedline_observed"):
        loader = watch(loader)
    return Progress(loader, options)
