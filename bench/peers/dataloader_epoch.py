#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One data loader over an image folder, measured; a line of JSON at the end.

    dataloader_epoch.py FOLDER --loader torch --workers 2
    dataloader_epoch.py FOLDER --loader feedline --workers auto

The two sides differ in one import. Both give [float32 B x 3 x 224 x 224, int64
B] in a new order each epoch: random resized crop to 224, horizontal flip, to
tensor, normalise. torch's worker processes stay from epoch to epoch. The first
epoch is not counted: files come to the page cache, workers start.

    --what epochs   images per second of wall clock, and of CPU time with that
                    of worker processes
    --what ready    how long next() takes for a batch that is there. The
                    consumer sleeps until all that go ahead are made, and takes
                    them in a row: the first one with whatever the workers left
                    of this core's caches, the others with warm ones
    --what pauses   how long next() takes for a batch that is there, behind what
                    a program does between two of them: nothing, sleep, work on
                    32 MB, a step of training. In turn, and beside them what
                    Python and torch take for anything at all behind a sleep
    --what memory   resident memory after each epoch, with that of workers: all
                    of it, which other programs that use the same files change,
                    and what is no file's
"""
import argparse
import json
import os
import resource
import statistics
import time

import torch
import torchvision
from torchvision import transforms

AHEAD = 12  # batches, of those that measure next()


def chain():
    return transforms.Compose([
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ])


def make_loader(arguments):
    workers = arguments.workers
    workers = workers if workers == "auto" else int(workers)
    common = {"batch_size": arguments.batch_size, "shuffle": True,
              "num_workers": workers}
    if arguments.what in ("ready", "pauses"):
        common["prefetch_factor"] = max(1, AHEAD // max(1, workers))
    data = torchvision.datasets.ImageFolder(arguments.folder, chain())
    if arguments.loader == "feedline":
        import feedline.torch
        loader = feedline.torch.DataLoader(data, **common)
    else:
        loader = torch.utils.data.DataLoader(
            data, persistent_workers=bool(workers), **common)
    return loader


def cpu_seconds():
    """Of this process and of worker processes, which /proc still lists."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    seconds = own.ru_utime + own.ru_stime
    tick = os.sysconf("SC_CLK_TCK")
    for pid in children():
        try:
            with open("/proc/%d/stat" % pid, encoding="ascii") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        seconds += (int(fields[11]) + int(fields[12])) / tick
    return seconds


def children():
    found = []
    for task in os.listdir("/proc/self/task"):
        path = "/proc/self/task/%s/children" % task
        with open(path, encoding="ascii") as f:
            found += [int(pid) for pid in f.read().split()]
    return found


def resident(pid, kind):
    """Bytes in RAM. Pss: its own, and its part of what it shares; Anonymous:
    what is no file's."""
    try:
        with open("/proc/%s/smaps_rollup" % pid, encoding="ascii") as f:
            for line in f:
                if line.startswith(kind + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def epoch(loader):
    n = 0
    for images, labels in loader:
        n += len(labels)
    return n


def measure_epochs(loader, arguments):
    epoch(loader)
    cpu, begin = cpu_seconds(), time.perf_counter()
    n = sum(epoch(loader) for _ in range(arguments.epochs))
    seconds = time.perf_counter() - begin
    cpu = cpu_seconds() - cpu
    return {"images": n, "seconds": seconds,
            "images_per_second": n / seconds,
            "images_per_cpu_second": n / cpu}


def take_row(batches, step_ms):
    """Microseconds of each next() in a row of batches that are there; fewer
    than AHEAD at the end of the epoch."""
    time.sleep(step_ms / 1000)
    times = []
    for _ in range(AHEAD):
        begin = time.perf_counter_ns()
        batch = next(batches, None)
        if batch is None:
            break
        times.append((time.perf_counter_ns() - begin) / 1000)
        del batch
    return times


def measure_ready(loader, arguments):
    epoch(loader)
    first, others = [], []
    for _ in range(arguments.epochs):
        batches = iter(loader)
        while True:
            row = take_row(batches, arguments.step_ms)
            first += row[:1]
            others += row[1:]
            if len(row) < AHEAD:
                break
    return {"first_us": spread(first), "us": spread(others)}


def make_step():
    """A step of training of a small network."""
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 7, 4), torch.nn.ReLU(),
        torch.nn.Conv2d(16, 32, 3, 2), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
        torch.nn.Linear(32, 1000))
    optimizer = torch.optim.SGD(net.parameters(), 0.01)

    def step(batch):
        optimizer.zero_grad()
        images, labels = batch
        torch.nn.functional.cross_entropy(net(images), labels).backward()
        optimizer.step()

    return step


