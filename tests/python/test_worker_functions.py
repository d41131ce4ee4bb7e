# SPDX-License-Identifier: Apache-2.0
"""Functions of the program that workers of torch's loader spend their time in
are named. Who takes how much is planted in work, or told by the worker's own
clock, not in seconds."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
import zlib
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import pytest

torch = pytest.importorskip("torch")

import forks  # noqa: E402
import markdown_examples  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402

import feedline  # noqa: E402
import feedline.torch  # noqa: E402
from feedline.worker_functions import IDLE, Address  # noqa: E402
from feedline.worker_functions import Functions, Places  # noqa: E402
from feedline.worker_functions import is_the_programs  # noqa: E402

ENOUGH = 64  # batches, for a verdict
HERE = os.path.basename(__file__)
ROOT = Path(__file__).resolve().parents[2]
NOISE = os.urandom(20_000)


def costly(rounds: int = 200_000) -> int:
    total = 0
    for number in range(rounds):
        total += number
    return total


def cheap() -> int:
    return sum(range(1000))


def sleepy() -> None:
    time.sleep(0.02)


def squeezed() -> None:
    """Gives up the interpreter's lock at once, for as long as it takes."""
    zlib.compress(NOISE)


class Samples(Dataset):  # type: ignore[misc]
    """Each does this, and that, and tells how long the first took."""

    def __init__(self, *work: Callable[[], Any], dies_after: float = 0) -> None:
        self.work = work
        self.dies_after = dies_after
        self.since: Optional[float] = None

    def __len__(self) -> int:
        return 512

    def __getitem__(self, index: int) -> Any:
        took = []
        self.since = self.since or time.monotonic()
        if self.dies_after and time.monotonic() > self.since + self.dies_after:
            os._exit(3)
        for one in self.work:
            began = time.perf_counter()
            one()
            took.append(time.perf_counter() - began)
        return torch.tensor(took or [0.0])


def shares(loader: Any) -> Dict[str, float]:
    """Of the workers' time, by the name of the function."""
    found: Dict[str, float] = {}
    for one in loader.stats()["operations"]:
        if HERE in one["label"]:
            name = one["label"].split(" in ")[-1]
            found[name] = found.get(name, 0) + one["worker_fraction"]
    return found


def enough(loader: Any) -> bool:
    stats = loader.stats()
    seen = sum(one["wall_seconds"] for one in stats["operations"])
    batches = stats["stats"]["batches"] >= ENOUGH
    return seen >= 1.5 and batches and bool(stats["watch"]["processes"])


def iterated(loader: Any) -> Any:
    """Until its workers were seen for long enough."""
    while True:
        for _ in loader:
            if enough(loader):
                return loader


def test_a_row_is_one_line_whatever_a_file_is_called() -> None:
    places = Places()
    names: Dict[str, Any] = {"look": lambda: places.of(sys._getframe(1))}
    text = "def read():\n    return look()\n"
    exec(compile(text, "/x/tr\nain\udce9.py", "exec"), names)
    assert names["read"]() == b"tr?ain?.py:1 in read"
    exec(compile(text, "/x/%s.py" % ("\u00e9" * 40), "exec"), names)
    assert names["read"]().decode() == "\u00e9" * 31


FETCH = "/x/site-packages/torch/utils/data/_utils/fetch.py"


def test_what_is_all_libraries_is_named_while_a_batch_is_made() -> None:
    places = Places()
    names: Dict[str, Any] = {
        "__name__": "library.images",
        "look": lambda: places.of(sys._getframe(1)),
    }
    text = "def load():\n    return [look() for _ in range(1)][0]\n"
    exec(compile(text, "/x/site-packages/library/images.py", "exec"), names)
    text = "def fetch():\n    return load()\n"
    text += "def _worker_loop(work):\n    return work()\n"
    exec(compile(text, FETCH, "exec"), names)
    loop = names["_worker_loop"]
    assert loop(names["fetch"]) == b"library.images.load"
    assert loop(names["load"]) is None  # it begins, or ends
    text = "def get():\n    return load()\n"
    path = "/usr/lib/python3.11/multiprocessing/queues.py"
    exec(compile(text, path, "exec"), names)
    assert loop(names["get"]) == IDLE


