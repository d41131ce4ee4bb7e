#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A process of DLIO, as mpirun starts one for each accelerator:

    mpirun -np 2 one_accelerator.py workload=resnet50_h100 ++workload...

DLIO as it is installed. What it does not say is added beside its own results,
in RANK_cpu.json: the CPU time of this process and its workers, and the time by
the clock, from the end of an epoch's first step to the end of its last one,
which is what DLIO takes its accelerator utilisation of.

DLIO 2.0.0 imports TensorFlow for a profiler that is not used. With
++workload.framework=pytorch it gets an empty one. With DLIO_MENDED=1 in the
environment its table of samples is not made into text for each sample
(findings/dlio_names_all_files_for_each_sample.sh).
"""

import importlib.machinery
import json
import os
import sys
import time
import types
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))

# Its tracer is on by default and writes down each sample that Python reads.
os.environ.setdefault("DFTRACER_ENABLE", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")


class Empty(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return mock.MagicMock()


def leave_out_tensorflow():
    made = Empty("tensorflow")
    made.__spec__ = importlib.machinery.ModuleSpec("tensorflow", None)
    sys.modules["tensorflow"] = made


def cpu_seconds():
    """Of this process and of all below it that are alive."""
    import psutil
    me = psutil.Process()
    total = 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


class Account:
    """Steps of all epochs but the first of each, and what they took."""

    def __init__(self):
        self.begin = None
        self.total = {"samples": 0, "cpu_s": 0.0, "clock_s": 0.0}

    def step(self, samples):
        if self.begin is None:
            self.begin = (cpu_seconds(), time.perf_counter())
        else:
            self.total["samples"] += samples

    def end(self):
        if self.begin is not None:
            self.total["cpu_s"] += cpu_seconds() - self.begin[0]
            self.total["clock_s"] += time.perf_counter() - self.begin[1]
        self.begin = None


def keep(account, counter):
    """Has DLIO's own counter tell the account."""
    processed, ended = counter.batch_processed, counter.end_block
    saved = counter.save_data

    def batch_processed(self, *args, **named):
        processed(self, *args, **named)
        account.step(self.batch_size)

    def end_block(self, *args, **named):
        account.end()
        ended(self, *args, **named)

    def save_data(self):
        saved(self)
        path = os.path.join(self.output_folder, "%d_cpu.json" % self.my_rank)
        with open(path, "w", encoding="ascii") as f:
            json.dump(account.total, f)

    counter.batch_processed = batch_processed
    counter.end_block = end_block
    counter.save_data = save_data


class Unnamed(dict):
    """A table of samples that is short where a log has it."""

    def __repr__(self):
        return "%d samples" % len(self)


def mend(arguments):
    reconfigure = arguments.reconfigure

    def with_short_names(self, *args):
        reconfigure(self, *args)
        for name in ("train_global_index_map", "val_global_index_map"):
            setattr(self, name, Unnamed(getattr(self, name)))

    arguments.reconfigure = with_short_names


def main():
    sys.path.insert(0, HERE)  # the plugin, also in processes of its own
    if "++workload.framework=pytorch" in sys.argv[1:]:
        leave_out_tensorflow()
    from dlio_benchmark.main import main as dlio
    from dlio_benchmark.utils.config import ConfigArguments
    from dlio_benchmark.utils.statscounter import StatsCounter
    if os.environ.get("DLIO_MENDED") == "1":
        mend(ConfigArguments)
    keep(Account(), StatsCounter)
    dlio()


if __name__ == "__main__":
    main()
