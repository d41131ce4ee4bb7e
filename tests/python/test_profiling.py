# SPDX-License-Identifier: Apache-2.0
"""Profiling over a schedule: what is recorded is what the steps did."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Dict, List

import pytest

feedline = pytest.importorskip("feedline")
from feedline.profiling import ProfilerAction  # noqa: E402

pytest.importorskip("PIL")

SCHEDULES: List[Dict[str, int]] = [
    {"wait": 0, "warmup": 0, "active": 1},
    {"wait": 1, "warmup": 1, "active": 2, "repeat": 1},
    {"wait": 2, "warmup": 0, "active": 3, "repeat": 2, "skip_first": 4},
    {"wait": 0, "warmup": 3, "active": 1, "skip_first": 1},
]


@pytest.fixture()
def loader(make: Any) -> Any:
    return make()


def run(loader: Any, profile: Any, epochs: int = 2) -> None:
    """Twelve steps, each with a phase of the consumer's."""
    with profile:
        for _ in range(epochs):
            for _ in loader:
                with loader.phase("forward"):
                    pass
                profile.step()


# ---- Schedules -------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
@pytest.mark.parametrize("words", SCHEDULES)
def test_schedule_says_what_torch_says(words: Dict[str, int]) -> None:
    torch = pytest.importorskip("torch")
    ours = feedline.schedule(**words)
    theirs = torch.profiler.schedule(**words)
    assert [ours(i).name for i in range(40)] == [
        theirs(i).name for i in range(40)
    ]


def test_schedule_without_torch() -> None:
    action = feedline.schedule(wait=1, warmup=1, active=2, repeat=1)
    assert [action(i) for i in range(6)] == [
        ProfilerAction.NONE,
        ProfilerAction.WARMUP,
        ProfilerAction.RECORD,
        ProfilerAction.RECORD_AND_SAVE,
        ProfilerAction.NONE,
        ProfilerAction.NONE,
    ]


@pytest.mark.parametrize("name", ["wait", "warmup", "active", "repeat"])
def test_schedule_refuses_numbers_below(name: str) -> None:
    words = {"wait": 1, "warmup": 1, "active": 1, "repeat": 1, name: -1}
    with pytest.raises(ValueError, match="%s=-1" % name):
        feedline.schedule(**words)


# ---- Recording -------------------------------------------------------------


def test_a_recording_has_the_steps_of_its_schedule(
    loader: Any, tmp_path: Path
) -> None:
    recorded: List[Dict[str, Any]] = []

    def ready(prof: Any) -> None:
        path = tmp_path / ("%d.json" % prof.step_num)
        prof.export_chrome_trace(path)
        recorded.append(json.loads(path.read_text()))

    profile = feedline.profile(
        loader,
        schedule=feedline.schedule(wait=1, warmup=1, active=3, repeat=2),
        on_trace_ready=ready,
    )
    run(loader, profile)
    assert len(recorded) == 2
    for number, trace in enumerate(recorded):
        events = trace["traceEvents"]
        steps = [e for e in events if e["name"].startswith("ProfilerStep#")]
        first = 5 * number + 2
        assert [e["name"] for e in steps] == [
            "ProfilerStep#%d" % (first + i) for i in range(3)
        ]
        named = [
            e["args"]["name"]
            for e in events
            if e["name"] == "thread_name" and e["tid"] == steps[0]["tid"]
        ]
        assert named == ["steps"]
        begin = steps[0]["ts"]
        end = steps[-1]["ts"] + steps[-1]["dur"]
        phases = [e for e in events if e["name"] == "forward"]
        assert len(phases) == 3
        for event in events:
            if event["ph"] != "M":
                assert begin <= event["ts"] <= end, event
        assert trace["feedline_end"] == {
            "complete": True,
            "steps": 3,
            "lost_notes": 0,
            "cut": "",
        }


def test_statistics_are_of_the_recorded_steps(loader: Any) -> None:
    profile = feedline.profile(
        loader, schedule=feedline.schedule(wait=2, warmup=1, active=3, repeat=1)
    )
    run(loader, profile)
    assert profile.stats["stats"]["batches"] == 3
    rows = {row.key: row for row in profile.key_averages()}
    assert rows["consume"].count == 3
    assert rows["consume/forward"].count == 3
    table = profile.key_averages().table
    assert table() == str(profile.key_averages())
    assert table(sort_by="cpu_time_total") == table(sort_by="busy")
    lines = table(sort_by="busy", row_limit=2, header="head").split("\n")
    assert lines[0] == "head" and lines[1].split()[0] == "Name"
    assert lines[-2:-1] == ["4 more rows"] and len(lines) == 7
    assert "3 batches" in lines[-1]
    with pytest.raises(feedline.InvalidArgument, match="'p42'.*busy.*name"):
        table(sort_by="p42")


