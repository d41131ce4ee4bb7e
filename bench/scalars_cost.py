#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a loader's numbers cost where they are sent: CPU time of the thread that
sends, per call, the median of rounds.

    PYTHONPATH=python python3 bench/scalars_cost.py FOLDER

CPU time and no wall time, so that a busy machine hardly matters. FOLDER: of
images, as feedline.Dataset.open takes it.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any, Callable

import feedline
from feedline import metric_families
from feedline.integrations.scalars import Scalars

ROUNDS = 15


def cost(function: Callable[[], Any], calls: int) -> float:
    """Microseconds of CPU time a call."""
    rounds = []
    for _ in range(ROUNDS):
        begin = time.thread_time_ns()
        for _ in range(calls):
            function()
        rounds.append((time.thread_time_ns() - begin) / calls / 1e3)
    return statistics.median(rounds)


def show(what: str, microseconds: float) -> None:
    print("%-52s %9.2f us" % (what, microseconds))


def scrapes(texts: Callable[[], Any]) -> None:
    """What an endpoint and a reader of OpenTelemetry do, where they are
    installed."""
    try:
        from prometheus_client import CollectorRegistry, generate_latest

        from feedline.integrations.prometheus import Collector

        registry = CollectorRegistry()
        registry.register(Collector(texts))
        show(
            "a scrape of Prometheus",
            cost(lambda: generate_latest(registry), 20),
        )
    except ImportError as error:
        print("no scrape: %s" % error)
    try:
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader

        from feedline.integrations import opentelemetry

        opentelemetry.AGE_S = 3600.0
        reader = InMemoryMetricReader()
        opentelemetry.instrument(MeterProvider([reader]))
        show(
            "a collection of OpenTelemetry, but for the text",
            cost(reader.get_metrics_data, 20),
        )
    except ImportError as error:
        print("no collection: %s" % error)


def main() -> None:
    data = feedline.Dataset.open("folder:" + sys.argv[1])
    with feedline.Loader(
        data, feedline.Pipeline("train"), batch_size=8
    ) as loader:
        for _ in loader:
            pass
        scalars = Scalars(loader, lambda values, step: None)
        scalars.step(1)
        show("step() between two points", cost(lambda: scalars.step(2), 20000))
        show("stats(), most of a point", cost(loader.stats, 100))
        show("metrics_text()", cost(loader.metrics_text, 100))
        text = loader.metrics_text()
        show(
            "read as families",
            cost(lambda: metric_families.families([text]), 50),
        )
        scrapes(metric_families.of_process)


if __name__ == "__main__":
    main()
