#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""simplejpeg and OpenCV: the loader people write themselves.

Both release the GIL, so the workers are threads that write straight into the
batch. INTER_AREA is the averaging filter where the crop shrinks: OpenCV's
bilinear takes four pixels however many it should, which aliases.
"""
import collections
import concurrent.futures
import random

import cv2
import numpy as np
import simplejpeg

import peer

PACKAGES = ("simplejpeg", "opencv-python-headless", "numpy")
AHEAD = 2  # batches in the making, so that no thread waits for a last image


def prepare(job, index, out):
    with open(job.files[index], "rb") as f:
        data = f.read()
    image = simplejpeg.decode_jpeg(data)
    height, width = image.shape[:2]
    x, y, w, h = peer.draw_box(width, height)
    size = (peer.SIZE, peer.SIZE)
    flip = random.random() < 0.5
    crop = image[y:y + h, x:x + w]
    if job.dtype == "u8" and not flip:
        cv2.resize(crop, size, dst=out, interpolation=cv2.INTER_AREA)
        return
    crop = cv2.resize(crop, size, interpolation=cv2.INTER_AREA)
    if job.dtype == "u8":
        cv2.flip(crop, 1, dst=out)
        return
    if flip:
        crop = cv2.flip(crop, 1)
    for c, plane in enumerate(cv2.split(crop)):
        scale = 1 / peer.STD_255[c]
        np.multiply(plane, np.float32(scale), out=out[c], dtype=np.float32)
        out[c] -= np.float32(peer.MEAN_255[c] * scale)


def batches(job):
    cv2.setNumThreads(1)
    shape = ((peer.SIZE, peer.SIZE, 3) if job.dtype == "u8"
             else (3, peer.SIZE, peer.SIZE))
    dtype = {"u8": np.uint8, "f32": np.float32}[job.dtype]
    # Slots are used again: fresh memory would be page faults in each batch.
    slots = [np.empty((job.batch_size, *shape), dtype)
             for _ in range(AHEAD + 1)]
    pool = concurrent.futures.ThreadPoolExecutor(job.workers)
    under_way = collections.deque()
    for n, indices in enumerate(job.index_batches()):
        batch = slots[n % len(slots)]
        under_way.append((batch, [pool.submit(prepare, job, index, batch[i])
                                  for i, index in enumerate(indices)]))
        if len(under_way) == AHEAD:
            batch, parts = under_way.popleft()
            for part in parts:
                part.result()
            yield batch


def settings(job):
    return {"layout": "nhwc" if job.dtype == "u8" else "nchw",
            "resample": "OpenCV INTER_AREA", "idct": "islow",
            "upsampling": "fancy", "decode": "full image",
            "source": "the files"}


if __name__ == "__main__":
    peer.main(batches, settings, PACKAGES, __doc__)
