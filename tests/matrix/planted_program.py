# SPDX-License-Identifier: Apache-2.0
"""The program in which planted.py plants a cause: a process of its own, which
prints what its loader said, as JSON, and what it took."""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

from planted_causes import Cause


def sleepy(image: Any) -> None:
    time.sleep(0.01)


def nap5(image: Any) -> None:
    time.sleep(0.005)


def nap2(image: Any) -> None:
    time.sleep(0.002)


def compute(image: Any) -> None:
    total = 0
    for i in range(30000):
        total += i * i


FUNCTIONS: Dict[str, Callable[[Any], None]] = {
    f.__name__: f for f in (sleepy, nap5, nap2, compute)
}


def cores(helper: str) -> ctypes.CDLL:
    """cores.h: who may have which core, of this process."""
    found = ctypes.CDLL(str(Path(helper).with_name("planted_cores.so")))
    found.cores_quota.restype = ctypes.c_char_p
    found.cores_quota.argtypes = [ctypes.c_double]
    return found


def consume(loader: Any, cause: Cause, until: float, kept: List[Any]) -> int:
    batches = 0
    while True:
        for batch in loader:
            time.sleep(cause.step)
            if cause.consumer == "pauses" and (batches + 1) % cause.every == 0:
                time.sleep(0.6)
            if cause.consumer == "keeps":
                kept.append(batch)
                if len(kept) > 28:
                    kept.pop(0)
            else:
                batch.release()
            batches += 1
            if time.monotonic() > until:
                return batches


def most_memory_mb() -> float:
    """Of this program alone; ru_maxrss begins with that of its parent."""
    status = Path("/proc/self/status").read_text()
    match = re.search(r"VmHWM:\s*(\d+) kB", status)
    return int(match.group(1)) / 1024 if match else 0


def play(cause: Cause, images: str, helper: str, seconds: float) -> Any:
    """Prints a line when it begins: from then on others can look at it."""
    import feedline

    pipeline = feedline.Pipeline("none").add("resize", width=224, height=224)
    if cause.function:
        pipeline.python(FUNCTIONS[cause.function], cause.function)
    if cause.operation:
        pipeline.load(helper).add(cause.operation)
    options = {"batch_size": 16, "reader": "pread", "dtype": "u8",
               "seed": 1, "shuffle": True, **cause.options}
    loader = feedline.Loader(feedline.Dataset.open("folder:" + images),
                             pipeline, **options)
    if cause.spin:
        ctypes.CDLL(helper).planted_spin(cause.spin)
    print("begins", flush=True)
    began = time.monotonic()
    kept: List[Any] = []  # until explain() has seen them
    batches = consume(loader, cause, began + seconds, kept)
    loaded = batches * options["batch_size"]
    rate = loaded / (time.monotonic() - began)
    used = resource.getrusage(resource.RUSAGE_SELF)
    stats, words = loader.stats(), loader.explain()
    return {"verdict": stats["verdict"], "verdicts": stats["verdicts"],
            "headroom": stats["headroom"],
            "workers": stats["stats"]["workers"], "explain": words,
            "images_per_second": rate,
            "cpu_per_image": (used.ru_utime + used.ru_stime) / loaded,
            "memory_mb": most_memory_mb()}


def child(cause: Cause, images: str, helper: str, seconds: float) -> int:
    if cause.cores:
        mine = sorted(os.sched_getaffinity(0))
        if len(mine) < cause.cores:
            print(json.dumps({"skipped": "too few cores here"}))
            return 0
        os.sched_setaffinity(0, mine[: cause.cores])
    own = cores(helper)
    why = own.cores_quota(cause.quota) if cause.quota else None
    if why:
        print(json.dumps({"skipped": why.decode()}))
        return 0
    (own.cores_precede if cause.about_cores else own.cores_prevail)()
    own.cores_neighbours(cause.neighbours)  # they end with this process
    print(json.dumps(play(cause, images, helper, seconds)))
    sys.stdout.flush()
    os._exit(0)  # threads that spin go too
