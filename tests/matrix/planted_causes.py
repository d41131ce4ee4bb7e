# SPDX-License-Identifier: Apache-2.0
"""The causes that planted.py plants, and what must be said of each first."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple

FED = "FED FED_OVERPROVISIONED"


class Cause(NamedTuple):
    what: str
    first: str  # codes, any of which is right; "": words decide
    options: Dict[str, Any] = {}
    step: float = 0.004  # seconds asleep with each batch
    reads: str = ""  # see planted_reads.c
    folder: str = ""
    images: str = "photos"
    function: str = ""  # of Python, on each image
    operation: str = ""  # of planted_op.c
    quota: float = 0
    neighbours: int = 0
    spin: int = 0
    cores: int = 0
    consumer: str = "step"
    every: int = 20  # batches from pause to pause
    about_cores: bool = False
    words: str = ""  # that explain() must have


SLOW = "PREP_BOUND_TUNABLE"
LATENCY = "FETCH_LATENCY_BOUND"
AUTO: Dict[str, Any] = {}
TWO = {"workers": 2, "depth": 4, "io_depth": 16}

CAUSES: Dict[str, Cause] = {
    "reads-40ms": Cause("reads of 40 ms, 2 workers", LATENCY,
                        {**TWO, "io_depth": 8}, reads="40000 0 0 0"),
    "reads-40ms-auto": Cause(
        "reads of 40 ms, all auto",
        LATENCY + " " + FED,
        AUTO,
        0.01,
        reads="40000 0 0 0",
    ),
    "disk-5mb": Cause("a disk of 5 MB/s", "FETCH_BW_BOUND", TWO,
                      reads="0 5000000 0 0"),
    "disk-30mb-auto": Cause("a server of 30 MB/s, all auto", "FETCH_BW_BOUND",
                            AUTO, reads="0 30000000 0 0"),
    "disk-10mb-large-files": Cause("a disk of 10 MB/s, files of 1 MB",
                                   "FETCH_BW_BOUND", {**TWO, "batch_size": 2},
                                   reads="0 10000000 0 0", images="padded"),
    "reads-20ms-io2": Cause("reads of 20 ms, 2 at a time", LATENCY,
                            {**TWO, "io_depth": 2}, reads="20000 0 0 0",
                            words="Raise io_depth"),
    "slow-folder": Cause("one class folder of four is slow, 90 ms",
                         LATENCY + " HEAD_OF_LINE DEPTH_LIMITED",
                         {**TWO, "io_depth": 4}, reads="90000 0 0 0",
                         folder="/class2/"),
    "slow-reads-2-percent": Cause("2 % of the reads take 400 ms",
                                  LATENCY + " HEAD_OF_LINE DEPTH_LIMITED",
                                  {**TWO, "io_depth": 4},
                                  reads="1000 0 400000 50"),
    "quota-0.5-auto": Cause("a quota of 0.5 cores, all auto", "CPU_THROTTLED",
                            AUTO, quota=0.5, about_cores=True),
    "quota-0.6-fast-consumer": Cause(
        "a quota of 0.6 cores, 4 workers, steps of 5 ms", "CPU_THROTTLED",
        {**TWO, "workers": 4}, 0.005, quota=0.6, about_cores=True),
    "interpreter": Cause("a function that computes in Python, 4 workers",
                         "LOCK_BOUND", {**TWO, "workers": 4}, 0.001,
                         function="compute", words="compute"),
    "sleep-auto": Cause(
        "a function that sleeps 10 ms, all auto",
        SLOW + " " + FED,
        AUTO,
        0.02,
        function="sleepy",
    ),
    "sleep-2": Cause("the same, 2 workers", SLOW, TWO, 0.02, function="sleepy",
                     words="sleepy"),
    "sleep-2-neighbours": Cause("the same, and 2 neighbours compute", SLOW,
                                TWO, 0.02, function="sleepy", neighbours=2,
                                about_cores=True, words="sleepy"),
    "sleep-8-neighbours": Cause(
        "the same with 8 workers, which need the cores, too",
        SLOW + " OVERSUBSCRIBED " + FED, {**TWO, "workers": 8}, 0.002,
        function="sleepy", neighbours=2, about_cores=True, words="sleepy"),
    "mutex-auto": Cause(
        "an operation that sleeps under its own mutex, all auto", "LOCK_BOUND",
        AUTO, operation="mutexed"),
    "large-images": Cause("12 megapixels for 224 x 224, on 2 cores",
                          "LARGE_IMAGES", {**TWO, "workers": 2}, 0.001,
                          images="large", about_cores=True, cores=2),
    "large-images-neighbours": Cause(
        "the same beside 2 neighbours, named first or second",
        "LARGE_IMAGES OVERSUBSCRIBED+LARGE_IMAGES", {**TWO, "batch_size": 4},
        0.001, images="large", neighbours=2, about_cores=True),
    "pauses": Cause("the program pauses for 0.6 s every 20 batches",
                    "CONSUMER_HOST_BOUND", TWO, 0.01, consumer="pauses",
                    words="every 20 steps"),
    "consumer": Cause("the program itself takes 30 ms a batch", FED, TWO,
                      0.03),
    "keeps-batches": Cause("the program keeps 30 batches; explain() says so",
                           "", TWO, 0.01, consumer="keeps",
                           words="The program keeps"),
    "neighbours": Cause("3 workers beside 4 neighbours", "OVERSUBSCRIBED",
                        {**TWO, "workers": 3}, 0.001, neighbours=4,
                        about_cores=True, words="other processes"),
    "one-core": Cause("4 workers on one core", "OVERSUBSCRIBED",
                      {**TWO, "workers": 4}, 0.001, cores=1, about_cores=True,
                      words="fewer workers"),
    "foreign-threads": Cause("3 threads of the program compute", "FOREIGN_CPU",
                             TWO, 0.001, spin=3, cores=1, about_cores=True,
                             words="blas_worker"),
    "one-worker": Cause("1 worker by hand, functions that wait 5 ms", SLOW,
                        {**TWO, "workers": 1}, 0.002, function="nap5"),
    "short-epochs": Cause("epochs of 4 batches; none is slow to start", SLOW,
                          {**TWO, "workers": 2}, 0.002, function="nap5",
                          images="few"),
}
