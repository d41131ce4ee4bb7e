#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many accelerators of MLPerf Storage each loader feeds, by DLIO's measure.

    dlio_beside.py FOLDER [--workload retinanet] [--rounds N] [--seconds N]

Makes the workload's data in FOLDER with DLIO's generator, unless they are
there; then runs DLIO with each loader in turn, round after round, and prints a
table. FOLDER needs 0.4 to 1.2 GB for each workload and may be deleted.

The load is a number of accelerators that need not be whole: one process whose
computation takes 1 / x of the workload's time is x accelerators. Each round
asks a loader for a number between the largest at which DLIO's accelerator
utilisation (AU) passed and the least at which it failed. At the end the whole
accelerators below it run for real: one process each, with the workload's time.

Needs dlio-benchmark, mpi4py with an mpirun, and what is to be compared: torch,
tensorflow, nvidia-dali. A loader that cannot run is left out, with its reason.
"""

import argparse
import glob
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CORES = len(os.sched_getaffinity(0))
LIMIT_S = 240  # of one run
NAMES = 12  # of each file: hard links, as a page cache has them once anyway
MOST_PROCESSES = 8

# The parameters of MLPerf Storage, but for the number of files. resnet50_h100
# is DLIO's own; retinanet_b200 is from MLPerf Storage v3, which DLIO 2.0.0 on
# PyPI does not have.
WORKLOADS = {
    "retinanet": dict(
        base="default", format="jpeg", files=2000, samples=1, batch=24,
        seconds=0.04755, au=0.85, threads=8, shuffle="seed",
        dataset={"record_length": 322957}),
    "resnet50": dict(
        base="resnet50_h100", format="tfrecord", files=8, samples=1251,
        batch=400, seconds=0.224, au=0.90, threads=8, shuffle="off",
        dataset={"record_length": 114660.07, "record_length_resize": 150528}),
}

PLUGIN = {"reader.data_loader": "custom",
          "reader.data_loader_classname": "feedline_dlio.FeedlineDataLoader",
          "reader.data_loader_sampler": "iterative"}


def loaders(load):
    """{name: (framework, what is set, mended)}, of those that read the format.
    mended: without the line that makes DLIO's readers in Python slower the more
    files there are."""
    found = {}
    if load["format"] == "jpeg":
        for threads in sorted({load["threads"], CORES}, reverse=True):
            settings = {"reader.data_loader": "pytorch",
                        "reader.read_threads": threads}
            name = "torch, %d workers" % threads
            found[name] = ("pytorch", settings, False)
            found[name + ", mended"] = ("pytorch", settings, True)
        found["DALI, reader in Python, mended"] = (
            "pytorch", {"reader.data_loader": "dali"}, True)
    found["tensorflow"] = (
        "tensorflow", {"reader.data_loader": "tensorflow"}, False)
    # DALI refuses both kinds of shuffling at once, which DLIO asks for.
    found["DALI's own readers"] = ("pytorch", {
        "reader.data_loader": "native_dali",
        "reader.sample_shuffle": "off"}, False)
    found["feedline"] = ("pytorch", PLUGIN, False)
    return found


# ---- Running DLIO ------------------------------------------------------------

def overrides(load, folder, files):
    found = {
        "model": "beside", "dataset.format": load["format"],
        "dataset.data_folder": folder, "dataset.num_files_train": files,
        "dataset.num_samples_per_file": load["samples"],
        "reader.batch_size": load["batch"],
        "reader.read_threads": load["threads"],
        "reader.computation_threads": load["threads"],
        "reader.sample_shuffle": load["shuffle"],
        "reader.file_shuffle": load["shuffle"], "metric.au": load["au"],
        "workflow.evaluation": False, "workflow.checkpoint": False,
        "dataset.num_files_eval": 0, "dataset.num_subfolders_train": 0,
        "dataset.num_subfolders_eval": 0,
    }
    found.update({"dataset." + k: v for k, v in load["dataset"].items()})
    return found


def dlio(load, framework, settings, out, processes=1, mended=False):
    """Runs it; None, or the last line of what was wrong."""
    shutil.rmtree(out, ignore_errors=True)
    env = dict(os.environ, OMP_NUM_THREADS="1", DLIO_MENDED=str(int(mended)))
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (
        os.path.join(ROOT, "python"), env.get("PYTHONPATH"))))
    env["PATH"] = os.path.dirname(sys.executable) + os.pathsep + env["PATH"]
    # Above the limits of a container, and not as root: mpirun's own settings.
    command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-np",
               str(processes), sys.executable,
               os.path.join(HERE, "one_accelerator.py"),
               "workload=" + load["base"],
               "++workload.framework=" + framework,
               "++workload.checkpoint.checkpoint_folder=%s/checkpoint" % out,
               "hydra.run.dir=" + out]
    if os.geteuid() == 0:
        command.insert(1, "--allow-run-as-root")
    command += ["++workload.%s=%s" % pair for pair in settings.items()]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8",
                              errors="replace", env=env, check=False,
                              timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return "not done after %d s" % LIMIT_S
    if done.returncode:
        lines = re.findall(r"^\w*(?:Error|Exception): .+", done.stdout, re.M)
        with open(out + ".log", "w", encoding="utf-8") as f:
            f.write(done.stdout)
        return (lines or ["status %d, see its log" % done.returncode])[-1]
    return None


def make_data(load, folder):
    """Names of files and their bytes. Generated once, then linked."""
    ending = "." + load["format"]
    train = os.path.join(folder, "train")
    if not os.path.isdir(train):
        making = folder + ".making"
        shutil.rmtree(making, ignore_errors=True)
        settings = overrides(load, making, load["files"])
        settings.update({"workflow.generate_data": True,
                         "workflow.train": False})
        framework = "tensorflow" if ending == ".tfrecord" else "pytorch"
        settings["reader.data_loader"] = framework
        fault = dlio(load, framework, settings, folder + ".log.d")
        if fault:
            sys.exit("no data: " + fault)
        link(os.path.join(making, "train"), ending)
        link(os.path.join(making, "index", "train"), ending + ".idx")
        os.rename(making, folder)
    files = glob.glob(os.path.join(train, "*" + ending))
    return len(files), sum(map(os.path.getsize, files))


def link(folder, ending):
    for path in sorted(glob.glob(os.path.join(folder, "*" + ending))):
        for i in range(1, NAMES):
            os.link(path, "%s.%02d%s" % (path[:-len(ending)], i, ending))


class Bench:
    """A workload with its data."""

    def __init__(self, name, folder, seconds):
        self.load = WORKLOADS[name]
        self.seconds = seconds
        self.folder = os.path.join(folder, name)
        self.out = os.path.join(folder, name + ".run")
        self.files, size = make_data(self.load, self.folder)
        self.samples = self.files * self.load["samples"]
        self.sample_bytes = size / self.samples
        self.rate = self.load["batch"] / self.load["seconds"]

    def run(self, loader, accelerators, processes=1):
        """What DLIO found, or {"fault": why there is nothing}."""
        framework, more, mended = loader
        step_s = self.load["seconds"] * processes / accelerators
        most = self.samples // (self.load["batch"] * processes)
        wanted = math.ceil(self.seconds / step_s)
        epochs = min(5, math.ceil(wanted / most))
        settings = overrides(self.load, self.folder, self.files)
        settings.update(more)
        settings.update({
            "workflow.generate_data": False, "workflow.train": True,
            "train.computation_time": step_s, "train.epochs": epochs,
            "train.total_training_steps": min(most, wanted)})
        fault = dlio(self.load, framework, settings, self.out, processes,
                     mended)
        if fault:
            return {"fault": fault}
        with open(os.path.join(self.out, "summary.json"),
                  encoding="utf-8") as f:
            metric = json.load(f)["metric"]
        each = []
        for path in glob.glob(os.path.join(self.out, "*_cpu.json")):
            with open(path, encoding="ascii") as f:
                each.append(json.load(f))
        samples = sum(x["samples"] for x in each)
        clock = statistics.mean(x["clock_s"] for x in each)
        return {"accelerators": accelerators,
                "au": metric["train_au_mean_percentage"] / 100,
                "cpu_us": sum(x["cpu_s"] for x in each) / samples * 1e6,
                "cores": sum(x["cpu_s"] for x in each) / clock,
                "samples": samples, "rate": samples / clock}


# ---- How many accelerators ---------------------------------------------------

class Search:
    """Between the largest number that passed and the least that failed."""

    def __init__(self, mark):
        self.mark = mark
        self.passed = self.failed = self.fault = None
        self.longest = {"samples": 0}  # of its runs, for the CPU time
        self.next = 1.0

    def add(self, run):
        if "fault" in run:
            self.fault = run["fault"]
            return
        if run["samples"] > self.longest["samples"]:
            self.longest = run
        x = run["accelerators"]
        if run["au"] >= self.mark:
            if not self.passed or x > self.passed["accelerators"]:
                self.passed = run
            # As much more as there is left of the cores.
            more = x * min(6, max(1.1, 0.85 * CORES / run["cores"]))
        else:
            if not self.failed or x < self.failed["accelerators"]:
                self.failed = run
            more = 0.97 * x * run["au"] / self.mark
        self.next = self.between(more)

    def between(self, guess):
        low = self.passed and self.passed["accelerators"]
        high = self.failed and self.failed["accelerators"]
        if low and high and not low < guess < high:
            return math.sqrt(low * high)
        return guess

    def done(self):
        return bool(self.fault or self.passed and self.failed and
                    self.failed["accelerators"] <
                    1.05 * self.passed["accelerators"])


def tell(*words):
    print(*words, file=sys.stderr, flush=True)


def compare(bench, wanted, rounds):
    found = {name: Search(bench.load["au"]) for name in wanted}
    for turn in range(rounds):
        for name, search in found.items():
            if search.done():
                continue
            run = bench.run(wanted[name], search.next)
            search.add(run)
            tell(turn, name, run)
    for name, search in found.items():
        search.whole = None
        if search.passed and search.passed["accelerators"] >= 1:
            count = math.floor(search.passed["accelerators"])
            processes = min(count, MOST_PROCESSES)
            search.whole = bench.run(wanted[name], count, processes)
            tell("whole", name, search.whole)
    return found


def table(bench, found):
    mark, rate = bench.load["au"], bench.rate
    size = bench.sample_bytes
    print("An accelerator takes %.0f samples of %.0f bytes a second, %.0f MB/s;"
          " it passes at %.0f %% AU. %d files, %d cores." % (
              rate, size, rate * size / 1e6, 100 * mark, bench.files, CORES))
    print("\n| loader | accelerators (AU) | failed at (AU) | a core | MB/s "
          "| CPU us a sample | accelerators a core by CPU | whole ones (AU) |")
    print("|---|---|---|---|---|---|---|---|")
    for name, one in found.items():
        if one.fault:
            print("| %s | %s |||||||" % (name, one.fault))
            continue
        cpu_us = one.longest["cpu_us"]
        cells = [name, "none", "", "", "", "%.0f" % cpu_us,
                 "%.2f" % (1e6 / (cpu_us * rate * mark)), ""]
        if one.passed:
            x = one.passed["accelerators"]
            cells[1] = "%.2f (%.1f)" % (x, 100 * one.passed["au"])
            cells[3] = "%.2f" % (x / CORES)
            cells[4] = "%.0f" % (one.passed["rate"] * size / 1e6)
        if one.failed:
            cells[2] = "%.2f (%.1f)" % (one.failed["accelerators"],
                                        100 * one.failed["au"])
        if one.whole:
            cells[7] = one.whole.get("fault") or "%d (%.1f)" % (
                one.whole["accelerators"], 100 * one.whole["au"])
        print("| " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--workload", choices=WORKLOADS, default="retinanet")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10,
                        help="of computation in a run (10)")
    parser.add_argument("--loader", action="append",
                        help="only loaders whose names begin so")
    args = parser.parse_args()
    folder = os.path.abspath(args.folder)
    os.makedirs(folder, exist_ok=True)
    bench = Bench(args.workload, folder, args.seconds)
    wanted = {name: one for name, one in loaders(bench.load).items()
              if not args.loader or name.startswith(tuple(args.loader))}
    table(bench, compare(bench, wanted, args.rounds))


if __name__ == "__main__":
    main()