def test_without_a_schedule_all_is_recorded(loader: Any) -> None:
    ready: List[int] = []
    profile = feedline.profile(
        loader, on_trace_ready=lambda prof: ready.append(prof.step_num)
    )
    run(loader, profile)
    assert ready == [12]
    assert profile.stats["stats"]["batches"] == 12
    assert sum(e["name"] == "forward" for e in profile.events()) == 12


def test_torch_schedules_are_understood(loader: Any) -> None:
    torch = pytest.importorskip("torch")
    ready: List[int] = []
    profile = feedline.profile(
        loader,
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=2),
        on_trace_ready=lambda prof: ready.append(prof.step_num),
    )
    run(loader, profile)
    assert ready == [3, 7, 11]


def test_a_long_recording_loses_nothing(loader: Any) -> None:
    """More batches than a ring of notes holds: 4096 notes are some 340."""
    profile = feedline.profile(loader)
    run(loader, profile, epochs=100)
    events = profile.events()
    waits_and_steps = sum(e["name"] == "forward" for e in events)
    assert waits_and_steps == 600
    decodes = {
        (e["args"]["batch"], e["args"]["sample"])
        for e in events
        if e["name"] == "decode"
    }
    assert len(decodes) >= 600 * 4
    assert len(decodes) == sum(e["name"] == "decode" for e in events)


def test_nothing_recorded_is_an_error_with_the_reason(loader: Any) -> None:
    profile = feedline.profile(
        loader, schedule=feedline.schedule(wait=99, warmup=0, active=1)
    )
    run(loader, profile)
    for ask in (profile.key_averages, profile.events):
        with pytest.raises(feedline.StateError, match="nothing to tell"):
            ask()


def test_an_exception_in_the_loop_still_completes_it(loader: Any) -> None:
    profile = feedline.profile(loader)
    with pytest.raises(LookupError):
        with profile:
            for _ in loader:
                profile.step()
                raise LookupError
    assert profile.stats["stats"]["batches"] == 1


# ---- Files -----------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
def test_tensorboard_finds_its_files(
    loader: Any, tmp_path: Path, packed: bool
) -> None:
    folder = tmp_path / "runs" / "a"
    handler = feedline.tensorboard_trace_handler(
        str(folder), worker_name="rank0", use_gzip=packed
    )
    profile = feedline.profile(
        loader,
        schedule=feedline.schedule(wait=0, warmup=0, active=2, repeat=2),
        on_trace_ready=handler,
    )
    run(loader, profile)
    end = ".pt.trace.json" + (".gz" if packed else "")
    files = sorted(folder.iterdir())
    assert len(files) == 2
    for file in files:
        assert file.name.startswith("rank0.") and file.name.endswith(end)
        raw = gzip.open(file).read() if packed else file.read_bytes()
        trace = json.loads(raw)
        assert trace["displayTimeUnit"] == "ms" and trace["traceEvents"]


def test_a_trace_that_cannot_be_written_leaves_no_file(
    loader: Any, tmp_path: Path
) -> None:
    profile = feedline.profile(loader)
    run(loader, profile)
    with pytest.raises(OSError):
        profile.export_chrome_trace(tmp_path / "missing" / "trace.json")
    target = tmp_path / "folder"
    target.mkdir()
    with pytest.raises(OSError):
        profile.export_chrome_trace(target)
    assert list(tmp_path.iterdir()) == [target]


def test_a_trace_lines_up_with_the_one_of_the_library(
    loader: Any, tmp_path: Path
) -> None:
    profile = feedline.profile(loader)
    run(loader, profile)
    path = tmp_path / "library.json"
    loader.trace_save(str(path))
    trace = json.loads(path.read_text())
    theirs = {
        (e["args"]["batch"], e["args"]["sample"]): e["ts"]
        for e in trace["traceEvents"]
        if e["name"] == "decode"
    }
    ours = [e for e in profile.events() if e["name"] == "decode"]
    assert ours
    for event in ours:
        key = event["args"]["batch"], event["args"]["sample"]
        # Microseconds; the clocks' distance is measured anew for each file.
        assert event["ts"] == pytest.approx(theirs[key], abs=50)


def test_a_loader_that_was_closed_meanwhile_is_no_error(loader: Any) -> None:
    profile = feedline.profile(loader)
    with pytest.warns(feedline.EngineWarning, match="nothing to tell"):
        with profile:
            for _ in loader:
                profile.step()
            loader.close()
