#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SPDL: FFmpeg decodes, scales and flips in threads, without the GIL.

Crop, scale and flip are one filter graph, so swscale converts to RGB only what
the output needs. f32 is left to torch, for SPDL has no such step.
"""
import itertools
import random

import spdl.io
import torch
from spdl.pipeline import PipelineBuilder

import peer

PACKAGES = ("spdl-io", "spdl-core", "torch")
ONE_THREAD = {"threads": "1"}  # per image: the images are what is parallel
SLOTS = 5  # more than the pipeline holds of finished batches
# bilinear of swscale widens with the reduction, that is, it is antialiased
FILTER = ("crop={}:{}:{}:{}:exact=1,scale={}:{}:flags=bilinear,"
          "format=pix_fmts=rgb24{}")


def decode(path):
    packets = spdl.io.demux_image(path)
    x, y, w, h = peer.draw_box(packets.width, packets.height)
    flip = ",hflip" if random.random() < 0.5 else ""
    return spdl.io.decode_packets(
        packets, FILTER.format(w, h, x, y, peer.SIZE, peer.SIZE, flip),
        spdl.io.decode_config(decoder_options=ONE_THREAD))


class Finish:
    def __init__(self, job):
        self.normalise = job.dtype == "f32"
        self.scale = torch.tensor([1 / s for s in peer.STD_255])
        self.shift = torch.tensor([-m / s for m, s in
                                   zip(peer.MEAN_255, peer.STD_255)])
        shape = (job.batch_size, 3, peer.SIZE, peer.SIZE)
        self.slots = itertools.cycle([torch.empty(shape)
                                      for _ in range(SLOTS)])

    def __call__(self, frames):
        pixels = spdl.io.to_torch(spdl.io.convert_frames(frames))
        if not self.normalise:
            return pixels
        # Slots are used again: fresh memory would be page faults every time.
        return (next(self.slots).copy_(pixels.permute(0, 3, 1, 2))
                .mul_(self.scale[:, None, None])
                .add_(self.shift[:, None, None]))


def batches(job):
    torch.set_num_threads(1)
    spdl.io.demux_config()  # says so where FFmpeg's libraries are missing
    paths = (job.files[i] for i in job.order())
    pipeline = (PipelineBuilder()
                .add_source(paths)
                .pipe(decode, concurrency=job.workers)
                .aggregate(job.batch_size)
                .pipe(Finish(job))
                .add_sink(2)
                # Failures are skipped by default: where nothing can be decoded,
                # an endless source goes on for ever without a batch.
                .build(num_threads=job.workers, max_failures=0))
    with pipeline.auto_stop():
        yield from pipeline


def settings(job):
    return {"layout": "nhwc" if job.dtype == "u8" else "nchw",
            "resample": "swscale bilinear, antialiased, in YCbCr",
            "idct": "FFmpeg simple", "upsampling": "swscale bilinear",
            "decode": "full image, converts the crop",
            "source": "the files"}


if __name__ == "__main__":
    peer.main(batches, settings, PACKAGES, __doc__)