def pauses():
    """What is done with a batch, and what is timed then: None is next()."""
    megabytes = torch.zeros(8 << 20)
    step = make_step()

    def sleep(ms):
        return lambda batch: time.sleep(ms / 1000)

    def work(batch):
        end = time.perf_counter() + 0.01
        while time.perf_counter() < end:
            megabytes.add_(1)

    return {
        "sleep 500 ms": (sleep(500), None),
        "nothing": (lambda batch: None, None),
        "sleep 5 ms": (sleep(5), None),
        "sleep 50 ms": (sleep(50), None),
        "32 MB, 10 ms": (work, None),
        "training step": (step, None),
        "sleep 50 ms: an empty function": (sleep(50), lambda: None),
        "sleep 50 ms: two empty tensors": (
            sleep(50),
            lambda: (torch.empty(16, 3, 224, 224), torch.empty(16))),
    }


def measure_pauses(loader, arguments):
    epoch(loader)
    turns = pauses()
    times = {name: [] for name in turns}
    for _ in range(arguments.epochs):
        batches = iter(loader)
        batch = next(batches)
        for _ in range((len(loader) - 1) // len(turns)):
            time.sleep(arguments.step_ms / 1000)  # all that go ahead are made
            for name, (pause, other) in turns.items():
                pause(batch)
                timed = other or batches.__next__
                batch = batch if other else None
                begin = time.perf_counter_ns()
                made = timed()
                times[name].append((time.perf_counter_ns() - begin) / 1000)
                batch = batch if other else made
                del made
    return {"pauses_us": {name: spread(t) for name, t in times.items()}}


def spread(times):
    times = sorted(times)
    return {"n": len(times), "median": statistics.median(times),
            "p90": times[int(0.9 * len(times))], "max": times[-1]}


def measure_memory(loader, arguments):
    out = {"resident_mb": [], "anonymous_mb": []}
    for _ in range(arguments.epochs):
        epoch(loader)
        for name, kind in (("resident_mb", "Pss"),
                           ("anonymous_mb", "Anonymous")):
            found = sum(resident(pid, kind) for pid in ["self"] + children())
            out[name].append(round(found / 1e6, 1))
    return out


MEASURES = {"epochs": measure_epochs, "ready": measure_ready,
            "pauses": measure_pauses, "memory": measure_memory}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="images, one folder per class")
    parser.add_argument("--loader", choices=("torch", "feedline"),
                        default="feedline")
    parser.add_argument("--workers", default="2", metavar="N",
                        help="a number, or for feedline auto [%(default)s]")
    parser.add_argument("--what", choices=sorted(MEASURES), default="epochs")
    parser.add_argument("--epochs", type=int, default=5, metavar="E",
                        help="that count [%(default)s]")
    parser.add_argument("--batch-size", type=int, default=64, metavar="B",
                        help="samples in a batch [%(default)s]")
    parser.add_argument("--step-ms", type=float, default=500, metavar="MS",
                        help="the consumer's sleep until all are made "
                        "[%(default)s]")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    loader = make_loader(arguments)
    out = MEASURES[arguments.what](loader, arguments)
    out["versions"] = {"torch": torch.__version__,
                       "torchvision": torchvision.__version__}
    if arguments.loader == "feedline":
        import feedline
        out["versions"]["feedline"] = feedline.__version__
        out["native"] = loader.native
        out["reason"] = loader.fallback_reason
    print(json.dumps(out), flush=True)


if __name__ == "__main__":
    main()
