# SPDX-License-Identifier: Apache-2.0
"""Prometheus: /metrics over HTTP, by its own client (`feedline[prometheus]`).

    from feedline.integrations import prometheus
    prometheus.serve(9464)                # all loaders of this process

    python -m feedline.integrations.prometheus --port 9464      # of this host

The second one needs no change of the training: it reads the live pages of every
process of this user, in Python or C, all ranks of a host at one address. Where
a program has an endpoint already, `REGISTRY.register(Collector())` adds ours.
The names are those of the metrics file (docs/live.md). Nothing listens unless
it is called for, and then to this machine only, unless an address is given.
"""

from __future__ import annotations

import argparse
import sys
import threading
from typing import Any, Callable, Iterable, Iterator, List, Optional

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import Metric
from prometheus_client.registry import Collector as Base

from .. import metric_families
from ..metric_families import of_host, of_process

PORT = 9464  # OpenTelemetry's for endpoints of this kind
HERE = "127.0.0.1"


class Collector(Base):
    """The metrics of loaders, as they are when Prometheus asks.

    texts: which loaders; metric_families.of_process or of_host.
    """

    def __init__(self, texts: Callable[[], Iterable[str]] = of_process) -> None:
        self._texts = texts

    def collect(self) -> Iterator[Metric]:
        """One metric for each family."""
        for family in metric_families.families(self._texts()):
            name = family.name
            if family.kind == "counter":
                name = name[: -len("_total")]
            metric = Metric(name, family.help, family.kind)
            for sample in family.samples:
                metric.add_sample(sample.name, sample.labels, sample.value)
            yield metric

    def describe(self) -> List[Metric]:
        """Nothing: there may be no loader yet when this is registered."""
        return []


def serve(
    port: int = PORT,
    address: str = HERE,
    texts: Callable[[], Iterable[str]] = of_process,
) -> Any:
    """Serves http://address:port/metrics on a thread of its own.

    address: "" is every address of this machine. Returns prometheus_client's
    pair of server and thread; `pair[0].shutdown()` ends it. OSError: the port
    is taken.
    """
    registry = CollectorRegistry()
    registry.register(Collector(texts))
    return start_http_server(port, address, registry)


def main(arguments: Optional[List[str]] = None) -> int:
    """All loaders of this host, until Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m feedline.integrations.prometheus",
        description="serves the metrics of all feedline loaders of this user "
        "on this host at /metrics",
    )
    parser.add_argument("--port", type=int, default=PORT, help="[%(default)s]")
    parser.add_argument(
        "--address",
        default=HERE,
        help="where to listen; 0.0.0.0: everywhere [%(default)s]",
    )
    args = parser.parse_args(arguments)
    try:
        serve(args.port, args.address, of_host)
    except OSError as error:
        sys.stderr.write("%s:%d: %s\n" % (args.address, args.port, error))
        return 1
    sys.stdout.write("http://%s:%d/metrics\n" % (args.address, args.port))
    sys.stdout.flush()
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
