# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry: the statistics as observable instruments (`feedline[otel]`).

    from feedline.integrations import opentelemetry
    opentelemetry.instrument()         # with the program's own MeterProvider

Every metric of all loaders of the process, whenever a reader of the SDK asks:
no thread of ours, nothing measured twice. Names and units follow its
conventions ("feedline.wait" in "s"), such that a collector that writes them for
Prometheus makes the names of docs/live.md of them again: one dashboard serves
both.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider
from opentelemetry.metrics import Observation, get_meter_provider

import feedline

from ..metric_families import PREFIX, Family, families, of_process, rows

# Ends of Prometheus' names, and the units that they stand for.
UNITS = {
    "seconds": "s",
    "bytes": "By",
    "watts": "W",
    "celsius": "Cel",
    "hertz": "Hz",
}
# What else is counted, and how one of it is called: a unit in braces is no part
# of Prometheus' names.
THINGS = {
    "batches": "{batch}",
    "samples": "{sample}",
    "reads": "{read}",
    "requests": "{request}",
    "hedges": "{request}",
    "waits": "{wait}",
    "errors": "{error}",
    "mcus": "{block}",
    "items": "{item}",
    "workers": "{worker}",
    "cores": "{core}",
    "cpus": "{core}",
    "trials": "{trial}",
    "rolled": "{trial}",
    "decisions": "{decision}",
}
NAMESPACES = ("stage", "tuner", "gpu", "verdict")
# Parts of a summary, which there is no instrument for.
RENAMED = {
    "stage_seconds_sum": "stage_busy_seconds_total",
    "stage_seconds_count": "stage_items_total",
}
AGE_S = 0.2  # the instruments of one collection see one moment

# What the library writes beside its table: name, help, whether it is additive.
BESIDE = (
    ("stage_seconds_sum", "Time that threads of a stage worked.", True),
    ("stage_seconds_count", "Items that left a stage.", True),
    ("verdict_info", "The verdict, as attributes of a 1.", False),
    ("verdict_predicted_gain_ratio", "What its action gains at most.", False),
)


class Instrument(NamedTuple):
    """metric: of Prometheus, whose values are observed. kind: "counter",
    "up_down_counter" or "gauge"."""

    metric: str
    name: str
    unit: str
    kind: str
    help: str


def instrument(meter_provider: Optional[MeterProvider] = None) -> None:
    """Creates the instruments, once for a provider.

    meter_provider: None is the program's own, which may be set later.
    """
    provider = meter_provider or get_meter_provider()
    meter = provider.get_meter("feedline", feedline.__version__)
    moment = Moment()
    for one in instruments():
        create(meter, one, moment)


def instruments() -> List[Instrument]:
    """What there is to observe."""
    found = [named(row.name, row.help, row.additive) for row in rows()]
    return found + [named(*one) for one in BESIDE]


def named(metric: str, help: str, additive: bool) -> Instrument:
    """By OpenTelemetry's conventions: neither a unit nor "total" in a name."""
    name, kind = RENAMED.get(metric, metric), "gauge"
    # gpu_memory_total_bytes is a gauge.
    if name.endswith("_total"):
        name, kind = name[: -len("_total")], "counter"
    elif additive:
        kind = "up_down_counter"
    space, _, rest = name.partition("_")
    if space in NAMESPACES:
        name = space + "." + rest
    head, _, last = name.rpartition("_")
    unit = UNITS.get(last, "")
    if last == "ratio":
        unit = "1"  # and the name as it is: not every exporter appends it
    elif unit:
        name = head
    else:
        words = name.replace(".", "_").split("_")
        unit = next((THINGS[word] for word in words if word in THINGS), "")
        unit = unit or UNITS.get(words[-1], "")
    return Instrument(PREFIX + metric, "feedline." + name, unit, kind, help)


def create(meter: Meter, one: Instrument, moment: "Moment") -> None:
    """The observable instrument for one metric."""
    make: Callable[..., Any] = getattr(meter, "create_observable_" + one.kind)

    def observe(options: CallbackOptions) -> Iterator[Observation]:
        return moment.observations(one.metric)

    make(one.name, [observe], one.unit, one.help)


class Moment:
    """All metrics at one moment. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read_at = -AGE_S
        self._samples: Dict[str, List[Observation]] = {}

    def observations(self, metric: str) -> Iterator[Observation]:
        """Of one metric, of all loaders."""
        with self._lock:
            if time.monotonic() - self._read_at > AGE_S:
                self._samples = _by_name(families(of_process()))
                self._read_at = time.monotonic()
            return iter(self._samples.get(metric, ()))


def _by_name(found: List[Family]) -> Dict[str, List[Observation]]:
    samples: Dict[str, List[Observation]] = {}
    for family in found:
        for name, labels, value in family.samples:
            # Which process it is, a resource says.
            attributes = {k: v for k, v in labels.items() if k != "pid"}
            samples.setdefault(name, []).append(Observation(value, attributes))
    return samples
