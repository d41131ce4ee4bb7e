#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Batches by way of Ray, in turn with what they are compared with.

    bench/ray_beside.py plasma [--rounds N]
    bench/ray_beside.py data FOLDER [--rounds N]

A cluster of three nodes on this machine: a head for the trainer, and two nodes
of one core each.

plasma: what feedline.ray carries, beside Ray's object store alone: actors that
return an array that they have, asked in order with the same window. Images are
in memory (uint8, 224 x 224, 64 a batch), so making a batch is a copy.

data: photos of FOLDER, a folder of classes, to random crops of 224 pixels:
feedline.ray, feedline.ray.read, and Ray Data with Pillow and torchvision, on
the same two cores; and feedline.Loader alone on two workers, which has no other
process and no store beside.

Needs ray, numpy, and for `data` torch, torchvision, Pillow and pyarrow.
"""

import argparse
import os
import statistics
import sys
import time

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import numpy
import ray
from ray.cluster_utils import Cluster

import feedline
import feedline.ray

BATCH, SIDE, WINDOW, ACTORS = 64, 224, 4, 2
STORE = 1 << 30


def start():
    cluster = Cluster(initialize_head=True, head_node_args=dict(
        num_cpus=0, object_store_memory=STORE, include_dashboard=False))
    for _ in range(ACTORS):
        cluster.add_node(num_cpus=1, resources={"maker": 1},
                         object_store_memory=STORE)
    ray.init(address=cluster.address, log_to_driver=False,
             logging_level="ERROR")
    return cluster


def actors():
    return feedline.ray.Actors(ACTORS, num_cpus=1, window=WINDOW,
                               resources={"maker": 1})


# ---- Plasma ------------------------------------------------------------------

@ray.remote(num_cpus=1, resources={"maker": 1}, max_concurrency=WINDOW + 1)
class Returns:
    def __init__(self):
        self.array = numpy.ones((BATCH, SIDE, SIDE, 3), numpy.uint8)

    def make(self):
        return self.array


class Plasma:
    name = "plasma alone"

    def __init__(self):
        self.actors = [Returns.remote() for _ in range(ACTORS)]
        ray.get([one.make.remote() for one in self.actors])

    def run(self, batches):
        asked, mine = [], numpy.empty((BATCH, SIDE, SIDE, 3), numpy.uint8)
        begin = time.perf_counter()
        for i in range(batches + WINDOW * ACTORS):
            if len(asked) == WINDOW * ACTORS or i >= batches:
                got = ray.get(asked.pop(0))
                self.use(mine, got)
                del got
            if i < batches:
                asked.append(self.actors[i % ACTORS].make.remote())
        return batches / (time.perf_counter() - begin)

    def use(self, mine, got):
        pass

    def close(self):
        for one in self.actors:
            ray.kill(one)


class Copied(Plasma):
    name = "plasma, and a copy into the trainer's memory"

    def use(self, mine, got):
        numpy.copyto(mine, got)


class Remote:
    name = "feedline.ray"

    def __init__(self, data, pipeline):
        self.loader = feedline.ray.Loader(
            data, pipeline, actors=actors(), share=1.0, batch_size=BATCH,
            dtype="u8", layout="nhwc", shuffle=True, workers=1,
            depth=WINDOW * ACTORS, drop_last=True)
        self.loader.wait_for_actors(120)
        self.run(4)

    def run(self, batches):
        begin, taken = time.perf_counter(), 0
        while taken < batches:
            batch = self.loader.next()
            if batch is not None:
                batch.release()
                taken += 1
        return batches / (time.perf_counter() - begin)

    def close(self):
        self.loader.close()


def of_pixels():
    rng = numpy.random.default_rng(0)
    pixels = rng.integers(0, 255, (16 * BATCH // 4, SIDE, SIDE, 3),
                          numpy.uint8)
    return feedline.Dataset.pixels(pixels)


def cpu_seconds():
    """By this process, by actors, and by Ray's own processes."""
    tick = os.sysconf("SC_CLK_TCK")
    found = {"trainer": 0.0, "actors": 0.0, "Ray": 0.0}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                command = f.read()
            with open("/proc/%s/stat" % pid) as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        kind = "actors" if command.startswith(b"ray::") else "Ray"
        if int(pid) == os.getpid():
            kind = "trainer"
        elif b"raylet" not in command and b"gcs" not in command and \
                kind == "Ray":
            continue
        found[kind] += (int(fields[11]) + int(fields[12])) / tick
    return found


