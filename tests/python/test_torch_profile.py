# SPDX-License-Identifier: Apache-2.0
"""torch.profiler with the loader's threads: one file, one clock, and torch's
own handlers and tables as ever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytest.importorskip("PIL")

import feedline  # noqa: E402
import feedline.torch  # noqa: E402
import training  # noqa: E402
from feedline import merged_traces  # noqa: E402

CPU = {"activities": [torch.profiler.ProfilerActivity.CPU]}


def run(profile: Any, loader: Any, epochs: int = 3) -> None:
    """Steps of two operators, each with a phase."""
    weights = torch.rand(training.SIZE, training.SIZE)
    with profile:
        for _ in range(epochs):
            for images, _ in loader:
                with loader.phase("forward"):
                    torch.matmul(images, weights).sum()
                profile.step()


def loader_of(folder: Path, **arguments: Any) -> Any:
    """Six batches an epoch, hardly any of them ahead of its time."""
    arguments = {"num_workers": 1, "prefetch_factor": 1, **arguments}
    return feedline.torch.DataLoader(training.dataset(folder), 4, **arguments)


def slices(path: Path, name: str) -> List[Dict[str, Any]]:
    _, events = merged_traces.load(str(path))
    found = [e for e in events if e.get("ph") == "X" and e["name"] == name]
    for event in found:
        event["ts"], event["dur"] = float(event["ts"]), float(event["dur"])
    return sorted(found, key=lambda event: event["ts"])


def test_a_trace_has_both_on_one_clock(
    image_folder: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "traces"
    profile = feedline.torch.profile(
        loader := loader_of(image_folder),
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=9, repeat=1),
        on_trace_ready=torch.profiler.tensorboard_trace_handler(str(folder)),
        **CPU,
    )
    run(profile, loader)
    (path,) = folder.iterdir()
    assert path.name.endswith(".pt.trace.json")
    products = slices(path, "aten::matmul")
    asked = slices(path, "feedline::next")
    phases = slices(path, "forward")
    assert len(products) == len(phases) == 9 and len(asked) >= 9
    assert slices(path, "decode") and slices(path, "wait")
    # A phase is on our clock, what runs in it on torch's: they fit within
    # what the clocks' conversion may miss.
    for phase, product in zip(phases, products):
        assert phase["ts"] - 50 <= product["ts"], (phase, product)
        end = phase["ts"] + phase["dur"]
        assert product["ts"] + product["dur"] <= end + 50, (phase, product)
    assert {e["pid"] for e in products} != {e["pid"] for e in phases}
    # What torch has is there as ever, and so is ours by itself.
    assert profile.key_averages().table()
    assert profile.loader_profile.stats["stats"]["batches"] == 9


def test_compressed_where_the_name_says_so(
    image_folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "both.json.gz"
    profile = feedline.torch.profile(loader := loader_of(image_folder), **CPU)
    run(profile, loader, 1)
    profile.export_chrome_trace(str(path))
    assert len(slices(path, "aten::matmul")) == 6
    assert len(slices(path, "forward")) == 6


def test_without_a_recording_it_is_torch_s(
    image_folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "torch.json"
    profile = feedline.torch.profile(loader_of(image_folder), **CPU)
    with pytest.warns(feedline.EngineWarning, match="was not iterated"):
        with profile:
            torch.rand(3).sum()
    profile.export_chrome_trace(str(path))
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    assert any(event["name"] == "aten::sum" for event in events)
    assert not any(event["name"] == "decode" for event in events)
