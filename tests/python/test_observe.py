# SPDX-License-Identifier: Apache-2.0
"""What a loader says about itself: numbers, words, tables, HTML, live view."""

from __future__ import annotations

import html.parser
import io
import json
import math
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List

import pytest

from child_process import check_clean, run_bare

import feedline
from feedline import log_lines, views

pytest.importorskip("PIL")


@pytest.fixture()
def loader(make: Any) -> Any:
    """A loader that has delivered an epoch, with a phase in each step."""
    made = make()
    for _ in made:
        with made.phase("forward"):
            pass
    return made


# ---- Statistics ------------------------------------------------------------


def test_stats_count_what_was_delivered(loader: Any) -> None:
    stats = loader.stats()
    assert stats["stats"]["batches"] == 6
    assert stats["stats"]["samples"] == 24
    assert [s["name"] for s in stats["stages"]][:2] == ["read", "decode"]
    phases = {p["name"]: p["count"] for p in stats["phases"]}
    assert phases["forward"] == 6


def test_flat_stats_are_finite_floats_a_logger_takes(loader: Any) -> None:
    flat = loader.stats(flat=True)
    assert flat["feedline/batches"] == 6.0
    assert flat["feedline/stage/decode/p50_us"] > 0
    assert flat["feedline/phase/forward/fraction"] >= 0
    assert 0 <= flat["feedline/wait_fraction"] <= 1
    stats = loader.stats()
    known = {k for k, value in stats["stats"].items() if value is not None}
    assert {"feedline/" + name for name in known} <= set(flat)
    for name, value in stats["stages"][0].items():
        if name not in ("name", "label"):  # unknown: None, which is no float
            is_flat = "feedline/stage/read/" + name in flat
            assert is_flat == (value is not None), name
    for name, value in flat.items():
        assert name.startswith("feedline/")
        assert type(value) is float and math.isfinite(value), name
    json.dumps(flat, allow_nan=False)


def test_flat_parts_of_the_wait_add_up_to_it(loader: Any) -> None:
    flat = loader.stats(flat=True)
    parts = sum(v for k, v in flat.items() if k.startswith("feedline/wait/"))
    stats = loader.stats()
    missing = (
        stats["stall"]["residual_fraction"] * flat["feedline/wait_fraction"]
    )
    # The two were asked for at two moments, between which nothing ran but the
    # clock: their quotient is the same.
    assert parts + missing == pytest.approx(
        flat["feedline/wait_fraction"], rel=1e-6, abs=1e-9
    )


def test_unknown_numbers_are_left_out_of_flat_stats(loader: Any) -> None:
    stats = loader.stats()
    assert stats["stall"]["device_fraction"] is None
    assert "feedline/device_idle_fraction" not in views.flat(stats)


def test_reset_begins_anew(loader: Any) -> None:
    loader.reset_stats()
    assert loader.stats()["stats"]["batches"] == 0
    assert loader.stats(flat=True)["feedline/samples"] == 0.0


# ---- Words -----------------------------------------------------------------


def test_verdict_has_sentence_and_evidence(loader: Any) -> None:
    verdict = loader.verdict
    assert verdict.code.isupper() and verdict.sentence
    assert 0 <= verdict.confidence <= 1
    assert verdict.level in ("FED", "MINOR", "MODERATE", "HIGH", "UNKNOWN")
    assert str(verdict).startswith(verdict.code + ": ")
    assert isinstance(verdict.evidence, dict)


def test_explain_begins_with_the_verdict(loader: Any) -> None:
    text = loader.explain()
    assert text.startswith(loader.verdict.code + ": ")
    assert text.index("decode: ") < text.index("It began with 2 workers")
    assert loader.tuner_text().startswith("It began with 2 workers")


# ---- Table -----------------------------------------------------------------


def names(text: str) -> List[str]:
    """The first column of a table, without the line below it."""
    return [line.split()[0] for line in text.strip().split("\n")[2:-1]]


def test_table_has_a_line_for_each_stage_and_phase(loader: Any) -> None:
    assert names(loader.table()) == [
        "read",
        "decode",
        "augment",
        "transfer",
        "consume",
        "consume/forward",
    ]
    assert names(loader.table("name", 2)) == ["augment", "consume", "4"]


