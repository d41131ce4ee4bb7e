# SPDX-License-Identifier: Apache-2.0
"""What the library writes in Prometheus' text format, read again: for whoever
hands the same metrics on by another way.

One text is one loader. The families of several loaders become one each, as
every endpoint has to have them.
"""

from __future__ import annotations

import ctypes
import re
from typing import Dict, Iterable, Iterator, List, NamedTuple

from . import _c, lifetime
from ._library import lib
from .errors import Error, read_text
from .observable import Observable

PREFIX = "feedline_"
# Parts of the table of statistics whose rows have metrics.
PARTS = "stats stall stages workers transfer tuner queue machine gpu".split()

_SAMPLE = re.compile(r"(\w+)\{(.*)\} (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


class Sample(NamedTuple):
    """A value of a family; name: the family's, or with _sum or _count."""

    name: str
    labels: Dict[str, str]
    value: float


class Family(NamedTuple):
    """Metrics of one name. kind: "counter", "gauge" or "summary"."""

    name: str
    kind: str
    help: str
    samples: List[Sample]


class Row(NamedTuple):
    """A metric of the table of statistics; name: behind "feedline_".
    additive: those of several ranks add up."""

    name: str
    help: str
    additive: bool


# ---- Texts -------------------------------------------------------------------


def of_process() -> List[str]:
    """The texts of all loaders of this process, and of what it watches."""
    found = []
    for loader in lifetime.all_live():
        if not isinstance(loader, Observable) or getattr(
            loader, "closed", False
        ):
            continue
        try:
            found.append(loader.metrics_text())
        except Error:  # closed meanwhile, or the parent's of this process
            continue
    return found


def of_host() -> List[str]:
    """The texts of all loaders of this host that this user may look at, by
    their live pages: whatever their programs are written in."""
    return [text for text in map(_text_of, list(_pages())) if text]


def _pages() -> Iterator["tuple[int, int]"]:
    info, index = _c.live_info(), 0
    while lib.live_list(index, info) == _c.OK:
        yield info.pid, info.loader
        index += 1


def _text_of(page: "tuple[int, int]") -> str:
    """Empty where it is gone."""
    live = ctypes.c_void_p()
    if lib.live_attach(*page, live) < 0:
        return ""
    try:
        return read_text(lib.live_metrics, live)
    except Error:
        return ""
    finally:
        lib.live_detach(live)


# ---- Families ----------------------------------------------------------------


def families(texts: Iterable[str]) -> List[Family]:
    """Of several texts, in the order of the first that has each."""
    found: Dict[str, Family] = {}
    for text in texts:
        kinds: Dict[str, str] = {}
        helps: Dict[str, str] = {}
        family = None
        for line in text.splitlines():
            if line.startswith("# "):
                word, name, rest = line[2:].split(" ", 2)
                (helps if word == "HELP" else kinds)[name] = rest
                if word == "TYPE":
                    family = found.setdefault(
                        name, Family(name, rest, helps.get(name, ""), [])
                    )
            elif family is not None:
                family.samples.append(_sample(line))
    return list(found.values())


def _sample(line: str) -> Sample:
    match = _SAMPLE.fullmatch(line)
    if match is None:
        raise ValueError("no line of Prometheus' text format: %r" % line)
    name, labels, value = match.groups()
    return Sample(
        name,
        {key: _unescaped(text) for key, text in _LABEL.findall(labels)},
        float(value),
    )


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(
        lambda match: "\n" if match.group(1) == "n" else match.group(1), text
    )


def rows() -> List[Row]:
    """Every metric of the table of statistics, once."""
    found: Dict[str, Row] = {}
    info = _c.stat_info()
    for part in PARTS:
        index = 0
        while lib.stat_get_info(part.encode(), index, info) == _c.OK:
            name = info.metric.decode().split("{")[0]
            if name and name not in found:
                found[name] = Row(
                    name, info.help.decode(), info.merge == _c.MERGE_SUM
                )
            index += 1
    return list(found.values())
