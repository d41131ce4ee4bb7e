# SPDX-License-Identifier: Apache-2.0
"""What every peer shares: its command line, its clock, its line of JSON.

A peer is a file peer_NAME.py that gives three things to `main`:

    batches(job)    an endless iterator of batches, [B, ...] of `job.dtype`
    settings(job)   what was chosen: resampling, IDCT, chroma, layout
    PACKAGES        whose versions belong beside the number

It runs as a child of its own, so that one peer's threads, allocator and JIT
never meet another's, and prints one line:

    peer_NAME.py --folder F --epochs E --batch-size B --workers N --dtype u8
    {"images": ..., "seconds": ..., "cpu_seconds": ..., ...}

The stream is endless because a seam between epochs is no work: with a few
hundred images it would cost a peer a tenth of its speed, and prefetching over
it would be a gift. The clock starts at the end of a warm-up of one epoch,
with all code compiled and all files in the page cache, and stops at the first
batch that completes E epochs. The mean of the pixels of the warm-up is part of
the line: peers that do the same work agree on it.

With --first the line says when the imports were done and when the first batch
was there, in seconds since the process began, and the most memory it took.
"""
import argparse
import glob
import importlib.metadata
import json
import math
import multiprocessing
import os
import random
import resource
import sys
import time

SIZE = 224
SCALE = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
MEAN_255 = [255 * x for x in MEAN]
STD_255 = [255 * x for x in STD]
# What a peer does beside crop and flip; compare_peers.py has feedline's words.
RECIPES = ("train", "color", "rand_augment")
JITTER = (0.4, 0.4, 0.4, 0.1)  # brightness, contrast, saturation, hue
GRAY = 0.2                     # how often
BLUR, BLUR_SIZE, BLUR_SIGMA = 0.5, 23, (0.1, 2.0)
RAND_AUGMENT = (2, 9)          # operations, of 31 magnitudes the one


class Job:
    """The arguments, and the files with the number of their class."""

    def __init__(self, arguments):
        self.folder = arguments.folder
        self.batch_size = arguments.batch_size
        self.workers = arguments.workers
        self.dtype = arguments.dtype
        self.epochs = arguments.epochs
        self.shards = arguments.shards
        self.form = arguments.form
        self.cold = arguments.cold
        self.recipe = arguments.recipe
        self.first = arguments.first
        self.list = arguments.list
        self.read = None
        if not self.list:
            self.read = list_images(arguments.folder)

    @property
    def files(self):
        return self.entries()[0]

    @property
    def labels(self):
        return self.entries()[1]

    def entries(self):
        """Of a list as a program would read it, if the peer asks for them."""
        if self.read is None:
            with open(self.list, encoding="utf-8") as f:
                rows = [line.rsplit(None, 1) for line in f]
            self.read = [r[0] for r in rows], [int(r[1]) for r in rows]
        return self.read

    def contents(self):
        """The bytes of all files, in memory."""
        found = []
        for path in self.files:
            with open(path, "rb") as f:
                found.append(f.read())
        return found

    def list_shards(self, form):
        """Those that make_shards wrote in this form."""
        return sorted(glob.glob(os.path.join(self.shards, form, "*." + form)))

    def order(self):
        """Indices of files, a new permutation each epoch, for ever."""
        draw = random.Random(0)
        indices = list(range(len(self.files)))
        while True:
            draw.shuffle(indices)
            yield from indices

    def index_batches(self):
        order = self.order()
        while True:
            yield [next(order) for _ in range(self.batch_size)]


def list_images(folder):
    files, labels = [], []
    classes = sorted(e.name for e in os.scandir(folder) if e.is_dir())
    for label, name in enumerate(classes):
        for file in sorted(os.listdir(os.path.join(folder, name))):
            files.append(os.path.join(folder, name, file))
            labels.append(label)
    if not files:
        sys.exit("%s: no folder of images" % folder)
    return files, labels


def draw_box(width, height, draw=random):
    """A random resized crop's box: x, y, width, height. Ten tries to hit, then
    the largest centred box of a permitted ratio, as torchvision has it."""
    low, high = math.log(RATIO[0]), math.log(RATIO[1])
    for _ in range(10):
        area = width * height * draw.uniform(*SCALE)
        ratio = math.exp(draw.uniform(low, high))
        w = round(math.sqrt(area * ratio))
        h = round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return draw.randint(0, width - w), draw.randint(0, height - h), w, h
    w = min(width, round(height * RATIO[1]))
    h = min(height, round(width / RATIO[0]))
    return (width - w) // 2, (height - h) // 2, w, h