def test_table_is_sorted_the_largest_first(loader: Any) -> None:
    rows = loader.table("items").strip().split("\n")[2:-1]
    counts = [int(row.split()[1]) for row in rows]
    assert len(counts) == 6 and counts == sorted(counts, reverse=True)


def test_an_unknown_column_is_refused_with_those_there_are(loader: Any) -> None:
    with pytest.raises(feedline.InvalidArgument, match="'p42'.*busy.*p99"):
        loader.table("p42")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (2.5, "2.5 s"), (0.0125, "12.5 ms"), (3e-6, "3.0 us")]
    + [(4.2e-8, "42 ns"), (0.0, "0 ns")],
)
def test_durations(seconds: Any, text: str) -> None:
    assert views.duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, "-"), (999, "999 B"), (1e3, "1.0 kB"), (2.5e9, "2.5 GB")],
)
def test_sizes(count: Any, text: str) -> None:
    assert views.size(count) == text


# ---- Rates -----------------------------------------------------------------


def counters(wall: float, batches: int, wait: float) -> Dict[str, Any]:
    """Statistics of which only totals are asked."""
    return {
        "stats": {
            "wall_seconds": wall,
            "wait_seconds": wait,
            "batches": batches,
            "samples": 10 * batches,
            "bytes_read": 1000 * batches,
        }
    }


def test_rates_are_of_the_time_between() -> None:
    rate = views.rates(counters(10, 50, 3), counters(8, 40, 2))
    assert rate["batches_per_second"] == 5
    assert rate["samples_per_second"] == 50
    assert rate["wait_fraction"] == 0.5


def test_rates_behind_a_reset_count_from_it() -> None:
    rate = views.rates(counters(2, 6, 1), counters(100, 900, 50))
    assert rate["batches_per_second"] == 3
    assert rate["wait_fraction"] == 0.5


def test_rates_of_no_time_are_zero() -> None:
    assert set(views.rates(counters(0, 0, 0), None).values()) == {0.0}


# ---- HTML ------------------------------------------------------------------