def one_by_one(kinds, batches, rounds, unit, scale):
    """Each in its own turn, as actors of all do not fit the cores at once."""
    found = {kind.name: [] for kind, _ in kinds}
    cpu = {kind.name: [] for kind, _ in kinds}
    for _ in range(rounds):
        for kind, arguments in kinds:
            one = kind(*arguments)
            before = cpu_seconds()
            found[kind.name].append(one.run(batches) * scale)
            after = cpu_seconds()
            cpu[kind.name].append([(after[k] - before[k]) * 1000 / batches
                                   for k in before])
            one.close()
            time.sleep(1)
    for name, rates in found.items():
        print("%-46s %7.0f %s (%.0f to %.0f)" % (
            name, statistics.median(rates), unit, min(rates), max(rates)))
        print("    CPU ms a batch: trainer %.1f, actors %.1f, Ray %.1f" % tuple(
            map(statistics.median, zip(*cpu[name]))))
        sys.stdout.flush()


def plasma(args):
    mb = BATCH * SIDE * SIDE * 3 / 1e6
    data = of_pixels()
    kinds = [(Plasma, ()), (Copied, ()), (Remote, (data, None))]
    one_by_one(kinds, args.batches, args.rounds, "MB/s", mb)


# ---- Ray Data ----------------------------------------------------------------

class OfRayData:
    """Once through all photos, or as many as `batches` says."""

    def __init__(self, paths):
        self.paths = paths

    def rows(self, paths):
        raise NotImplementedError

    def run(self, batches):
        wanted = (self.paths * (batches * BATCH // len(self.paths) + 1))
        rows = self.rows(wanted[:batches * BATCH])
        taken, begin = 0, None
        for batch in rows.iter_batches(batch_size=BATCH):
            if begin is None:  # behind the start of its processes
                begin = time.perf_counter()
                continue
            taken += len(batch["image"])
        return taken / BATCH / (time.perf_counter() - begin)

    def close(self):
        pass


def decode(batch):
    from PIL import Image
    from torchvision import transforms
    global chain
    if "chain" not in globals():
        import torch
        torch.set_num_threads(1)
        chain = transforms.Compose([
            transforms.RandomResizedCrop(SIDE),
            transforms.RandomHorizontalFlip(),
        ])
    made = []
    for path in batch["item"]:
        with Image.open(path) as image:
            made.append(numpy.asarray(chain(image.convert("RGB"))))
    return {"image": numpy.stack(made)}


class RayData(OfRayData):
    name = "Ray Data, Pillow and torchvision"

    def rows(self, paths):
        blocks = len(paths) // BATCH
        items = ray.data.from_items(paths, override_num_blocks=blocks)
        return items.map_batches(decode, batch_size=BATCH, num_cpus=1)


class Read(OfRayData):
    name = "feedline.ray.read in Ray Data"

    def rows(self, paths):
        return feedline.ray.read(
            feedline.Dataset.paths(paths), "train_u8", concurrency=ACTORS,
            batch_size=BATCH, dtype="u8", layout="nhwc", shuffle=True)


class Alone:
    name = "feedline.Loader alone, two workers"

    def __init__(self, data):
        self.loader = feedline.Loader(
            data, "train_u8", batch_size=BATCH, dtype="u8", layout="nhwc",
            shuffle=True, workers=ACTORS, drop_last=True)
        Remote.run(self, 4)

    run = Remote.run
    close = Remote.close


def ray_data(args):
    data = feedline.Dataset.open("folder:%s" % args.folder)
    paths = [data.path(i) for i in range(len(data))]
    ray.data.DataContext.get_current().enable_progress_bars = False
    kinds = [(Remote, (data, "train_u8")), (Read, (paths,)),
             (RayData, (paths,)), (Alone, (data,))]
    one_by_one(kinds, args.batches, args.rounds, "images/s", BATCH)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["plasma", "data"])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    cluster = start()
    (plasma if args.what == "plasma" else ray_data)(args)
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main()