def cpu_seconds():
    """Of this process, its threads and the worker processes it has now."""
    total = time.process_time()
    for child in multiprocessing.active_children():
        with open("/proc/%d/stat" % child.pid, encoding="ascii") as f:
            fields = f.read().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])  # utime and stime
        total += ticks / os.sysconf("SC_CLK_TCK")
    return total


def packages(names):
    found = {"python": sys.version.split()[0]}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            # Debian's modules carry a version but sometimes no metadata.
            module = sys.modules.get(name)
            found[name] = getattr(module, "__version__", "unknown")
    return found


def check_batch(batch, job, layout):
    shape = {"nhwc": (SIZE, SIZE, 3), "nchw": (3, SIZE, SIZE)}[layout]
    dtype = {"u8": "uint8", "f32": "float32"}[job.dtype]
    # numpy says uint8 where torch says torch.uint8.
    if (tuple(batch.shape[1:]) != shape
            or str(batch.dtype).rpartition(".")[2] != dtype):
        sys.exit("a batch is %s of %s, not %s of %s" % (
            tuple(batch.shape), batch.dtype, shape, dtype))


def mean_of_pixels(batch, job, layout):
    """In levels of 0 to 255, whatever the batch's type and layout."""
    import numpy as np

    axes = (0, 1, 2) if layout == "nhwc" else (0, 2, 3)
    mean = np.asarray(batch).mean(axis=axes, dtype=np.float64)
    if job.dtype == "f32":
        mean = mean * STD_255 + MEAN_255
    return float(mean.mean())


def since_start():
    """Seconds since this process began, to a hundredth."""
    with open("/proc/self/stat", encoding="ascii") as f:
        ticks = int(f.read().rpartition(")")[2].split()[19])
    return (time.clock_gettime(time.CLOCK_BOOTTIME)
            - ticks / os.sysconf("SC_CLK_TCK"))


def first_batch(stream, imported):
    next(stream)
    seconds = since_start()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"import_seconds": imported, "first_seconds": seconds,
            "megabytes": most * 1024 / 1e6}


def warm_up(stream, job, layout):
    """One epoch; of a cold run its first batch, which starts everything.
    Returns the mean of the pixels."""
    images, means = 0, []
    while images < (1 if job.cold else len(job.files)):
        batch = next(stream)
        check_batch(batch, job, layout)
        means.append(mean_of_pixels(batch, job, layout))
        images += batch.shape[0]
    return sum(means) / len(means)


def measure(stream, job, layout):
    per_epoch = len(job.files)
    mean = warm_up(stream, job, layout)
    images = 0
    cpu, wall = cpu_seconds(), time.perf_counter()
    # The end of a cold epoch is left to what was read ahead into the next.
    enough = 0.9 * per_epoch if job.cold else per_epoch * job.epochs
    while images < enough:
        images += next(stream).shape[0]
    wall = time.perf_counter() - wall
    cpu = cpu_seconds() - cpu
    return {"images": images, "seconds": wall, "cpu_seconds": cpu,
            "images_per_second": images / wall,
            "images_per_cpu_second": images / cpu,
            "pixel_mean": mean}


def parse(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--folder", required=True, metavar="F")
    parser.add_argument("--shards", metavar="S",
                        help="the same images as make_shards wrote them")
    parser.add_argument("--form", default="files", metavar="F",
                        help="of what is read, for peers that read several")
    parser.add_argument("--cold", action="store_true",
                        help="measure most of the first epoch, and no other")
    parser.add_argument("--epochs", type=int, default=4, metavar="E")
    parser.add_argument("--batch-size", type=int, default=64, metavar="B")
    parser.add_argument("--workers", type=int, default=1, metavar="N",
                        help="threads or processes that prepare images")
    parser.add_argument("--dtype", choices=("f32", "u8"), default="f32",
                        help="f32 is normalised")
    parser.add_argument("--recipe", choices=RECIPES, default="train",
                        help="what is done beside crop and flip [nothing]")
    parser.add_argument("--list", metavar="FILE",
                        help="lines of a path and a label, not the folder's")
    parser.add_argument("--first", action="store_true",
                        help="measure until the first batch, and stop")
    return Job(parser.parse_args())


def report(result):
    # Libraries print to stdout too; the result is the last line.
    sys.stdout.flush()
    print(json.dumps(result), flush=True)
    # Endless loaders have threads that wait for ever.
    os._exit(0)


def main(batches, settings, package_names, description):
    imported = since_start()
    job = parse(description)
    chosen = settings(job)
    result = (first_batch(batches(job), imported) if job.first
              else measure(batches(job), job, chosen["layout"]))
    result["settings"] = chosen
    result["versions"] = packages(package_names)
    report(result)
