# SPDX-License-Identifier: Apache-2.0
"""Helper processes that are killed, that hang, and samples that they cannot
make or send."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any, List

import pytest

import forks
from child_process import check_clean, run
from child_process import signalled
from recorded_sets import Files
from test_torch_recorded_helpers import alone, as_list, helpers_of, loader_of
from test_torch_recorded_helpers import root, same_batches

import feedline
from feedline.torch import recorded_helpers as helpers
from torch.utils.data import get_worker_info

__all__ = ["alone", "root"]  # fixtures


def is_there(process: int) -> bool:
    """Neither ended nor a zombie."""
    try:
        stat = Path("/proc/%d/stat" % process).read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def pids_of(batches: Any) -> List[int]:
    return [helper.process.pid for helper in helpers_of(batches)._all]


def await_end_of(pids: List[int]) -> None:
    """One that does not end is a test that does not."""
    while any(map(is_there, pids)):
        time.sleep(0.01)


def in_helper() -> bool:
    info = get_worker_info()
    return info is not None and info.id > 0


# ---- Killed ------------------------------------------------------------------


@pytest.mark.parametrize("when", [0, 1, 4])
@pytest.mark.parametrize("number", [1, 2])
def test_killed_in_the_middle(
    root: Path, alone: None, when: int, number: int
) -> None:
    whole = list(loader_of(Files(root), batch_size=1, helpers=0))
    loader = loader_of(Files(root), batch_size=1, helpers=number)
    batches = iter(loader)
    found = [next(batches) for _ in range(when)]
    os.kill(pids_of(batches)[0], signal.SIGKILL)
    with pytest.warns(feedline.EngineWarning, match="signal 9") as said:
        found += batches
    assert len(said) == 1, [str(one.message) for one in said]
    assert same_batches(found, whole)
    assert "1 ended by themselves" in loader.explain()


@pytest.mark.filterwarnings("ignore::feedline.EngineWarning")
def test_all_killed_again_and_again(root: Path) -> None:
    both = [loader_of(Files(root), batch_size=2, helpers=n) for n in (0, 3)]
    for _ in range(3):
        batches = iter(both[1])
        found = [next(batches)]
        for pid in pids_of(batches):
            os.kill(pid, signal.SIGKILL)
        found += batches
        assert same_batches(found, list(both[0]))
    assert multiprocessing.active_children() == []


class Deadly(Files):
    """Kills a helper that makes one of its samples."""

    def __getitem__(self, index: int) -> Any:
        if index == 9 and in_helper():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


def test_a_sample_that_kills_is_made_here(root: Path, alone: None) -> None:
    whole = list(loader_of(Files(root), helpers=0))
    batches = iter(loader_of(Deadly(root), helpers=3))
    with pytest.warns(feedline.EngineWarning, match="signal 9"):
        found = list(batches)
    assert same_batches(found, whole)
    made = helpers_of(batches)
    assert made.lost == 0 and made.made == 5 and made.made_here == 1


# ---- Samples that raise, and that are nothing to send ------------------------


class Raising(Files):
    def __getitem__(self, index: int) -> Any:
        if index == 9:
            raise KeyError("no sample %d" % index)
        return super().__getitem__(index)


def test_a_samples_own_error(root: Path, alone: None) -> None:
    batches = iter(loader_of(Raising(root), helpers=1))
    found = [next(batches), next(batches)]
    with pytest.raises(KeyError, match="no sample 9"):
        next(batches)
    found += batches
    whole = list(loader_of(Files(root), helpers=0))
    assert same_batches(found, whole[:2] + whole[3:])
    assert helpers_of(batches).made == 6
    for on_error in ("skip", "zero"):
        both = [
            list(loader_of(Raising(root), helpers=n, on_error=on_error))
            for n in (0, 1)
        ]
        assert same_batches(*both)


class Unsent(Files):
    def __getitem__(self, index: int) -> Any:
        made = super().__getitem__(index)
        return (*made, lambda: index)


def test_what_cannot_be_pickled_is_made_here(root: Path, alone: None) -> None:
    loader = loader_of(Unsent(root), collate_fn=as_list, helpers=2, verify=0)
    with pytest.warns(feedline.EngineWarning, match="pickle") as said:
        found = [sample[2]() for batch in loader for sample in batch]
    assert found == list(range(24)) and len(said) == 1
    assert "no helper processes" in loader.explain()
    assert len(list(loader)) == 6


class Broken:
    """Is sent, and does not arrive."""

    def __reduce__(self) -> Any:
        return _not_made, ()


def _not_made() -> Any:
    raise ValueError("cannot be made of this")


class Lost(Files):
    def __getitem__(self, index: int) -> Any:
        return (*super().__getitem__(index), Broken())


def test_what_does_not_arrive_is_made_here(root: Path, alone: None) -> None:
    loader = loader_of(Lost(root), collate_fn=as_list, helpers=1, verify=0)
    with pytest.warns(feedline.EngineWarning, match="cannot be made of this"):
        found = [sample[1] for batch in loader for sample in batch]
    assert found == [index % 3 for index in range(24)]


def test_one_that_cannot_begin(root: Path) -> None:
    def init(number: int) -> None:
        raise OSError("no place for worker %d" % number)

    batches = iter(loader_of(Files(root), helpers=1))
    made = helpers_of(batches)
    made._work = made._work._replace(init=init)
    batches._use._grow(1)
    with pytest.warns(feedline.EngineWarning, match="no place for worker 2"):
        assert len(list(batches)) == 6


# ---- Hanging -----------------------------------------------------------------


class Hanging(Files):
    def __getitem__(self, index: int) -> Any:
        if index == 9 and in_helper():
            time.sleep(3600)
        return super().__getitem__(index)


def test_one_that_hangs(
    root: Path, alone: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch's timeout; and the loader goes without it."""
    monkeypatch.setattr(helpers, "END_S", 0.2)
    for leave in ("del", "gc"):
        batches = iter(loader_of(Hanging(root), helpers=1, timeout=1))
        pids = pids_of(batches)
        next(batches), next(batches)
        with pytest.raises(RuntimeError, match="timed out"):
            next(batches)
        if leave == "gc":
            ring = [batches]
            ring.append(ring)
            del ring
        del batches
        gc.collect()
        await_end_of(pids)
    assert multiprocessing.active_children() == []


