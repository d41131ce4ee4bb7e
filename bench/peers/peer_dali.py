#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DALI on the CPU: a pipeline without a device, from files, from WebDataset's
tar shards, or from TFRecord, these with their index files (--form).

Its decoder takes part of an image as feedline does. Antialiasing is its
default; without it, pixels are not those of the other peers. The same goes for
use_fast_idct, which takes 2 to 5 % off a decode (see peer_tfdata.py).
"""
import os

import numpy as np
from nvidia.dali import fn, pipeline_def, tfrecord, types
from nvidia.dali.auto_aug import rand_augment

import peer

PACKAGES = ("nvidia-dali-cuda120",)


def read_files(job):
    return fn.readers.file(
        files=job.files, labels=job.labels, random_shuffle=True,
        initial_fill=len(job.files), name="files")


def read_list(job):
    return fn.readers.file(
        file_list=job.list, random_shuffle=True, initial_fill=1024,
        name="list")


def read_bytes(job):
    held = [np.frombuffer(x, np.uint8) for x in job.contents()]
    labels = [np.array([x], np.int64) for x in job.labels]

    def batch():
        for indices in job.index_batches():
            yield [held[i] for i in indices], [labels[i] for i in indices]

    return fn.external_source(source=batch(), num_outputs=2, batch=True,
                              dtype=[types.UINT8, types.INT64])


def read_tar(job):
    shards = job.list_shards("tar")
    jpegs, labels = fn.readers.webdataset(
        paths=shards, index_paths=[os.path.splitext(s)[0] + ".idx"
                                   for s in shards],
        ext=["jpg", "cls"], random_shuffle=True,
        initial_fill=min(1024, len(job.files)),
        missing_component_behavior="error", dtypes=[types.UINT8] * 2,
        name="tar")
    return jpegs, labels


def read_tfrecord(job):
    shards = job.list_shards("tfrecord")
    sample = fn.readers.tfrecord(
        path=shards, index_path=[s + ".idx" for s in shards],
        features={
            "image/encoded": tfrecord.FixedLenFeature((), tfrecord.string, ""),
            "image/class/label": tfrecord.FixedLenFeature([1],
                                                          tfrecord.int64, -1)},
        random_shuffle=True, initial_fill=min(1024, len(job.files)),
        name="tfrecord")
    return sample["image/encoded"], sample["image/class/label"]


# By --form: what reads, and what it reads.
FORMS = {"files": (read_files, "the files, mapped"),
         "list": (read_list, "the files, mapped"),
         "bytes": (read_bytes, "bytes"),
         "tar": (read_tar, "tar, a buffer of 1,024"),
         "tfrecord": (read_tfrecord, "TFRecord, a buffer of 1,024")}


def chance(probability):
    return fn.random.coin_flip(probability=probability, dtype=types.BOOL)


def change_colors(images):
    brightness, contrast, saturation, hue = peer.JITTER
    images = fn.color_twist(
        images, brightness=around(1, brightness), contrast=around(1, contrast),
        saturation=around(1, saturation), hue=around(0, 360 * hue))
    images = fn.saturation(
        images, saturation=fn.cast(chance(1 - peer.GRAY), dtype=types.FLOAT))
    if chance(peer.BLUR):
        images = fn.gaussian_blur(
            images, window_size=peer.BLUR_SIZE,
            sigma=fn.random.uniform(range=list(peer.BLUR_SIGMA)))
    return images


def around(middle, reach):
    return fn.random.uniform(range=[middle - reach, middle + reach])


@pipeline_def(enable_conditionals=True)
def train(job):
    jpegs, labels = FORMS["list" if job.list else job.form][0](job)
    images = fn.decoders.image_random_crop(
        jpegs, device="cpu", output_type=types.RGB,
        random_area=list(peer.SCALE), random_aspect_ratio=list(peer.RATIO))
    images = fn.resize(images, size=[peer.SIZE, peer.SIZE],
                       interp_type=types.INTERP_LINEAR, antialias=True)
    mirror = fn.random.coin_flip()
    if job.recipe != "train":
        # These follow the flip, as with the others.
        images = fn.flip(images, horizontal=mirror)
        mirror = 0
    if job.recipe == "color":
        images = change_colors(images)
    elif job.recipe == "rand_augment":
        n, magnitude = peer.RAND_AUGMENT
        images = rand_augment.rand_augment(images, n=n, m=magnitude,
                                           fill_value=0)
    if job.dtype == "u8":
        return fn.flip(images, horizontal=mirror), labels
    return fn.crop_mirror_normalize(
        images, mirror=mirror, mean=peer.MEAN_255, std=peer.STD_255,
        dtype=types.FLOAT, output_layout="CHW"), labels


def batches(job):
    pipeline = train(job, batch_size=job.batch_size,
                     num_threads=job.workers, device_id=None,
                     prefetch_queue_depth=2, seed=1)
    pipeline.build()
    while True:
        pixels, _labels = pipeline.run()
        # A view of DALI's memory, as its framework plugins would copy it on.
        yield np.asarray(pixels.as_tensor())


def settings(job):
    return {"layout": "nhwc" if job.dtype == "u8" else "nchw",
            "resample": "DALI linear, antialiased", "idct": "islow",
            "upsampling": "fancy", "decode": "the crop",
            "source": FORMS[job.form][1]}


if __name__ == "__main__":
    peer.main(batches, settings, PACKAGES, __doc__)
