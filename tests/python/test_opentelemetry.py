# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry: the instruments observe what the library writes, under names
that become Prometheus' again, and their numbers arrive by OTLP."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Dict, List

import pytest

pytest.importorskip("PIL")
pytest.importorskip("opentelemetry.sdk.metrics")

from opentelemetry.sdk.metrics import MeterProvider  # noqa: E402
from opentelemetry.sdk.metrics import export  # noqa: E402

from feedline.integrations import opentelemetry  # noqa: E402


@pytest.fixture()
def loader(make: Any) -> Any:
    """A loader that has delivered an epoch."""
    made = make()
    for _ in made:
        pass
    return made


@pytest.fixture()
def read() -> Any:
    """Collects: the metrics by name."""
    reader = export.InMemoryMetricReader()
    provider = MeterProvider([reader])
    opentelemetry.instrument(provider)

    def collect() -> Dict[str, Any]:
        data = reader.get_metrics_data()
        if data is None:
            return {}
        return {
            metric.name: metric
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if scope.scope.name == "feedline"
        }

    yield collect
    provider.shutdown()


def test_values_are_the_library_s(loader: Any, read: Any) -> None:
    metrics = read()
    (point,) = metrics["feedline.samples"].data.data_points
    assert point.value == 24
    assert dict(point.attributes) == {"loader": "0", "rank": "0"}
    assert metrics["feedline.samples"].unit == "{sample}"
    assert metrics["feedline.samples"].data.is_monotonic
    assert metrics["feedline.workers"].data.data_points[0].value == 2
    assert not metrics["feedline.workers"].data.is_monotonic
    waits = metrics["feedline.wait"]
    assert waits.unit == "s"
    causes = {p.attributes["cause"] for p in waits.data.data_points}
    assert {"fetch", "prep_cpu", "slot"} <= causes
    (decoded,) = [
        p.value
        for p in metrics["feedline.stage.items"].data.data_points
        if p.attributes["stage"] == "decode"
    ]
    assert decoded >= 24
    (code,) = [
        p.attributes["code"]
        for p in metrics["feedline.verdict.info"].data.data_points
    ]
    assert code.isupper()


def test_numbers_of_two_loaders_are_told_apart(
    loader: Any, make: Any, read: Any
) -> None:
    another = make()
    next(iter(another))
    points = read()["feedline.batches"].data.data_points
    assert sorted(point.value for point in points) == [1, 6]
    assert len({point.attributes["loader"] for point in points}) == 2
    loader.close()
    another.close()


def test_without_a_loader_there_is_nothing(read: Any) -> None:
    assert read() == {}


def test_a_loader_may_come_later(read: Any, make: Any) -> None:
    for _ in make():
        pass
    assert read()["feedline.batches"].data.data_points[0].value == 6


def test_names_become_those_of_prometheus_again(loader: Any) -> None:
    """By the conventions of OpenTelemetry's own exporter."""
    exporter = pytest.importorskip("opentelemetry.exporter.prometheus")
    client = pytest.importorskip("prometheus_client")
    reader = exporter.PrometheusMetricReader()
    provider = MeterProvider([reader])
    try:
        opentelemetry.instrument(provider)
        text = client.generate_latest(client.REGISTRY).decode()
    finally:
        provider.shutdown()
    theirs = {
        line.split()[2] for line in text.splitlines() if "# TYPE feed" in line
    }
    ours = {
        line.split()[2]
        for line in loader.metrics_text().splitlines()
        if line.startswith("# TYPE")
    }
    named = {one.metric for one in opentelemetry.instruments()}
    assert ours & named <= theirs, ours & named - theirs
    assert len(ours & named) > 40


@pytest.mark.parametrize(
    ("metric", "additive", "expected"),
    [
        ("wall_seconds_total", True, ("feedline.wall", "s", "counter")),
        ("memory_bytes", True, ("feedline.memory", "By", "up_down_counter")),
        ("mixing_ratio", False, ("feedline.mixing_ratio", "1", "gauge")),
        ("stage_bytes_total", True, ("feedline.stage.bytes", "By", "counter")),
        ("cpus_usable", False, ("feedline.cpus_usable", "{core}", "gauge")),
        (
            "gpu_memory_total_bytes",
            False,
            ("feedline.gpu.memory_total", "By", "gauge"),
        ),
    ],
)
def test_names_and_units(metric: str, additive: bool, expected: Any) -> None:
    one = opentelemetry.named(metric, "help", additive)
    assert (one.name, one.unit, one.kind) == expected


def test_every_instrument_has_a_name_of_its_own() -> None:
    found = opentelemetry.instruments()
    assert len(found) > 60
    assert len({one.name for one in found}) == len(found)
    for one in found:
        assert one.name.startswith("feedline.") and one.help
        # A plain count says of what.
        assert one.unit or one.name == "feedline.verdict.info", one


# ---- OTLP ------------------------------------------------------------------


class Receiver(HTTPServer):
    """Takes what an exporter posts, as a collector does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: List[bytes] = []


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.bodies.append(self.rfile.read(length))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *unused: Any) -> None:
        pass


def test_they_arrive_by_otlp(loader: Any, no_proxy: None) -> None:
    otlp = pytest.importorskip(
        "opentelemetry.exporter.otlp.proto.http.metric_exporter"
    )
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2

    receiver = Receiver()
    thread = threading.Thread(target=receiver.serve_forever)
    thread.start()
    try:
        exporter = otlp.OTLPMetricExporter(
            "http://127.0.0.1:%d/v1/metrics" % receiver.server_port
        )
        provider = MeterProvider(
            [export.PeriodicExportingMetricReader(exporter, 3600e3)]
        )
        opentelemetry.instrument(provider)
        assert provider.force_flush(60000)
        provider.shutdown()
    finally:
        receiver.shutdown()
        receiver.server_close()
        thread.join()
    request = metrics_service_pb2.ExportMetricsServiceRequest()
    request.ParseFromString(receiver.bodies[0])
    metrics = {
        metric.name: metric
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    (point,) = metrics["feedline.samples"].sum.data_points
    assert point.as_double == 24