# ---- Ends --------------------------------------------------------------------


def descriptors() -> int:
    """Sockets and pipes of this process."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink("/proc/self/fd/" + name))
        except OSError:
            pass  # that of this listing
    return sum(one.startswith(("socket:", "pipe:")) for one in found)


def test_nothing_is_left(root: Path) -> None:
    loader = loader_of(Files(root), helpers=2)
    list(loader)
    before, seen = descriptors(), []
    for number in range(8):
        batches = iter(loader)
        seen += pids_of(batches)
        for count, _ in enumerate(batches):
            if count == number:
                break
    del batches
    gc.collect()
    await_end_of(seen)
    assert multiprocessing.active_children() == []
    assert descriptors() <= before


def test_a_fork_of_the_program(root: Path) -> None:
    """Its child does not keep them alive, and they do not mind it."""
    whole = list(loader_of(Files(root), batch_size=2, helpers=0))
    loader = loader_of(Files(root), batch_size=2, helpers=2)
    batches = iter(loader)
    found = [next(batches)]
    pids = pids_of(batches)

    def use() -> None:
        with pytest.raises(RuntimeError, match="fork"):
            list(batches)
        again = loader_of(Files(root), batch_size=2, helpers=1)
        assert same_batches(list(again), whole)

    assert forks.run(use) == 0
    sleeping = forks.begin(lambda: time.sleep(3600))
    found += batches
    assert same_batches(found, whole)
    await_end_of(pids)
    os.kill(sleeping, signal.SIGKILL)
    os.waitpid(sleeping, 0)


PROGRAM = """
    import glob, torch
    from PIL import Image
    from torchvision.transforms.functional import to_tensor
    from feedline.torch import DataLoader
    import feedline.torch.recorded_helpers as helpers

    files = sorted(glob.glob(FOLDER + "/*/*.jpg"))
    helpers.SHARES = False

    class Own(torch.utils.data.Dataset):
        def __len__(self):
            return N

        def __getitem__(self, index):
            return to_tensor(Image.open(files[index]).resize((8, 8))), index

    class Slow(Own):
        def __getitem__(self, index):
            info = torch.utils.data.get_worker_info()
            if index == 9 and info is not None and info.id > 0:
                time.sleep(3600)
            return super().__getitem__(index)

    def begun(dataset):
        loader = DataLoader(dataset, batch_size=4, num_workers=2, helpers=2)
        batches = iter(loader)
        assert loader.recorded, loader.fallback_reason
        next(batches)
        return batches

    def pids(batches):
        return [h.process.pid for h in batches._use.helpers._all]
"""


def program(code: str) -> str:
    import textwrap

    return textwrap.dedent(PROGRAM) + textwrap.dedent(code)


@pytest.mark.parametrize("kind", ["Own", "Slow"])
def test_the_program_ends_in_the_middle(image_folder: Path, kind: str) -> None:
    code = """
        helpers.END_S = 0.2
        batches = begun(%s())
        print(*pids(batches))
    """
    ended = run(program(code % kind), image_folder)
    check_clean(ended)
    await_end_of([int(pid) for pid in ended.out.split()])


def test_they_end_with_a_killed_program(image_folder: Path) -> None:
    code = """
        batches = begun(Own())
        print(*pids(batches), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    ended = run(program(code), image_folder)
    assert ended.status == -signal.SIGKILL, ended.err
    await_end_of([int(pid) for pid in ended.out.split()])


def test_ctrl_c_in_a_wait_for_one(image_folder: Path) -> None:
    """The epoch goes on, or ends."""
    code = """
        helpers.END_S = 0.2
        batches = begun(Slow())
        try:
            next(batches)
            print("waiting", flush=True)
            next(batches)
        except KeyboardInterrupt:
            pass
        found = pids(batches)
        del batches
        gc.collect()
        print(sum(os.path.exists("/proc/%d" % pid) for pid in found))
    """
    signalled(program(code), image_folder, "waiting", said="0")
