# SPDX-License-Identifier: Apache-2.0
"""The life of feedline.torch.DataLoader: iterators, copies, fork, end.

What the core Loader is tested for in test_life_*.py, once more through the
class that most programs use, and always on the native engine.
"""

from __future__ import annotations

import copy
import gc
import os
import pickle
import time
import warnings
from pathlib import Path
from typing import Any, List, Set, Tuple

import pytest

from child_process import TIME_LIMIT_S, signalled

from torch_cases import six_batches, torch


def labels_of(batches: Any) -> List[List[int]]:
    return [labels.tolist() for _, labels in batches]


PLAIN = [[0] * 4, [0] * 4, [1] * 4, [1] * 4, [2] * 4, [2] * 4]


@pytest.fixture()
def loader(image_folder: Path) -> Any:
    made = six_batches(image_folder)
    yield made
    assert made.fallback_reason is None
    assert made.native


# ---- Iterators -------------------------------------------------------------


def test_two_iterators_of_one_loader(loader: Any) -> None:
    one, two = iter(loader), iter(loader)
    pairs = [(a.tolist(), b.tolist()) for (_, a), (_, b) in zip(one, two)]
    assert pairs == [(labels, labels) for labels in PLAIN]


def test_a_loader_zipped_with_itself(loader: Any) -> None:
    assert len(list(zip(loader, loader))) == 6


def test_nested_loops(loader: Any) -> None:
    assert [labels_of(loader) for _ in loader] == [PLAIN] * 6


def test_breaks_and_exceptions_leave_a_clean_loader(loader: Any) -> None:
    for stop in range(6):
        for place, _ in enumerate(loader):
            if place == stop:
                break
        assert labels_of(loader) == PLAIN
    with pytest.raises(LookupError):
        for _ in loader:
            raise LookupError
    assert labels_of(loader) == PLAIN


def test_the_seventh_next_is_the_end_and_stays_it(loader: Any) -> None:
    epoch = iter(loader)
    assert labels_of(epoch) == PLAIN
    for _ in range(3):
        with pytest.raises(StopIteration):
            next(epoch)


@pytest.mark.parametrize("first", ["loader", "epoch", "batch"])
def test_a_tensor_outlives_all_else(image_folder: Path, first: str) -> None:
    have = {"loader": six_batches(image_folder)}
    have["epoch"] = iter(have["loader"])
    have["batch"] = next(have["epoch"])
    images = have["batch"][0]
    right = images.clone()
    del have[first]
    gc.collect()
    assert torch.equal(images, right)
    have.clear()
    gc.collect()
    assert torch.equal(images, right)


def test_every_batch_is_kept_with_one_warning_at_most(loader: Any) -> None:
    plain = [(a.clone(), b.clone()) for a, b in loader]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kept = [batch for _ in range(4) for batch in list(loader)]
    for place, (images, labels) in enumerate(kept):
        assert torch.equal(images, plain[place % 6][0])
        assert torch.equal(labels, plain[place % 6][1])
    ours = [w for w in caught if "feedline" in str(w.category)]
    assert len(ours) <= 1


# ---- Threads and processes -------------------------------------------------


def thread_ids() -> Set[str]:
    return set(os.listdir("/proc/self/task"))


def test_a_loader_that_is_gone_leaves_no_thread(image_folder: Path) -> None:
    labels_of(
        six_batches(image_folder)
    )  # what stays for ever is there after this
    gc.collect()
    before = thread_ids()
    loader = six_batches(image_folder)
    epoch = iter(loader)
    next(epoch)
    started = thread_ids() - before
    assert started
    del epoch, loader
    gc.collect()
    # The kernel forgets a thread a moment after it was joined.
    give_up = time.monotonic() + TIME_LIMIT_S
    while started & thread_ids() and time.monotonic() < give_up:
        time.sleep(0.01)
    assert not started & thread_ids()


