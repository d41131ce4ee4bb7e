#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long next() takes for a batch that is ready, in a row and behind pauses.

    bench/next_cost.py [FOLDER] [--rounds N] [--rows NAME ...]

FOLDER has a folder of images for each class; without one, small JPEGs are made.
Everything below is measured in turn, so that all rows see the same machine, and
each row of loaders waits for its batches to be ready first. A batch is released
before the pause, outside of what is timed.

    empty method        what the interpreter itself takes: its caches are cold
                        behind a pause, and the core may have slept
    empty ctypes call   the same for a call into the library that does nothing
    two torch tensors   the same for what a batch becomes, without any loader
    Loader              next() of feedline.Loader
    DataLoader          next() of feedline.torch.DataLoader's iterator
    tuned               the same with the numbers left to the tuner
    torch's             the same of torch.utils.data.DataLoader
    pinned              DataLoader with pin_memory=True, and torch's own; on
    torch's pinned      request only. Without a GPU, plain memory of torch's
                        stands for pinned memory, allocated and written in the
                        same places, torch's by torch's own thread

The pauses: time.sleep, with caches as the rest of the machine leaves them; a
loop that spins, so the core neither sleeps nor loses its caches; work on 32 MB,
so that it loses them and does not sleep. Printed are medians and, in brackets,
95th percentiles, in microseconds. Rows with torch are left out where there is
none.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import os
import platform
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import feedline
from feedline._library import lib

