#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is done in a container: a first minute with loaderbench, shards, an
index, a DataLoader with workers.

    workload.py FOLDER [--seconds S] [--light]

FOLDER is the one place where anything is written. Prints a line for each part,
"ok NAME ..." or "failed NAME ...", and "stream HASH" of what was loaded. Exit
status 1: a part has failed. --light: a few images, and no torch. LOADERBENCH
names the program, if it is not in PATH.
"""
import argparse
import json
import os
import subprocess
import sys
import traceback

TOOL = os.environ.get("LOADERBENCH", "loaderbench")

# With a step that nobody knows: torch's own workers load, in processes that
# need /dev/shm; and one that the engine has whole.
TRAINING = """
import sys
import torch
from torchvision import transforms
from torchvision.datasets import ImageFolder
from feedline.torch import DataLoader


def unknown(tensor):
    return tensor + float(tensor.mean()) * 0


usual = [transforms.RandomResizedCrop(64), transforms.ToTensor()]
for steps, workers in ((usual, 2), (usual + [unknown], 2)):
    data = ImageFolder(sys.argv[1], transforms.Compose(steps))
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=workers)
    seen = sum(len(images) for images, labels in loader)
    assert seen == len(data), (seen, len(data))
    print(loader.fallback_reason or "native")
"""


# The same without torch: threads of the engine, and a child of fork().
LOADING = """
import os
import sys
import feedline

photos = feedline.Dataset.open("folder:" + sys.argv[1])
train = feedline.Pipeline("train")
with feedline.Loader(photos, train, batch_size=8, workers=2) as loader:
    seen = sum(batch.count for batch in loader)
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
assert seen == len(photos), (seen, len(photos))
"""


class Failed(Exception):
    pass


def run(*command, env=None):
    done = subprocess.run([str(a) for a in command], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(os.environ, **(env or {})),
                          universal_newlines=True)
    if done.returncode:
        raise Failed("%s: exit status %d\n%s%s" % (
            " ".join(str(a) for a in command), done.returncode, done.stdout,
            done.stderr))
    return done


def measured(*arguments, **more):
    done = run(TOOL, "run", *arguments, "--json", "-", **more)
    return json.loads(done.stdout), done.stderr


class Work:
    def __init__(self, folder, seconds, light):
        self.folder, self.seconds, self.light = folder, seconds, light
        self.photos = os.path.join(folder, "photos")
        self.shards = os.path.join(folder, "shards")
        self.failed = False

    def part(self, name, function):
        try:
            print("ok %s %s" % (name, function() or ""), flush=True)
        except Failed as error:
            self.failed = True
            print("failed %s %s" % (name, error), flush=True)
        except Exception:  # whatever it is, the others are tried
            self.failed = True
            print("failed %s %s" % (name, traceback.format_exc()), flush=True)

    def all(self):
        self.part("gen", self.gen)
        self.part("minute", self.minute)
        self.part("stream", self.stream)
        self.part("reader", self.reader)
        self.part("pack", self.pack)
        self.part("index", self.index)
        self.part("doctor", self.doctor)
        self.part("loader", self.loader)
        if not self.light:
            self.part("dataloader", self.dataloader)
        return 1 if self.failed else 0

    def gen(self):
        run(TOOL, "gen", self.photos, "--images", 12 if self.light else 48,
            "--classes", 4, "--quiet")

    def minute(self):
        """The tuner at work, and what the loader waited for."""
        document, _ = measured(self.photos, "--batch-size", 8, "--seconds",
                               self.seconds, "--workers", "auto")
        return "%.0f images/s" % document["result"]["images_per_second"]

    def stream(self):
        document, _ = measured(self.photos, "--epochs", 2, "--batch-size", 8,
                               "--sink", "hash", "--seed", 3)
        print("stream " + document["result"]["stream_hash"])

    def reader(self):
        """io_uring where it may be used; else threads, and it is said why."""
        document, _ = measured(self.photos, "--epochs", 1, "--batch-size", 8)
        used = document["config"]["reader"]
        asked = subprocess.run(
            [TOOL, "run", self.photos, "--epochs", "1", "--reader", "uring",
             "--quiet"], check=False, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, universal_newlines=True)
        if asked.returncode == 0:
            return "io_uring works; used: " + used
        why = asked.stderr.strip()
        if "io_uring" not in why:
            raise Failed("--reader uring: " + why)
        return "used: %s; asked for io_uring: %s" % (used, why)

    def pack(self):
        run(TOOL, "pack", self.photos, self.shards)
        run(TOOL, "scan", "tar:" + self.shards)

    def index(self):
        """Learned in one run, used by the next, where there is a place."""
        cache = {"FEEDLINE_CACHE_DIR": os.path.join(self.folder, "cache")}
        hashes = []
        for _ in range(2):
            document, _ = measured("tar:" + self.shards, "--epochs", 2,
                                   "--batch-size", 8, "--jpeg-index=true",
                                   "--sink", "hash", env=cache)
            hashes.append(document["result"]["stream_hash"])
        if hashes[0] != hashes[1]:
            raise Failed("another stream with an index")
        # Built without jpegint.h, it has no decoder that could use one.
        uses_it = "packed JPEG" in run(TOOL, "--version").stdout
        if uses_it and not os.listdir(cache["FEEDLINE_CACHE_DIR"]):
            raise Failed("no index was kept")
        # Where the home cannot be written it is done without, silently or not.
        measured("tar:" + self.shards, "--epochs", 1, "--jpeg-index=true")

    def doctor(self):
        run(TOOL, "doctor", "--json", "-")

    def loader(self):
        return self.python("loading.py", LOADING, "feedline")

    def dataloader(self):
        return self.python("training.py", TRAINING,
                           "torchvision, feedline.torch")

    def python(self, name, text, needs):
        try:
            run(sys.executable, "-c", "import " + needs)
        except Failed as error:
            return "skipped: " + str(error).strip().splitlines()[-1]
        program = os.path.join(self.folder, name)
        with open(program, "w", encoding="utf-8") as f:
            f.write(text)
        done = run(sys.executable, program, self.photos)
        return done.stdout.strip().replace("\n", "; ")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--light", action="store_true")
    asked = parser.parse_args()
    sys.exit(Work(asked.folder, asked.seconds, asked.light).all())


if __name__ == "__main__":
    main()
