# SPDX-License-Identifier: Apache-2.0
"""Batches as numpy arrays: no torch, no GPU.

    python numpy_batches.py [FOLDER] [--epochs 3]

FOLDER has one folder of images per class; without it a few are made in memory.
The model is a softmax on coarse pixels, which is enough to see that it learns.
A batch is a view of the loader's memory until it is released; `Tensor` speaks
DLPack as well, for libraries that want their own arrays of it.
"""

from __future__ import annotations

import argparse
from typing import Tuple

import numpy

import feedline

SIZE = 8  # of an image, as the model sees it


def made_images() -> feedline.Dataset:
    """96 pictures in memory: the brighter half says the class."""
    random = numpy.random.default_rng(7)
    labels = numpy.arange(96) % 4
    pixels = random.integers(0, 120, (96, 64, 64, 3), dtype=numpy.uint8)
    for picture, label in zip(pixels, labels):
        half = (slice(0, 32), slice(32, 64))[label % 2]
        where = (half, slice(None)) if label < 2 else (slice(None), half)
        picture[where] += 120
    return feedline.Dataset.pixels(pixels, labels.tolist())


class Softmax:
    """Multinomial logistic regression, by gradient descent."""

    def __init__(self, inputs: int, classes: int) -> None:
        self.weights = numpy.zeros((inputs + 1, classes), numpy.float32)

    def step(self, images: numpy.ndarray, labels: numpy.ndarray) -> float:
        """Learns from a batch, and returns its accuracy before."""
        flat = images.reshape(len(images), -1)
        inputs = numpy.concatenate([flat, numpy.ones_like(flat[:, :1])], axis=1)
        scores = inputs @ self.weights
        likely = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        likely[numpy.arange(len(labels)), labels] -= 1
        self.weights -= 0.02 * (inputs.T @ likely) / len(labels)
        return float((scores.argmax(axis=1) == labels).mean())


def train_epoch(loader: feedline.Loader, model: Softmax) -> Tuple[int, float]:
    samples, right = 0, 0.0
    for batch in loader:
        images, labels = batch.images.numpy(), batch.labels.numpy()
        right += model.step(images, labels) * len(labels)
        samples += len(labels)
        batch.release()
    return samples, right / samples


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()

    dataset = (
        feedline.Dataset.open(args.folder) if args.folder else made_images()
    )
    pipeline = feedline.Pipeline("none").add("resize", width=SIZE, height=SIZE)
    loader = feedline.Loader(
        dataset, pipeline, batch_size=16, dtype="f32", shuffle=True, seed=1
    )
    classes = len(dataset.classes) or 4
    model = Softmax(SIZE * SIZE * 3, classes)
    for epoch in range(args.epochs):
        samples, right = train_epoch(loader, model)
        print("epoch %d: %d samples, %.2f right" % (epoch, samples, right))
    print(loader.explain())
    loader.close()


if __name__ == "__main__":
    main()
