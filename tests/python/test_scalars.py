# SPDX-License-Identifier: Apache-2.0
"""Numbers of a loader in TensorBoard, Weights & Biases and other sinks: those
of the steps since the last time, read back from the files these write."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List, Tuple

import pytest

pytest.importorskip("PIL")

import feedline  # noqa: E402
import sinks  # noqa: E402
from feedline.integrations.scalars import (  # noqa: E402
    CAUSES,
    Scalars,
    of_interval,
)

Sent = List[Tuple[int, Dict[str, float]]]


def train(loader: Any, scalars: Scalars, epochs: int, first: int = 0) -> int:
    """Epochs of steps of a millisecond; the number of the next one."""
    step = first
    for _ in range(epochs):
        for _ in loader:
            time.sleep(0.001)
            scalars.step(step)
            step += 1
    return step


def collect(sent: Sent) -> Any:
    def sink(values: Dict[str, float], step: int) -> None:
        sent.append((step, values))

    return sink


# ---- When ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("every", "first", "steps"),
    [(1, 0, [1, 2, 3, 4, 5]), (2, 0, [2, 4]), (4, 101, [104]), (50, 0, [])],
)
def test_it_is_sent_every_so_many_steps(
    make: Any, every: int, first: int, steps: List[int]
) -> None:
    sent: Sent = []
    train(make(), Scalars(make(), collect(sent), every=every), 1, first)
    assert sent == []  # of a loader that was not iterated
    loader = make()
    train(loader, Scalars(loader, collect(sent), every=every), 1, first)
    assert [step for step, _ in sent] == steps


def test_a_step_of_several_batches_is_sent_once(make: Any) -> None:
    sent: Sent = []
    loader = make()
    scalars = Scalars(loader, collect(sent), every=2)
    for number, _ in enumerate(loader):
        scalars.step(number // 2)
    assert [step for step, _ in sent] == [2]


def test_the_first_rank_sends(make: Any) -> None:
    job = {"rank": 1, "world": 2, "local_world": 1}
    sent: Sent = []
    second = make(**job)
    train(second, Scalars(second, collect(sent), every=1), 1)
    assert sent == []
    train(second, Scalars(second, collect(sent), every=1, every_rank=True), 1)
    assert sent


# ---- What ------------------------------------------------------------------


def test_numbers_are_of_the_steps_between(make: Any) -> None:
    sent: Sent = []
    loader = make()
    train(loader, Scalars(loader, collect(sent), every=3, prefix="x/"), 4)
    assert len(sent) == 7
    for _, values in sent:
        assert all(name.startswith("x/") for name in values)
        waited = values["x/wait_fraction"]
        causes = [values["x/wait/" + cause] for cause in (*CAUSES, "other")]
        assert sum(causes) == pytest.approx(waited, abs=1e-6)
        assert 0 <= waited <= 1
        per_batch = values["x/samples_per_second"]
        assert per_batch == pytest.approx(4 * values["x/batches_per_second"])
        assert values["x/workers"] == 2 and values["x/failed_samples"] == 0
        assert "x/device_idle_fraction" not in values


def stats(wall: float, **more: Any) -> Dict[str, Any]:
    """Statistics with totals that grow as fast as `wall`, but for `more`."""
    total = {
        "wall_seconds": wall,
        "wait_seconds": wall / 2,
        "batches": 10 * wall,
        "samples": 40 * wall,
        "bytes_read": 1000 * wall,
        "failed_samples": wall,
        "workers": 3,
        "memory_bytes": 5,
    }
    buckets = {"fetch": wall / 8, "prep": wall / 4, "slot": wall / 8}
    for cause in CAUSES.values():
        for bucket in cause:
            buckets.setdefault(bucket, 0)
    return {
        "stats": total,
        "stall": {"buckets": buckets},
        "transfer": {"span_seconds": wall, "idle_seconds": wall / 4},
        "verdict": {"level": "HIGH", "predicted_gain": 0.5},
        **more,
    }


def test_an_interval_is_the_difference() -> None:
    expected = {
        "batches_per_second": 10,
        "samples_per_second": 40,
        "bytes_per_second": 1000,
        "wait_fraction": 0.5,
        "wait/reading": 0.125,
        "wait/preparing": 0.25,
        "wait/copying": 0,
        "wait/other": 0.125,
        "device_idle_fraction": 0.25,
        "workers": 3,
        "memory_bytes": 5,
        "failed_samples": 4,
        "verdict_level": 3,
        "predicted_gain": 0.5,
    }
    assert of_interval(stats(6), stats(2)) == expected
    # Behind a reset, from the reset on.
    assert of_interval(stats(4), stats(100)) == expected
    assert of_interval(stats(2), stats(2)) == {}


def test_what_is_not_known_is_left_out() -> None:
    unknown = {"level": "UNKNOWN", "predicted_gain": None}
    found = of_interval(stats(4, transfer=None, verdict=unknown), None)
    assert "verdict_level" not in found and "predicted_gain" not in found
    assert "device_idle_fraction" not in found


def test_a_watched_loader_has_a_wait_of_unknown_cause() -> None:
    sent: Sent = []
    with feedline.watch(range(6)) as loader:
        train(loader, Scalars(loader, collect(sent), every=2), 1)
    assert [step for step, _ in sent] == [2, 4]
    values = sent[-1][1]
    waited = values["feedline/wait_fraction"]
    assert values["feedline/wait/other"] == pytest.approx(waited)


def test_another_loader_is_told_of_once() -> None:
    scalars = Scalars(range(9), collect([]), every=1)
    with pytest.warns(feedline.EngineWarning, match="range is no loader"):
        scalars.step(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scalars.step(2)


# ---- Where -----------------------------------------------------------------


@pytest.mark.parametrize("method", ["log", "log_metrics"])
def test_sinks_are_known_by_their_methods(make: Any, method: str) -> None:
    """Of Accelerator, wandb and its runs; of mlflow and Lightning's loggers."""
    sent: Sent = []
    loader = make()
    sink = SimpleNamespace(**{method: collect(sent)})
    train(loader, Scalars(loader, sink, every=3), 1)
    assert [step for step, _ in sent] == [3]


