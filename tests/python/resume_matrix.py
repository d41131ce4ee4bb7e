#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Saves a loader behind every batch of three epochs, and goes on in a process
of its own from each state.

    resume_matrix.py FOLDER [--backend torch] [--workers 0 2 auto] [NAME...]

FOLDER has class folders of images. For each case of sampler_cases.py, or those
whose names contain NAME, a run is not interrupted, and each state of it has to
give the rest of its epoch and the whole following epoch of that run, to the
bit. Twice: by a program that puts the global generators back, too, and by one
that has drawn from them otherwise; that one has to be right for the rest of the
epoch, and the epoch behind a finished one.

This process only imports. All loaders are in children, which end with their
run, so that no state of one is known to another. Exit status: 1 if a batch
differed.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import sys
import time
import warnings
import zlib
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import numpy
import torch
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

from feedline.torch import DataLoader, FallbackWarning
from sampler_cases import all_cases

SAMPLES = 18
SAVED_EPOCHS = 3
Batches = List[int]  # a checksum of each


class Point(NamedTuple):
    """Where a run was saved: behind so many batches, -1: behind the end."""

    epoch: int
    batch: int
    state: str
    generators: bytes


class Run(NamedTuple):
    epochs: List[Batches]
    points: List[Point]


def seeded(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)


def generators() -> bytes:
    """The global ones, which are the program's to save."""
    return pickle.dumps(
        (torch.get_rng_state(), random.getstate(), numpy.random.get_state())
    )


def put_back(saved: bytes) -> None:
    first, second, third = pickle.loads(saved)
    torch.set_rng_state(first)
    random.setstate(second)
    numpy.random.set_state(third)


def data_set(folder: str, draws: bool) -> Any:
    """Every third of them, 8 pixels wide. draws: at random from there."""
    chain = [T.RandomCrop(7), T.RandomHorizontalFlip()] if draws else []
    chain = [T.Resize(8), T.CenterCrop(8), *chain, T.ToTensor()]
    images = ImageFolder(folder, T.Compose(chain))
    return torch.utils.data.Subset(images, range(0, 3 * SAMPLES, 3))


class Program:
    """A training script without a model."""

    def __init__(self, folder: str, name: str, workers: Any, backend: str):
        seeded(1)
        self.name = name
        data = data_set(folder, backend != "torch")
        arguments = {"batch_size": 4, **all_cases()[name](data)}
        self.loader = DataLoader(
            data, num_workers=workers, backend=backend, **arguments
        )

    def begin(self, epoch: int) -> Any:
        """Tells the epoch where that is the program's to do, and iterates."""
        told = getattr(self.loader.sampler, "set_epoch", None)
        if told is not None and not self.name.startswith("accelerate"):
            told(epoch)
        return iter(self.loader)

    def uninterrupted(self) -> Run:
        epochs: List[Batches] = []
        points: List[Point] = []
        for epoch in range(SAVED_EPOCHS + 2):
            found: Batches = []
            batches = self.begin(epoch)
            while True:
                if epoch < SAVED_EPOCHS:
                    points.append(self.saved(epoch, len(found)))
                batch = next(batches, None)
                if batch is None:
                    break
                found.append(checksum(batch))
            epochs.append(found)
            if epoch < SAVED_EPOCHS:
                points.append(self.saved(epoch, -1))
        return Run(epochs, points)

    def saved(self, epoch: int, batch: int) -> Point:
        state = json.dumps(self.loader.state_dict())
        return Point(epoch, batch, state, generators())

    def resumed(self, point: Point, restores: bool) -> List[Batches]:
        """Two epochs from there."""
        if not restores:
            torch.rand(3), random.random(), numpy.random.rand(2)
        self.loader.load_state_dict(json.loads(point.state))
        if restores:
            put_back(point.generators)
        first = point.epoch + (point.batch < 0)
        if point.batch % 2:
            batches = self.begin(first)
        else:
            batches = iter(self.loader)
            self.tell_late(first if point.batch < 0 else None)
        found = [[checksum(batch) for batch in batches]]
        if restores:
            following = self.begin(first + 1)
            found.append([checksum(batch) for batch in following])
        return found

    def tell_late(self, epoch: Optional[int]) -> None:
        told = getattr(self.loader.sampler, "set_epoch", None)
        if epoch is not None and told is not None:
            if not self.name.startswith("accelerate"):
                told(epoch)


def checksum(batch: Any) -> int:
    images, labels = batch
    before = zlib.crc32(str(labels).encode())
    return zlib.crc32(images.numpy().tobytes(), before)


def in_a_child(work: Callable[[], Any]) -> Any:
    """What it returns, or the text of what it raised."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as out:
                try:
                    pickle.dump(work(), out)
                    status = 0
                except Exception as error:
                    text = "%s: %s" % (type(error).__name__, error)
                    pickle.dump(text, out)
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        found = pickle.load(answer)
    os.waitpid(child, 0)
    return found


def wanted(run: Run, point: Point) -> List[Batches]:
    """The rest of the epoch and the following one."""
    if point.batch < 0:
        return run.epochs[point.epoch + 1 : point.epoch + 3]
    return [run.epochs[point.epoch][point.batch :], run.epochs[point.epoch + 1]]


def check(make: Callable[[], Program], what: str) -> Tuple[int, int]:
    """Prints each state that goes on otherwise; how many did, and states."""
    run = in_a_child(lambda: make().uninterrupted())
    if isinstance(run, str):
        print("%s: %s" % (what, run), flush=True)
        return 1, 0
    wrong = 0
    for point in run.points:
        for restores in (True, False):
            found = in_a_child(lambda: make().resumed(point, restores))
            expected = wanted(run, point)[: 1 + restores]
            if found != expected:
                wrong += 1
                print(
                    "%s: epoch %d, batch %d%s: %s"
                    % (
                        what,
                        point.epoch,
                        point.batch,
                        "" if restores else ", generators elsewhere",
                        said(found, expected),
                    )
                )
    return wrong, 2 * len(run.points)


def said(found: Any, expected: List[Batches]) -> str:
    if isinstance(found, str):
        return found
    same = [
        "%d of %d right" % (sum(a == b for a, b in zip(f, e)), len(e))
        for f, e in zip(found, expected)
    ]
    return ", then ".join(same)


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--workers", nargs="+", default=["0", "2", "auto"])
    parser.add_argument("--backend", default="native")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore", FallbackWarning)
    warnings.simplefilter("ignore", UserWarning)
    wrong = states = runs = 0
    began = time.monotonic()
    for name in all_cases():
        if given.names and not any(part in name for part in given.names):
            continue
        for text in given.workers:
            workers = int(text) if text.isdigit() else text

            def make() -> Program:
                return Program(given.folder, name, workers, given.backend)

            found = check(make, "%s, workers %s" % (name, text))
            wrong, states, runs = wrong + found[0], states + found[1], runs + 1
    print(
        "%d runs, %d states resumed, %d wrong, %d s"
        % (runs, states, wrong, time.monotonic() - began)
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