class Reader(html.parser.HTMLParser):
    """Checks that tags close in order; collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: List[str] = []
        self.text = ""
        self.tags: List[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open
    return reader


def test_html_is_whole_and_fetches_nothing(loader: Any) -> None:
    text = loader._repr_html_()
    reader = read(text)
    assert "decode" in reader.text and loader.verdict.code in reader.text
    assert not {"script", "link", "img", "style"} & set(reader.tags)
    assert "http" not in text and "url(" not in text


def test_every_bucket_has_words_from_the_table(loader: Any) -> None:
    buckets = loader.stats()["stall"]["buckets"]
    assert list(views.bucket_titles()) == list(buckets)
    assert views.bucket_words("prep") == "decoding and augmenting"
    assert views.bucket_words("of_tomorrow") == "of tomorrow"


def test_html_escapes_words_from_outside(loader: Any) -> None:
    stats = loader.stats()
    evil = "<script>alert('&\"')</script>"
    stats["stages"][0]["name"] = evil
    stats["verdict"]["sentence"] = stats["verdict"]["action"] = evil
    stats["stall"]["buckets"] = {evil: stats["stats"]["wall_seconds"] / 2}
    reader = read(views.html_page(stats, evil))
    assert "script" not in reader.tags
    assert reader.text.count(evil) == 5


def test_html_leaves_colours_of_text_to_the_page(loader: Any) -> None:
    text = loader._repr_html_()
    for fixed in ("color:black", "color:white", "color:#000", "color:#fff"):
        assert fixed not in text.replace(" ", "").lower()


def test_html_answers_before_it_shows_numbers(loader: Any) -> None:
    text = read(loader._repr_html_()).text
    assert text.index(loader.verdict.sentence[:20]) < text.index("samples/s")


def test_a_verdict_displays_by_itself(loader: Any) -> None:
    verdict = loader.verdict
    text = read(verdict._repr_html_()).text
    for words in (verdict.code, verdict.level, verdict.sentence):
        assert words in text
    assert verdict.action in text


def test_html_of_a_watch_leaves_out_what_nobody_sees() -> None:
    watched = feedline.watch(range(3))
    for _ in watched:
        pass
    text = read(watched._repr_html_()).text
    assert "consume" in text and "decode" not in text


def test_html_before_the_first_batch_has_no_empty_table(make: Any) -> None:
    reader = read(make()._repr_html_())
    assert "table" not in reader.tags and "samples/s" not in reader.text
    assert "INSUFFICIENT_DATA" in reader.text and "Loader" in reader.text


def test_html_is_for_everybody(loader: Any, tmp_path: Path) -> None:
    """axe-core finds nothing, on white and on black."""
    checker = Path(__file__).parents[1] / "accessibility" / "accessible"
    if not checker.exists():
        pytest.skip("no tests/accessibility")
    shown = loader._repr_html_() + loader.verdict._repr_html_()
    pages = []
    for name, colours in (
        ("day", "#000;background:#fff"),
        ("night", "#fff;background:#111"),
    ):
        pages.append(str(tmp_path / (name + ".html")))
        Path(pages[-1]).write_text(
            '<!doctype html><html lang="en"><meta charset="utf-8">'
            "<title>a</title><body style='color:%s'><main><h1>a</h1>%s"
            "</main></body></html>" % (colours, shown),
            encoding="utf-8",
        )
    done = subprocess.run(
        [str(checker)] + pages,
        stdout=subprocess.PIPE,
        universal_newlines=True,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout


def test_html_of_a_closed_loader_says_so(make: Any) -> None:
    loader = make()
    loader.close()
    assert "closed" in read(loader._repr_html_()).text


# ---- Live view -------------------------------------------------------------


def test_top_once_is_a_text_and_shows_nothing(loader: Any, capsys: Any) -> None:
    text = loader.top(seconds=0)
    assert "decode" in text and loader.verdict.code in text
    assert "24 samples" in text
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Time that passes while somebody sleeps, and only then."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


def test_top_shows_one_screen_in_place_of_the_last(
    loader: Any, monkeypatch: Any
) -> None:
    out = Terminal()
    monkeypatch.setattr(views, "time", Clock())
    last = loader.top(seconds=3.5, interval=1.0, out=out)
    screens = out.getvalue().split(views.CLEAR)[1:]
    assert len(screens) == 4
    assert all("decode" in screen for screen in screens)
    assert "decode" in last


def test_top_into_a_file_has_no_escapes(loader: Any) -> None:
    out = io.StringIO()
    loader.top(seconds=0.01, interval=0.01, out=out)
    assert "decode" in out.getvalue() and "\x1b" not in out.getvalue()


def test_top_ends_when_the_loader_is_closed(make: Any) -> None:
    shown = threading.Event()

    class Seen(Terminal):
        def write(self, text: str) -> int:
            shown.set()
            return super().write(text)

    loader = make()
    for _ in loader:
        pass
    thread = threading.Thread(
        target=loader.top, kwargs={"interval": 0.01, "out": Seen()}
    )
    thread.start()
    assert shown.wait(30)
    loader.close()
    thread.join(30)
    assert not thread.is_alive()


def test_top_in_a_notebook_stays_in_its_cell(
    loader: Any, monkeypatch: Any, capsys: Any
) -> None:
    cell: List[str] = []

    def show(data: Dict[str, str], raw: bool, display_id: Any = None) -> Any:
        assert raw
        cell.append(data["text/plain"])
        return SimpleNamespace(update=show)

    notebook = SimpleNamespace(
        get_ipython=lambda: SimpleNamespace(kernel="here"),
        display=SimpleNamespace(display=show),
    )
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setattr(views, "time", Clock())
    loader.top(seconds=3.0, interval=1.0)
    assert len(cell) == 3
    assert all("decode" in text for text in cell)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "wrong", [{"seconds": -1}, {"interval": 0}, {"interval": -2.0}]
)
def test_top_refuses_times_that_are_none(loader: Any, wrong: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        loader.top(**wrong)


# ---- Phases ----------------------------------------------------------------


def test_phases_nest_and_end_with_an_exception(loader: Any) -> None:
    loader.reset_stats()
    with pytest.raises(LookupError):
        with loader.phase("outer"), loader.phase("inner"):
            raise LookupError
    phases = {p["name"]: p for p in loader.stats()["phases"]}
    assert phases["outer"]["count"] == phases["inner"]["count"] == 1
    assert phases["outer"]["total_seconds"] >= phases["inner"]["total_seconds"]


def test_a_phase_may_be_used_again(loader: Any) -> None:
    phase = loader.phase("again")
    for _ in range(3):
        with phase:
            pass
    phases = {p["name"]: p["count"] for p in loader.stats()["phases"]}
    assert phases["again"] == 3


def test_a_phase_too_deep_or_too_long_is_refused(loader: Any) -> None:
    with pytest.raises(feedline.Error):
        with loader.phase("x" * 32):
            pass


# ---- Lines of the library ---------------------------------------------------


def lines(monkeypatch: Any, *texts: str) -> None:
    """The library has these lines to say."""
    waiting = [text.encode() for text in texts]

    def read(buffer: Any, capacity: int, needed: Any) -> int:
        if not waiting:
            return 2  # END
        buffer.value = waiting.pop(0)
        return 0

    monkeypatch.setattr(log_lines, "_read", read)


def test_a_warning_names_the_line_of_the_program(
    loader: Any, monkeypatch: Any
) -> None:
    lines(monkeypatch, "warning: the disk: slow", "error: lost")
    with pytest.warns(feedline.EngineWarning) as caught:
        for _ in loader:
            pass
    assert [str(w.message) for w in caught] == ["the disk: slow", "lost"]
    assert {w.filename for w in caught} == {__file__}


def test_what_is_no_warning_goes_to_the_logger(
    loader: Any, monkeypatch: Any, caplog: Any
) -> None:
    lines(monkeypatch, "info: a: b", "debug: c")
    caplog.set_level("DEBUG", logger="feedline")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in loader:
            pass
    assert caplog.record_tuples == [
        ("feedline", 20, "a: b"),
        ("feedline", 10, "c"),
    ]


def test_the_logger_decides_what_the_library_says(
    make: Any, caplog: Any
) -> None:
    for _ in make(tuner="off", depth=4):
        pass
    assert caplog.record_tuples == []
    caplog.set_level("INFO", logger="feedline")
    for _ in make(depth=4, tuner_profile="/nonexistent/none.json"):
        pass
    caplog.set_level("WARNING", logger="feedline")
    log_lines.tell()
    said = [text for name, level, text in caplog.record_tuples if level == 20]
    assert any("does not exist yet" in text for text in said), said


def test_the_logger_has_a_handler_that_keeps_python_from_printing() -> None:
    done = run_bare(
        "import logging, feedline\n"
        "logging.getLogger('feedline').error('nobody asked')\n"
    )
    check_clean(done)
    assert done.err == ""


def test_a_warning_that_is_an_error_leaves_the_loader_usable(
    loader: Any, monkeypatch: Any
) -> None:
    lines(monkeypatch, "warning: w")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(feedline.EngineWarning):
            for _ in loader:
                pass
    # In a wait of the epoch, which is over then, or at its end.
    assert [batch.epoch for batch in loader] in ([1] * 6, [2] * 6)


# ---- torch is left alone ----------------------------------------------------


def test_looking_for_a_profiler_does_not_import_torch() -> None:
    code = (
        "import sys; import feedline; from feedline import torch_ranges;"
        "assert not torch_ranges.active();"
        "assert 'torch' not in sys.modules"
    )
    check_clean(run_bare(code))


# ---- Progress --------------------------------------------------------------


def test_tqdm_counts_batches(loader: Any, capfd: Any) -> None:
    tqdm = pytest.importorskip("tqdm")
    bar_text = io.StringIO()
    bar = tqdm.tqdm(loader, file=bar_text, mininterval=0)
    assert bar.total == 6
    assert sum(1 for _ in bar) == 6
    assert "6/6" in bar_text.getvalue()
    assert capfd.readouterr() == ("", "")
