# SPDX-License-Identifier: Apache-2.0
"""The life of feedline.torch.DataLoader: threads, fork, Ctrl-C, memory.

What the core Loader is tested for in test_life_*.py, once more through the
class that most programs use, and always on the native engine; iterators and
copies are in test_torch_order.py and test_torch_contract.py.
"""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path
from typing import Any, List, Set, Tuple

import pytest

import forks
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

    assert forks.run(use) == 0
    assert [first] + labels_of(epoch) == PLAIN


def test_a_forked_child_begins_an_epoch_of_its_own(loader: Any) -> None:
    epoch = iter(loader)
    next(epoch)

    def use() -> None:
        assert labels_of(loader) == PLAIN

    assert forks.run(use) == 0
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


# ---- Memory ----------------------------------------------------------------


def resident() -> int:
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        for line in file:
            if line.startswith("Rss:"):
                return int(line.split()[1]) * 1024
    raise AssertionError("no Rss")


def test_resident_memory_is_flat_over_fifty_epochs(image_folder: Path) -> None:
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
