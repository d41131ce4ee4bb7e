#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The yardstick: libjpeg-turbo's full decode to RGB, and nothing after it.

The files are in memory, and simplejpeg brings a libjpeg-turbo of its own.
"""
import concurrent.futures
import itertools
import time

import simplejpeg

import peer

PACKAGES = ("simplejpeg", "numpy")


def decode_share(data, turns, first, step):
    for image in itertools.islice(itertools.cycle(data[first::step]),
                                  turns * len(data[first::step])):
        simplejpeg.decode_jpeg(image)


def main():
    job = peer.parse(__doc__)
    data = []
    for path in job.files:
        with open(path, "rb") as f:
            data.append(f.read())
    pool = concurrent.futures.ThreadPoolExecutor(job.workers)

    def decode_all(turns):
        parts = [pool.submit(decode_share, data, turns, i, job.workers)
                 for i in range(job.workers)]
        for part in parts:
            part.result()

    decode_all(1)
    wall, cpu = time.perf_counter(), peer.cpu_seconds()
    decode_all(job.epochs)
    wall, cpu = time.perf_counter() - wall, peer.cpu_seconds() - cpu
    images = job.epochs * len(data)
    peer.report({
        "images": images, "seconds": wall, "cpu_seconds": cpu,
        "images_per_second": images / wall,
        "images_per_cpu_second": images / cpu,
        "settings": {"layout": "nhwc", "resample": "none", "idct": "islow",
                     "upsampling": "fancy", "decode": "full image",
                     "source": "memory"},
        "versions": peer.packages(PACKAGES)})


if __name__ == "__main__":
    main()
