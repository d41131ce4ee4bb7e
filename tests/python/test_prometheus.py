# SPDX-License-Identifier: Apache-2.0
"""Prometheus' endpoint: what its client serves is what the library wrote, of
this process and of every process of the host, in any language; and what
Prometheus itself makes of it, where it is installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest

pytest.importorskip("PIL")
pytest.importorskip("prometheus_client")

from prometheus_client import parser  # noqa: E402

from feedline import metric_families  # noqa: E402
from feedline.integrations import prometheus  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 60.0


@pytest.fixture()
def loader(make: Any) -> Any:
    """A loader that has delivered an epoch."""
    made = make(rank=1, world=2)
    for _ in made:
        pass
    return made


def get(address: str) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(address, timeout=LIMIT_S) as answer:
        return str(answer.read().decode())


def values(text: str, pid: int) -> Dict[str, float]:
    """Values of a process, by name and labels other than the process's."""
    found = {}
    for family in parser.text_string_to_metric_families(text):
        for sample in family.samples:
            labels = dict(sample.labels)
            if labels.pop("pid") == str(pid):
                rest = tuple(sorted(labels.items()))
                found["%s%s" % (sample.name, rest)] = sample.value
    return found


# ---- Families --------------------------------------------------------------


def test_families_are_those_of_the_text(loader: Any) -> None:
    """As the client's own parser reads it, to the last label."""
    text = loader.metrics_text()
    theirs = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }
    found = metric_families.families([text])
    ours = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in found
        for sample in family.samples
    }
    assert ours == theirs and len(ours) > 80
    for family in found:
        assert family.kind in ("counter", "gauge", "summary")
        assert "# HELP %s %s\n" % (family.name, family.help) in text
    assert len({family.name for family in found}) == len(found)


def test_label_values_are_whatever_they_are() -> None:
    text = (
        "# HELP feedline_x Help.\n# TYPE feedline_x gauge\n"
        'feedline_x{a="1",b="a\\"b\\\\c, {}=\\n"} 2.5\n'
    )
    (family,) = metric_families.families([text])
    assert family == (
        "feedline_x",
        "gauge",
        "Help.",
        [("feedline_x", {"a": "1", "b": 'a"b\\c, {}=\n'}, 2.5)],
    )
    with pytest.raises(ValueError, match="no line of Prometheus"):
        metric_families.families([text + "feedline_x 3\n"])


def test_every_row_of_the_table_is_one_metric(loader: Any) -> None:
    rows = {row.name: row for row in metric_families.rows()}
    assert rows["memory_bytes"].additive
    assert not rows["first_batch_seconds"].additive
    families = metric_families.families([loader.metrics_text()])
    names = {f.name[len("feedline_") :] for f in families}
    assert len(names & set(rows)) > 40


# ---- Endpoint --------------------------------------------------------------