def test_what_takes_nothing_is_refused(make: Any) -> None:
    with pytest.raises(TypeError, match="int has no add_scalar, log_metrics"):
        Scalars(make(), 3)
    with pytest.raises(ValueError, match="every=0"):
        Scalars(make(), print, every=0)


def test_tensorboard_has_them(make: Any, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    loader = make()
    with tensorboard.SummaryWriter(str(tmp_path)) as writer:
        train(loader, Scalars(loader, writer, every=2), 1)
    found = sinks.tensorboard(tmp_path)
    assert [step for step, _ in found["feedline/wait_fraction"]] == [2, 4]
    assert [v for _, v in found["feedline/workers"]] == [2, 2]


def test_wandb_has_them(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a network, as W&B's own log on this machine."""
    wandb = pytest.importorskip("wandb")
    loader = make()
    with wandb.init(mode="offline", dir=str(tmp_path), project="p") as run:
        step = 0
        scalars = Scalars(loader, run, every=2)
        for _ in loader:
            run.log({"loss": 1.0}, step=step)
            scalars.step(step)
            step += 1
    wandb.teardown()  # its process has written everything
    rows = sinks.wandb(tmp_path)
    have = [row for row in rows if "feedline/wait_fraction" in row]
    assert [row["_step"] for row in have] == [2, 4]
    assert all(row["loss"] == 1.0 for row in have)  # one row with the loss
    assert have[0]["feedline/workers"] == 2


def test_mlflow_has_them(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    loader = make()
    with mlflow.start_run() as run:
        train(loader, Scalars(loader, mlflow, every=2), 1)
    client = mlflow.tracking.MlflowClient()
    found = client.get_metric_history(run.info.run_id, "feedline/workers")
    assert [(one.step, one.value) for one in found] == [(2, 2), (4, 2)]