def test_a_data_set_of_a_library_alone() -> None:
    path = "/x/site-packages/library/images.py"
    names: Dict[str, Any] = {"__name__": "library.images", "torch": torch}
    text = """
class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 512
    def __getitem__(self, index):
        return torch.tensor([self.decode()])
    def decode(self):
        total = 0
        for number in range(200_000):
            total += number
        return total
"""
    exec(compile(text, path, "exec"), names)
    loader = feedline.watch(
        DataLoader(
            names["Images"](),
            batch_size=4,
            num_workers=2,
            persistent_workers=True,
        )
    )
    iterated(loader)
    leads = max(
        loader.stats()["operations"], key=lambda one: one["worker_fraction"]
    )
    assert leads["label"] == "library.images.decode"
    assert "library.images.decode" in loader.verdict.sentence


def test_who_makes_images_is_told_what_makes_them_faster(
    image_folder: Path,
) -> None:
    pytest.importorskip("torchvision")
    from torchvision import transforms
    from torchvision.datasets import ImageFolder

    many = [transforms.Resize(1000), transforms.Resize((64, 64))]
    steps = transforms.Compose([*many, transforms.ToTensor()])
    data = ImageFolder(str(image_folder), steps)
    loader = feedline.watch(DataLoader(data, batch_size=2, num_workers=1))
    assert "in place of" not in loader.explain()
    iterated(loader)
    assert "feedline.torch.DataLoader does their work" in loader.explain()


@pytest.mark.parametrize("persistent", (False, True))
def test_a_costly_function_leads(persistent: bool) -> None:
    data = Samples(costly, cheap)
    loader = feedline.watch(
        DataLoader(
            data, batch_size=4, num_workers=2, persistent_workers=persistent
        )
    )
    iterated(loader)
    found = shares(loader)
    assert max(found, key=lambda name: found[name]) == "costly"
    assert found["costly"] > 0.5
    named = "%s:%d in costly" % (HERE, costly.__code__.co_firstlineno)
    verdict = loader.verdict
    assert named in verdict.sentence
    if "while one waits" not in verdict.action:
        assert named in verdict.action
    assert "- %s: " % named in loader.explain()
    assert "in place of torch" not in loader.explain()
    assert loader._inner.worker_init_fn is None


def test_workers_that_are_spawned() -> None:
    loader = feedline.watch(
        DataLoader(
            Samples(costly),
            batch_size=4,
            num_workers=1,
            multiprocessing_context="spawn",
            persistent_workers=True,
        )
    )
    iterated(loader)
    assert max(shares(loader).items(), key=lambda one: one[1])[0] == "costly"


def test_their_cpu_time_is_counted() -> None:
    loader = feedline.watch(
        DataLoader(Samples(costly), batch_size=4, num_workers=2)
    )
    iterated(loader)
    pattern = r"feedline_children_cpu_seconds_total\S* ([0-9.]+)"
    found = re.search(pattern, loader.metrics_text())
    assert found is not None and float(found.group(1)) > 0.3


def test_a_fallback_names_it() -> None:
    loader = feedline.torch.DataLoader(
        Samples(costly), batch_size=4, num_workers=2, backend="torch"
    )
    iterated(loader)
    assert "in costly" in loader.verdict.sentence
    assert "in costly: " in loader.explain()


def test_one_that_sleeps() -> None:
    loader = feedline.watch(
        DataLoader(Samples(sleepy, cheap), batch_size=2, num_workers=2)
    )
    iterated(loader)
    first = loader.stats()["operations"][0]
    assert "in sleepy" in first["label"]
    assert first["cpu_seconds"] < 0.5 * first["wall_seconds"]


def test_the_share_is_what_the_worker_saw_itself() -> None:
    """Of two that take as long, one never lets go of the interpreter, and the
    other one always."""
    loader = feedline.watch(
        DataLoader(
            Samples(lambda: costly(40_000), squeezed),
            batch_size=4,
            num_workers=1,
        )
    )
    took = torch.zeros(2)
    while not enough(loader):
        for batch in loader:
            took += batch.sum(0)
    found = shares(loader)
    truth = float(took[0] / took.sum())
    seen = found["costly"] / (found["costly"] + found["squeezed"])
    assert truth - 0.2 < seen < truth + 0.2


