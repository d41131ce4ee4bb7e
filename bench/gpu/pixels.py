# SPDX-License-Identifier: Apache-2.0
"""Decoded images in memory, so that no storage and no decoder takes part; each
image tells which one it is."""
import os

import feedline


def raw(count, size):
    """`count` images of size x size x 3 random bytes; the first eight of each
    are its number."""
    image = size * size * 3
    block = os.urandom(min(count, 64) * image)
    memory = bytearray((block * (count * image // len(block) + 1))
                       [:count * image])
    for n in range(count):
        memory[n * image:n * image + 8] = n.to_bytes(8, "little")
    return memoryview(memory).cast("B", (count, size, size, 3))


def dataset(images):
    """Labels are the images' numbers."""
    return feedline.Dataset.pixels(images, range(len(images)))


def endless(loader):
    """Its batches, epoch after epoch."""
    while True:
        yield from loader