def in_child(work: Any) -> int:
    """The status of a forked child that does `work`."""
    pid = os.fork()
    if pid == 0:
        status = 9
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.WEXITSTATUS(os.waitpid(pid, 0)[1])


def test_a_forked_child_is_refused_and_the_parent_goes_on(loader: Any) -> None:
    epoch = iter(loader)
    first = next(epoch)[1].tolist()

    def use() -> None:
        try:
            for _ in epoch:
                pass
        except RuntimeError as error:
            assert "fork()" in str(error), error
        else:
            raise AssertionError("the child got batches")

    assert in_child(use) == 0
    assert [first] + labels_of(epoch) == PLAIN


def test_a_forked_child_begins_an_epoch_of_its_own(loader: Any) -> None:
    epoch = iter(loader)
    next(epoch)

    def use() -> None:
        assert labels_of(loader) == PLAIN

    assert in_child(use) == 0
    assert labels_of(epoch) == PLAIN[1:]


def test_fork_workers_of_a_torch_loader_beside_it(loader: Any) -> None:
    epoch = iter(loader)
    next(epoch)
    others = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.arange(8)),
        num_workers=2,
        multiprocessing_context="fork",
    )
    assert sorted(int(x) for (x,) in others) == list(range(8))
    assert labels_of(epoch) == PLAIN[1:]


def by_pickle(loader: Any) -> Any:
    return pickle.loads(pickle.dumps(loader))


@pytest.mark.parametrize("copied", [by_pickle, copy.deepcopy, copy.copy])
def test_copies_are_the_configuration(loader: Any, copied: Any) -> None:
    epoch = iter(loader)
    next(epoch)
    again = copied(loader)
    assert type(again) is type(loader)
    assert labels_of(again) == PLAIN
    assert again.native
    assert labels_of(epoch) == PLAIN[1:]  # the original did not notice


# ---- Signals and the end of the program ------------------------------------


def test_ctrl_c_and_an_end_with_everything_alive(image_folder: Path) -> None:
    code = """
        loader = torch_loader()
        step = iter(range(10**9))
        try:
            while True:
                for images, labels in loader:
                    if next(step) == 8:
                        print("training", flush=True)
                        time.sleep(60)
        except KeyboardInterrupt:
            pass
        assert loader.native, loader.fallback_reason
        seen = sum(len(labels) for images, labels in loader)
        one, two = iter(loader), iter(loader)
        images, labels = next(one)
        kept = next(two)[0][1:, :, ::2]
        print(seen)
    """
    signalled(code, image_folder, "training", said="24")


# ---- Shared memory ----------------------------------------------------------


def test_shared_memory_is_not_touched(loader: Any) -> None:
    """torch's workers need it; containers have 64 MiB of it."""
    for images, _ in loader:
        assert not images.is_shared()
        with open("/proc/self/maps", encoding="utf-8") as file:
            mapped = {line.split()[-1] for line in file}
        ours = {name for name in mapped if name.startswith("/dev/shm/torch")}
        assert not ours


# ---- Memory ----------------------------------------------------------------


def resident() -> int:
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        for line in file:
            if line.startswith("Rss:"):
                return int(line.split()[1]) * 1024
    raise AssertionError("no Rss")


def test_resident_memory_is_flat_over_fifty_epochs(
    image_folder: Path,
) -> None:
    loader = six_batches(image_folder, 96)

    def epochs(n: int) -> Tuple[int, int]:
        for _ in range(n):
            for images, _ in loader:
                assert images.shape == (4, 3, 96, 96)
        gc.collect()
        return resident(), len(gc.get_objects())

    start, objects = epochs(10)
    end, objects_now = epochs(50)
    assert loader.native
    print("RSS after 50 epochs %+d KiB" % ((end - start) // 1024))
    # 50 epochs are 127 MiB of batches.
    assert end - start < 12 << 20
    assert objects_now - objects < 100