def test_the_endpoint_serves_all_loaders_of_the_process(
    loader: Any, make: Any
) -> None:
    another = make()
    next(iter(another))
    server, thread = prometheus.serve(0)
    try:
        text = get("http://127.0.0.1:%d/metrics" % server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join(LIMIT_S)
    batches = {
        name: value
        for name, value in values(text, os.getpid()).items()
        if name.startswith("feedline_batches_total")
    }
    assert sorted(batches.values()) == [1.0, 3.0]
    assert any("'rank', '1'" in name for name in batches)
    assert text.count("# TYPE feedline_batches_total counter\n") == 1
    mine = values(loader.metrics_text(), os.getpid())
    same = [k for k, v in mine.items() if values(text, os.getpid())[k] == v]
    assert len(same) > 50  # all but those that time changes


def test_a_closed_loader_is_not_served(loader: Any) -> None:
    loader.close()
    collector = prometheus.Collector()
    assert list(collector.collect()) == []
    assert collector.describe() == []


def test_a_taken_port_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        program = [sys.executable, "-m", "feedline.integrations.prometheus"]
        done = subprocess.run(
            [*program, "--port", str(port)],
            stderr=subprocess.PIPE,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("127.0.0.1:%d: " % port)
    assert "Address already in use" in done.stderr


@pytest.fixture()
def exporter() -> Iterator[str]:
    """The program that serves all loaders of this host; its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "feedline.integrations.prometheus"]
        + ["--port", str(free_port())],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == 0
        process.stdout.close()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_the_host_is_served_by_another_process(
    loader: Any, exporter: str
) -> None:
    """From the pages, which follow the loader within a second."""
    end = time.monotonic() + LIMIT_S
    while True:
        found = values(get(exporter), os.getpid())
        batches = [
            value
            for name, value in found.items()
            if name.startswith("feedline_batches_total")
        ]
        if batches == [3.0]:
            break
        assert time.monotonic() < end, found
        time.sleep(0.05)
    assert any("verdict_info" in name for name in found)
    assert not any("stage_seconds" in name for name in found)


# ---- Prometheus itself -----------------------------------------------------


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip("no %s: package prometheus" % name)
    return found


def test_promtool_finds_nothing_wrong(loader: Any) -> None:
    done = subprocess.run(
        [program("promtool"), "check", "metrics"],
        input=loader.metrics_text(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


class Server:
    """A Prometheus that scrapes an address each second."""

    def __init__(self, folder: Path, target: str) -> None:
        config = {
            "global": {"scrape_interval": "1s"},
            "scrape_configs": [
                {
                    "job_name": "feedline",
                    "static_configs": [{"targets": [target]}],
                }
            ],
        }
        path = folder / "prometheus.yml"
        path.write_text(json.dumps(config))  # YAML has all of JSON
        self.address = "127.0.0.1:%d" % free_port()
        self.log = open(folder / "log", "w")
        self.process = subprocess.Popen(
            [
                program("prometheus"),
                "--config.file=%s" % path,
                "--storage.tsdb.path=%s" % (folder / "data"),
                "--web.listen-address=%s" % self.address,
            ],
            stdout=self.log,
            stderr=self.log,
        )

    def query(self, expression: str) -> List[Any]:
        """What an expression gives now; its error is an AssertionError."""
        words = urllib.parse.urlencode({"query": expression})
        url = "http://%s/api/v1/query?%s" % (self.address, words)
        answer = json.loads(get(url))
        assert answer["status"] == "success", answer
        found: List[Any] = answer["data"]["result"]
        return found

    def wait_for(self, expression: str) -> List[Any]:
        end = time.monotonic() + LIMIT_S
        while True:
            try:
                found = self.query(expression)
            except OSError:  # it starts
                found = []
            if found:
                return found
            assert time.monotonic() < end, expression
            time.sleep(0.2)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(LIMIT_S)
        self.log.close()


def alert() -> str:
    """The expression of the alert in docs/live.md."""
    page = (ROOT / "docs" / "live.md").read_text()
    found = re.search(r"^    (sum without\(cause\)[^#]*?)$\n\n", page, re.M)
    assert found
    return found.group(1)


def dashboard_queries() -> List[str]:
    """Of every panel, and of the choices above them."""
    path = ROOT / "examples" / "grafana" / "feedline.json"
    board = json.loads(path.read_text())
    found = [
        target["expr"]
        for panel in board["panels"]
        for target in panel.get("targets", [])
    ]
    assert len(found) > 10
    chosen = {"$job": "feedline", "$rank": ".*", "$__rate_interval": "5s"}
    for name, value in chosen.items():
        found = [text.replace(name, value) for text in found]
    assert not any("$" in text for text in found), found
    return found


def test_prometheus_answers_every_query_of_ours(
    make: Any, tmp_path: Path
) -> None:
    """The alert of docs/live.md and the dashboard, over a loader that is waited
    for; no panel is empty, but for those of a GPU."""
    program("prometheus")
    pair = prometheus.serve(0)
    server = Server(tmp_path, "127.0.0.1:%d" % pair[0].server_port)
    try:
        loader = make()
        end = time.monotonic() + 6.0
        while time.monotonic() < end:
            for _ in loader:
                time.sleep(0.01)
        server.wait_for("feedline_batches_total > 1")
        server.wait_for("rate(feedline_batches_total[5s]) > 0")
        assert server.query('up{job="feedline"}')[0]["value"][1] == "1"
        ratio = alert().rsplit(" > ", 1)[0].replace("5m", "5s")
        (found,) = server.query(ratio)
        assert found["metric"]["rank"] == "0"
        assert 0 <= float(found["value"][1]) <= 1
        for expression in dashboard_queries():
            found = server.query(expression)
            if not re.search("gpu_|device_|copied_|pinned_", expression):
                assert found, expression
    finally:
        server.close()
        pair[0].shutdown()
        pair[0].server_close()