WORKERS = 2
AHEAD = 12  # batches
FIXED = {"num_workers": WORKERS, "prefetch_factor": AHEAD // WORKERS}
IN_A_ROW = 8  # calls of a turn, fewer than are ahead

try:
    import torch
    from torchvision import datasets, transforms

    import feedline.torch
    from feedline.torch import handover
except ImportError:
    torch = None

scratch = ctypes.create_string_buffer(32 << 20)


# ---- Pauses -----------------------------------------------------------------


def sleep(ms: float) -> Callable[[], None]:
    return lambda: time.sleep(ms / 1000)


def spin() -> None:
    end = time.perf_counter() + 0.02
    while time.perf_counter() < end:
        pass


def work() -> None:
    end = time.perf_counter() + 0.02
    while time.perf_counter() < end:
        ctypes.memset(scratch, 1, len(scratch))


PAUSES: Dict[str, Callable[[], None]] = {
    "in a row": lambda: None,
    "sleep 1 ms": sleep(1),
    "sleep 5 ms": sleep(5),
    "sleep 20 ms": sleep(20),
    "spin 20 ms": spin,
    "32 MB, 20 ms": work,
}


# ---- Pinned memory ----------------------------------------------------------

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of malloc.h


def plain_empty(shape: Any, strides: Any, dtype: Any) -> Any:
    return torch.empty_strided(shape, strides, dtype=dtype)


def plainly_pinned(tensor: Any, device: Any = None) -> Any:
    return torch.empty_like(tensor).copy_(tensor)


def pretend() -> None:
    """That there is a GPU, for both DataLoaders: what they call of torch when
    they pin, with plain memory. Like pinned memory, freed memory is kept."""
    if torch.cuda.is_available():
        return
    libc = ctypes.CDLL(None)
    libc.mallopt(M_MMAP_MAX, 0)
    libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    handover.pinned_empty = plain_empty
    torch.Tensor.pin_memory = plainly_pinned
    for name, found in (("is_available", True), ("current_device_index", 0),
                        ("current_accelerator", torch.device("cuda")),
                        ("set_device_index", None)):
        setattr(torch.accelerator, name, lambda *_, found=found, **__: found)


# ---- What is timed ----------------------------------------------------------


class Empty:
    def method(self) -> None:
        pass


def make_images(root: Path) -> Path:
    """48 smooth JPEGs of about 10 KB."""
    from PIL import Image

    for number in range(48):
        noise = random.Random(number).randbytes(16 * 16 * 3)
        image = Image.frombytes("RGB", (16, 16), noise)
        folder = root / ("class_%d" % (number % 3))
        folder.mkdir(parents=True, exist_ok=True)
        image.resize((256, 256), Image.BICUBIC).save(
            folder / ("%d.jpg" % number))
    return root


def core(
    folder: Path, side: int, size: int, times: int
) -> Callable[[], Any]:
    """An epoch that is `times` as long as the folder."""
    opened = feedline.Dataset.open("folder:%s" % folder)
    paths = [opened.path(i) for i in range(len(opened))]
    pipeline = feedline.Pipeline().add(
        "random_resized_crop", width=side, height=side)
    loader = feedline.Loader(
        feedline.Dataset.paths(paths * times), pipeline, batch_size=size,
        shuffle=True, workers=WORKERS, depth=AHEAD, tuner="off")
    return iter(loader).__next__


def with_torch(kind: Any, folder: Path, side: int, size: int, times: int,
               **more: Any) -> Callable[[], Any]:
    chain = transforms.Compose(
        [transforms.RandomResizedCrop(side), transforms.ToTensor()])
    data = datasets.ImageFolder(str(folder), chain)
    data.samples = data.imgs = data.samples * times
    data.targets = data.targets * times
    return iter(kind(data, batch_size=size, shuffle=True, **more)).__next__


def two_tensors() -> Any:
    return torch.empty(8), torch.empty(8)


def ours(*where: Any) -> Callable[[], Any]:
    return with_torch(feedline.torch.DataLoader, *where, **FIXED,
                      backend="native")


def tuned(*where: Any) -> Callable[[], Any]:
    return with_torch(feedline.torch.DataLoader, *where, backend="native")


def theirs(*where: Any) -> Callable[[], Any]:
    return with_torch(torch.utils.data.DataLoader, *where, **FIXED)


def pinned(*where: Any) -> Callable[[], Any]:
    pretend()
    return with_torch(feedline.torch.DataLoader, *where, **FIXED,
                      backend="native", pin_memory=True)


def theirs_pinned(*where: Any) -> Callable[[], Any]:
    pretend()
    return with_torch(torch.utils.data.DataLoader, *where, **FIXED,
                      pin_memory=True)


# What makes the call that is timed, of a folder, the side of the images, the
# samples of a batch, and how often the folder comes in an epoch.
ROWS: Dict[str, Callable[..., Callable[[], Any]]] = {
    "empty method": lambda *where: Empty().method,
    "empty ctypes call": lambda *where: lib.quick.version_number,
    "Loader": core,
}
if torch is not None:
    ROWS.update({"two torch tensors": lambda *where: two_tensors,
                 "DataLoader": ours, "tuned": tuned, "torch's": theirs,
                 "pinned": pinned, "torch's pinned": theirs_pinned})
USUAL = [name for name in ROWS if "pinned" not in name]


def turn(call: Callable[[], Any], pause: Callable[[], None],
         settle: float) -> List[float]:
    """Microseconds of some calls, behind a first one that is not counted."""
    time.sleep(settle)
    call()
    found = []
    for _ in range(IN_A_ROW):
        pause()
        begin = time.perf_counter_ns()
        made = call()
        found.append((time.perf_counter_ns() - begin) / 1000)
        del made
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path,
                        help="images, one folder per class [generated]")
    parser.add_argument("--rounds", type=int, default=5, metavar="N",
                        help="turns of each row and pause [%(default)s]")
    parser.add_argument("--batch-size", type=int, default=16, metavar="B",
                        help="samples in a batch [%(default)s]")
    parser.add_argument("--side", type=int, default=64, metavar="N",
                        help="of the images of a batch [%(default)s]")
    parser.add_argument("--settle", type=float, default=0.4, metavar="S",
                        help="seconds in which all that go ahead are made "
                        "[%(default)s]")
    parser.add_argument("--pauses", nargs="+", metavar="NAME", choices=PAUSES,
                        default=list(PAUSES), help="only these [all]")
    parser.add_argument("--rows", nargs="+", metavar="NAME", choices=ROWS,
                        default=USUAL,
                        help="only these [all but those with pinned memory]")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        measure(arguments, arguments.folder or make_images(Path(made)))


def measure(arguments: argparse.Namespace, folder: Path) -> None:
    size, names = arguments.batch_size, arguments.rows
    pauses = arguments.pauses
    turns = arguments.rounds * len(pauses)
    samples = size * (turns * (IN_A_ROW + 1) + AHEAD)
    times = 1 + samples // sum(1 for _ in folder.glob("*/*"))
    calls = {name: ROWS[name](folder, arguments.side, size, times)
             for name in names}
    for call in calls.values():
        call()  # threads and processes start
    found: Dict[Tuple[str, str], List[float]] = {
        key: [] for key in itertools.product(names, pauses)}
    for _ in range(arguments.rounds):
        for name, pause in found:
            found[name, pause] += turn(calls[name], PAUSES[pause],
                                       arguments.settle)
    print("Python %s, torch %s, %s, %d cores, load %.1f" % (
        platform.python_version(), torch and torch.__version__, lib.path,
        len(os.sched_getaffinity(0)), os.getloadavg()[0]))
    print("%-18s" % "" + "".join("%16s" % pause for pause in pauses))
    for name in names:
        print("%-18s" % name + "".join(
            "%16s" % told(found[name, pause]) for pause in pauses))


def told(found: List[float]) -> str:
    high = sorted(found)[int(0.95 * len(found))]
    return "%.1f (%.0f)" % (statistics.median(found), high)


if __name__ == "__main__":
    main()
