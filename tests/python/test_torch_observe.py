# SPDX-License-Identifier: Apache-2.0
"""feedline.torch.DataLoader says about itself what its engine says."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
import threading
from pathlib import Path
from typing import Any, Dict, List

import pytest

from torch_cases import Ours, six_batches, torch

import feedline
from feedline import observable, torch_ranges
from feedline.torch import FallbackWarning


@pytest.fixture()
def loader(image_folder: Path) -> Any:
    return six_batches(image_folder)


def in_torch(folder: Path) -> Any:
    """A loader that torch runs."""
    return six_batches(
        folder, num_workers=0, collate_fn=lambda samples: samples
    )


def test_statistics_count_over_epochs(loader: Any) -> None:
    for _ in range(3):
        for _ in loader:
            with loader.phase("forward"):
                pass
    assert loader.native
    assert loader.stats()["stats"]["batches"] == 18
    flat = loader.stats(flat=True)
    assert flat["feedline/samples"] == 72.0
    assert "feedline/phase/forward/fraction" in flat
    loader.reset_stats()
    assert loader.stats()["stats"]["batches"] == 0


def test_whoever_reads_statistics_holds_up_no_batch(
    image_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader is let go only after the last batch: waiting would hang."""
    loader = six_batches(
        image_folder, num_workers="auto", prefetch_factor="auto"
    )
    batches = iter(loader)
    next(batches)
    inside, leave = threading.Event(), threading.Event()
    read_text = observable.read_text

    def slowly(function: Any, *arguments: Any) -> str:
        inside.set()
        leave.wait()
        return str(read_text(function, *arguments))

    monkeypatch.setattr(observable, "read_text", slowly)
    reader = threading.Thread(target=loader.stats)
    reader.start()
    inside.wait()
    for _ in range(len(loader) - 1):
        next(batches)
    leave.set()
    reader.join()
    assert loader.native


def test_words_and_views(loader: Any) -> None:
    for _ in loader:
        pass
    assert loader.verdict.code in loader.explain()
    assert "decode" in loader.top(seconds=0)
    assert "decode" in loader._repr_html_()
    out = io.StringIO()
    loader.top(seconds=0.01, interval=0.01, out=out)
    assert "decode" in out.getvalue()


def test_before_the_first_epoch_there_is_nothing_to_say(loader: Any) -> None:
    with pytest.raises(feedline.StateError, match="not iterated"):
        loader.stats()
    assert "not iterated" in loader.explain()
    assert "not iterated" in loader._repr_html_()


@pytest.mark.usefixtures("known_only")
def test_while_torch_loads_it_is_watched(
    image_folder: Path, tmp_path: Path
) -> None:
    loader = in_torch(image_folder)
    with pytest.warns(FallbackWarning):
        for _ in loader:
            with loader.phase("forward"):
                pass
    stats = loader.stats()
    assert stats["stats"]["batches"] == len(loader)
    assert stats["watch"]["option"] == "num_workers"
    assert stats["phases"][0]["count"] == len(loader)
    words = loader.explain()
    assert words.startswith("torch loads the samples, as collate_fn is one")
    assert loader.verdict.code in words
    assert "consume/forward" in loader.table()
    assert "consume" in loader.top(seconds=0)
    assert "consume" in loader._repr_html_()
    loader.trace_save(tmp_path / "trace.json")
    names = [
        e["name"]
        for e in json.loads((tmp_path / "trace.json").read_text())[
            "traceEvents"
        ]
    ]
    assert names.count("forward") == len(loader)
    loader.reset_stats()
    assert loader.stats()["stats"]["batches"] == 0


def test_torchs_processes_are_watched(image_folder: Path) -> None:
    loader = six_batches(image_folder, worker_init_fn=print, backend="torch")
    for _ in range(2):
        for _ in loader:
            pass
    stats = loader.stats()
    assert stats["stats"]["batches"] == 2 * len(loader)
    assert stats["stats"]["samples"] == 2 * len(loader.dataset)
    assert stats["stats"]["workers"] == 2
    assert stats["stats"]["wait_seconds"] > 0


def test_a_stream_is_watched() -> None:
    class Stream(torch.utils.data.IterableDataset):  # type: ignore
        def __iter__(self) -> Any:
            return iter(range(10))

    loader = Ours(Stream(), batch_size=4)
    with pytest.warns(FallbackWarning):
        assert len(list(loader)) == 3
    assert loader.stats()["stats"]["samples"] == 10
    assert "IterableDataset" in loader.explain()