def test_a_fast_data_set_names_nothing() -> None:
    """Its workers wait for a consumer that pauses for longer."""
    loader = feedline.watch(DataLoader(Samples(), num_workers=2))
    began = time.monotonic()
    for number, _ in enumerate(loader):
        time.sleep(0.02)
        if number > ENOUGH and time.monotonic() > began + 2:
            break
    assert not [share for share in shares(loader).values() if share > 0.4]
    assert HERE not in str(loader.verdict)


def idle_part(loader: Any) -> float:
    """Of the workers' time, as explain() says."""
    found = re.search(r"- idle, .*: (\d+) % of the workers", loader.explain())
    return 0.0 if found is None else int(found.group(1)) / 100


def test_workers_that_wait_for_the_program_are_idle() -> None:
    """Each batch takes one of two a fifth of the program's step."""
    loader = feedline.watch(DataLoader(Samples(sleepy), num_workers=2))
    began = time.monotonic()
    for _ in loader:
        time.sleep(0.1)
        if time.monotonic() > began + 3 and idle_part(loader) > 0:
            break
    assert idle_part(loader) > 0.5
    assert sum(shares(loader).values()) < 0.5


def test_workers_that_are_waited_for_are_not() -> None:
    loader = feedline.watch(
        DataLoader(Samples(sleepy), batch_size=4, num_workers=2)
    )
    iterated(loader)
    assert idle_part(loader) < 0.5


def test_a_worker_that_dies_has_told() -> None:
    """In a process of its own, where torch's handler of SIGCHLD is taken away:
    it raises the same error at whatever line the program is then."""

    def work() -> None:
        loader = feedline.watch(
            DataLoader(
                Samples(costly, dies_after=3),
                num_workers=1,
                persistent_workers=True,
            )
        )
        with pytest.raises((RuntimeError, ConnectionError, EOFError)):
            while True:
                for _ in loader:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        found = shares(loader)
        assert max(found.items(), key=lambda one: one[1])[0] == "costly"

    assert forks.run(work) == 0


# ---- It changes nothing ------------------------------------------------------


def noted(worker_id: int) -> None:
    torch.manual_seed(100 + worker_id)


def broken(worker_id: int) -> None:
    raise LookupError("worker %d" % worker_id)


class Drawn(Samples):
    def __getitem__(self, index: int) -> Any:
        return torch.rand(1)


def test_the_workers_own_beginning() -> None:
    def of(loader: Any) -> List[Any]:
        return [batch.tolist() for batch in loader]

    plain = DataLoader(
        Drawn(), batch_size=64, num_workers=2, worker_init_fn=noted
    )
    assert of(feedline.watch(plain)) == of(plain)
    plain.worker_init_fn = broken
    with pytest.raises(LookupError, match="worker 0"):
        of(feedline.watch(plain))
    assert plain.worker_init_fn is broken


def test_a_child_takes_nothing_away() -> None:
    functions = Functions()
    fd = functions._address.open()
    os.write(fd, b"7 3 f\n")

    def work() -> None:
        assert list(functions.told()) == []

    assert forks.run(work) == 0
    assert list(functions.told()) == [(b"f", 7, 3)]
    os.close(fd)
    functions.close()
    assert list(functions.told()) == []


def test_another_file_in_the_pipes_place_is_left_alone(tmp_path: Any) -> None:
    file = tmp_path / "checkpoint"
    file.write_bytes(b"precious")
    with pytest.raises(FileNotFoundError, match="another file"):
        Address(str(file), 0, 0).open()
    assert file.read_bytes() == b"precious"


def test_whose_a_file_is() -> None:
    assert is_the_programs(__file__)
    assert is_the_programs("<stdin>")
    assert not is_the_programs(os.__file__)
    assert not is_the_programs(torch.__file__)
    assert not is_the_programs(feedline.__file__)
    assert not is_the_programs("<frozen importlib._bootstrap>")


def test_the_page_finds_its_planted_cause(
    image_folder: Path, tmp_path: Path, monkeypatch: Any, capfd: Any
) -> None:
    """The program of docs/howto/bottleneck.md."""
    pytest.importorskip("torchvision")
    (tmp_path / "photos").symlink_to(image_folder)
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "howto" / "bottleneck.md"
    (program,) = [
        text for text in markdown_examples.examples(page) if "vignette" in text
    ]
    assert markdown_examples.run(program) == 0
    first = capfd.readouterr().out.split("What the workers do:\n")[1]
    assert first.startswith("- <example>:7 in vignette: ")
