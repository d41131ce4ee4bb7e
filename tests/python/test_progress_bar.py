# SPDX-License-Identifier: Apache-2.0
"""feedline.progress in a terminal, a log and a notebook, and its words."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any, Dict, Iterator, List

import pytest

from child_process import check_clean, run_bare

import feedline
from feedline import progress_bar

pytest.importorskip("PIL")
pytest.importorskip("tqdm")


class Terminal(io.StringIO):
    """A stream that says it is one, 80 columns wide as tqdm is told."""

    def isatty(self) -> bool:
        return True


def shown(out: io.StringIO) -> List[str]:
    """The lines, each as it stood there at some time."""
    lines = out.getvalue().replace("\r", "\n").split("\n")
    return [line.rstrip() for line in lines if line.strip()]


def statistics(
    wall: float, waited: float, batches: int = 10, **buckets: float
) -> Dict[str, Any]:
    total = {
        "wall_seconds": wall,
        "wait_seconds": waited,
        "batches": batches,
        "samples": 4 * batches,
        "bytes_read": 0,
    }
    names = ("fetch", "prep", "residual")
    parts = {name: buckets.get(name, 0.0) for name in names}
    return {"stats": total, "stall": {"buckets": parts}}


# ---- Words -------------------------------------------------------------------


def test_words_are_of_the_time_between() -> None:
    before = statistics(10, 8, prep=8.0)
    now = statistics(20, 13, prep=8.5, fetch=4.5)
    assert progress_bar.waiting(now, before) == "waits 50%: reading"
    words = "waits 65%: decoding and augmenting"
    assert progress_bar.waiting(now, None) == words


def test_no_wait_has_no_cause() -> None:
    now = statistics(10, 0.01, prep=0.01)
    assert progress_bar.waiting(now, None) == "waits 0%"


def test_what_nobody_sees_has_no_cause() -> None:
    now = statistics(10, 5, residual=5.0)
    assert progress_bar.waiting(now, None) == "waits 50%"


def test_a_reset_in_between_counts_from_it() -> None:
    before = statistics(100, 80, prep=80.0)
    now = statistics(2, 1, fetch=1.0)
    assert progress_bar.waiting(now, before) == "waits 50%: reading"


# ---- Places ------------------------------------------------------------------


def test_every_batch_comes_and_a_terminal_shows_the_last(make: Any) -> None:
    loader, out = make(), Terminal()
    bar = feedline.progress(loader, desc="epoch 0", file=out, mininterval=0)
    assert len(bar) == len(loader) == 6
    assert [batch.sequence for batch in bar] == list(range(6))
    last = shown(out)[-1]
    assert last.startswith("epoch 0: 100%|") and "6/6 [" in last
    assert "batch/s" in last and "waits " in last


def test_a_narrow_terminal_has_no_room_for_a_second_rate(make: Any) -> None:
    for columns, there in ((80, False), (160, True)):
        out = Terminal()
        for _ in feedline.progress(make(), file=out, ncols=columns):
            pass
        assert ("samples/s" in shown(out)[-1]) == there
        assert all(len(line) <= columns for line in shown(out))


def test_a_log_gets_lines_and_no_control_characters(make: Any) -> None:
    out = io.StringIO()
    for _ in feedline.progress(make(), desc="epoch 0", file=out):
        pass
    (line,) = shown(out)  # shorter than its interval: one at the end
    assert out.getvalue() == line + "\n"
    assert line.startswith("epoch 0: 100% 6/6 [")
    assert "|" not in line and "waits " in line


def test_a_log_gets_a_line_for_each_interval(make: Any) -> None:
    out = io.StringIO()
    for _ in feedline.progress(make(), file=out, mininterval=0, miniters=1):
        pass
    counts = [line.split("/6")[0].split()[-1] for line in shown(out)]
    assert counts == ["1", "2", "3", "4", "5", "6"]


def test_disabled_shows_nothing(make: Any) -> None:
    out = Terminal()
    bar = feedline.progress(make(), file=out, disable=True)
    assert sum(1 for _ in bar) == 6
    assert out.getvalue() == ""


def test_a_notebook_shows_one_picture(make: Any, monkeypatch: Any) -> None:
    shown: List[Dict[str, str]] = []

    def display(texts: Dict[str, str], **named: Any) -> Any:
        shown.append(texts)
        update = lambda texts, raw: shown.append(texts)
        return SimpleNamespace(update=update)

    shell = SimpleNamespace(kernel=True)
    ipython = SimpleNamespace(
        get_ipython=lambda: shell, display=SimpleNamespace(display=display)
    )
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    for _ in feedline.progress(make(), desc="<b>", mininterval=0):
        pass
    last = shown[-1]
    assert "6/6 [" in last["text/plain"]
    assert '<progress aria-label="' in last["text/html"]
    assert 'value="6" max="6"' in last["text/html"]
    assert "&lt;b&gt;: 100%" in last["text/html"]


# ---- Life --------------------------------------------------------------------


def test_each_epoch_has_its_bar(make: Any) -> None:
    out = io.StringIO()
    bar = feedline.progress(make(), file=out)
    for epoch in range(2):
        bar.set_description("epoch %d" % epoch)
        for _ in bar:
            bar.set_postfix(loss=0.5)
        assert bar.bar is None
    lines = shown(out)
    assert [line.split(":")[0] for line in lines] == ["epoch 0", "epoch 1"]
    assert all("loss=0.5" in line for line in lines)


def test_a_loop_that_is_left_ends_its_bar(make: Any) -> None:
    out = io.StringIO()
    bar = feedline.progress(make(), file=out)
    for batch in bar:
        if batch.sequence == 1:
            break
    del batch
    assert bar.bar is None
    assert " 2/6 [" in shown(out)[-1] or " 1/6 [" in shown(out)[-1]


def test_an_exception_passes_through(make: Any) -> None:
    out = io.StringIO()
    with pytest.raises(ZeroDivisionError):
        for _ in feedline.progress(make(), file=out):
            1 / 0


def test_a_resumed_epoch_begins_where_it_stood(make: Any) -> None:
    first = make()
    batches = iter(first)
    for _ in range(2):
        next(batches)
    out = io.StringIO()
    second = make()
    second.restore(first.save())
    for _ in feedline.progress(second, file=out, mininterval=0, miniters=1):
        pass
    counts = [line.split("/6")[0].split()[-1] for line in shown(out)]
    assert counts == ["3", "4", "5", "6"]


def test_any_iterable_is_watched() -> None:
    def numbers() -> Iterator[int]:
        yield from range(5)

    out = io.StringIO()
    bar = feedline.progress(numbers(), file=out)
    assert list(bar) == list(range(5))
    assert isinstance(bar.loader, feedline.Watch)
    assert bar.loader.stats()["stats"]["batches"] == 5
    assert "5batch [" in shown(out)[-1] and "waits " in shown(out)[-1]


def test_a_torch_loader_is_taken_as_it_is(image_folder: Any) -> None:
    torch = pytest.importorskip("torch")
    datasets = pytest.importorskip("torchvision.datasets")
    transforms = pytest.importorskip("torchvision.transforms")
    from feedline.torch import DataLoader

    chain = transforms.Compose(
        [transforms.Resize((16, 16)), transforms.ToTensor()]
    )
    loader = DataLoader(
        datasets.ImageFolder(str(image_folder), chain), batch_size=4
    )
    out = io.StringIO()
    bar = feedline.progress(loader, file=out)
    assert bar.loader is loader
    assert all(isinstance(images, torch.Tensor) for images, _ in bar)
    assert "%d/%d [" % (len(loader), len(loader)) in shown(out)[-1]
    assert "waits " in shown(out)[-1]
    batches = iter(loader)
    next(batches)
    resumed = DataLoader(loader.dataset, batch_size=4)
    resumed.load_state_dict(loader.state_dict())
    assert resumed._feedline_delivered() == 1


def test_an_option_that_tqdm_has_not_is_refused(make: Any) -> None:
    with pytest.raises(KeyError, match="colur"):
        next(iter(feedline.progress(make(), colur="red", file=io.StringIO())))


def test_without_tqdm_the_error_says_what_to_install() -> None:
    done = run_bare(
        "import sys\n"
        "sys.modules['tqdm'] = sys.modules['tqdm.std'] = None\n"
        "import feedline\n"
        "try:\n"
        "    feedline.progress([1])\n"
        "except feedline.NotSupported as error:\n"
        "    assert isinstance(error, ImportError), error\n"
        "    print(error)\n"
    )
    check_clean(done)
    assert "pip install tqdm" in done.out


def test_statistics_of_a_closed_loader_are_no_error(make: Any) -> None:
    loader = make()
    words = progress_bar._Words(loader)
    loader.close()
    words.renew()
    assert words.waits == ""