def test_a_profile_begins_with_the_loader(loader: Any, tmp_path: Path) -> None:
    """The engine is made when the first step is under way already."""
    profile = feedline.profile(loader)
    with profile:
        for _ in loader:
            with loader.phase("forward"):
                pass
            profile.step()
    path = tmp_path / "trace.json"
    profile.export_chrome_trace(path)
    names = [e["name"] for e in json.loads(path.read_text())["traceEvents"]]
    assert names.count("forward") == 6
    assert profile.stats["stats"]["batches"] == 6
    assert "decode" in profile.key_averages().table(sort_by="busy")


def test_a_profile_over_epochs_has_its_steps(loader: Any) -> None:
    ready: Dict[int, int] = {}
    profile = feedline.profile(
        loader,
        schedule=feedline.schedule(wait=4, warmup=0, active=4, repeat=1),
        on_trace_ready=lambda prof: ready.update(
            {prof.step_num: prof.stats["stats"]["batches"]}
        ),
    )
    with profile:
        for _ in range(2):
            for _ in loader:
                profile.step()
    assert ready == {7: 4}


@pytest.mark.usefixtures("known_only")
def test_a_profile_of_what_torch_runs(image_folder: Path) -> None:
    loader = in_torch(image_folder)
    ready: List[Any] = []
    profile = feedline.profile(loader, on_trace_ready=ready.append)
    with pytest.warns(FallbackWarning):
        with profile:
            for _ in loader:
                profile.step()
    assert ready == [profile]
    assert profile.stats["stats"]["batches"] == len(loader)


def test_a_profile_of_a_watch() -> None:
    watched = feedline.watch(range(9))
    with feedline.profile(watched) as profile:
        for _ in watched:
            profile.step()
    assert profile.stats["stats"]["batches"] == 9


# ---- Ranges in torch.profiler ----------------------------------------------


def ranges(profile: Any) -> Dict[str, int]:
    """How often each of our ranges is in a profile."""
    return {
        event.key: event.count
        for event in profile.key_averages()
        if event.key.startswith("feedline::")
    }


def test_each_next_and_its_wait_are_ranges(make: Any) -> None:
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU]
    ) as profile:
        for _ in make():
            pass
    found = ranges(profile)
    # Six batches and the end of the epoch.
    assert found.pop(torch_ranges.NEXT) == 7
    # Only where there was something to wait for; the end is looked for, too.
    assert 1 <= found.pop(torch_ranges.WAIT) <= 7
    assert not found


def test_the_older_profiler_sees_them_too(make: Any) -> None:
    with torch.autograd.profiler.profile() as profile:
        next(iter(make()))
    assert torch_ranges.NEXT in ranges(profile)


def test_without_a_profiler_there_is_no_range(
    make: Any, monkeypatch: Any
) -> None:
    def refuse(*arguments: Any) -> None:
        raise AssertionError("a range was made")

    monkeypatch.setattr(
        torch.autograd.profiler.record_function, "__enter__", refuse
    )
    assert sum(1 for _ in make()) == 6


def test_batches_are_handed_over_in_a_range(loader: Any) -> None:
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU]
    ) as profile:
        for _ in loader:
            pass
    assert loader.native
    found = ranges(profile)
    assert found[torch_ranges.NEXT] == found[torch_ranges.HAND_OVER] == 6


def test_torch_that_is_imported_later_is_found(monkeypatch: Any) -> None:
    spec = torch_ranges.__spec__
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    monkeypatch.setattr(fresh, "_modules", {})
    with torch.autograd.profiler.profile():
        assert not fresh.active()
        monkeypatch.setattr(fresh, "_modules", sys.modules)
        assert fresh.active()
    assert not fresh.active()


@pytest.mark.skipif(
    not hasattr(torch.autograd.profiler, "_is_profiler_enabled"),
    reason="this torch has no flag for whether a profiler is active",
)
def test_without_a_profiler_torch_is_not_even_asked(monkeypatch: Any) -> None:
    asked = []
    monkeypatch.setattr(
        torch._C._autograd,
        "_profiler_enabled",
        lambda: asked.append(True) or True,
    )
    active = torch_ranges.ask_torch()
    assert active is not None
    assert active() is False and not asked
    monkeypatch.setattr(torch.autograd.profiler, "_is_profiler_enabled", True)
    assert active() is True and asked


def test_a_profiler_of_one_thread_is_that_threads() -> None:
    said = []
    with torch.autograd.profiler.profile():
        thread = threading.Thread(
            target=lambda: said.append(
                (torch_ranges.active(), torch._C._autograd._profiler_enabled())
            )
        )
        thread.start()
        thread.join()
    assert len(said) == 1 and said[0][0] == said[0][1]
