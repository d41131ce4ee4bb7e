#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""FFCV with the pixels of whole images in its file: nothing is decoded."""
import io

import numpy as np
from ffcv.fields import RGBImageField
from PIL import Image

import peer
import peer_ffcv


class Pixels(RGBImageField):
    """Of the bytes of a JPEG; reads as FFCV's own field in its raw mode."""

    def encode(self, destination, image, malloc):
        pixels = np.asarray(Image.open(io.BytesIO(image)).convert("RGB"))
        super().encode(destination, pixels, malloc)


def batches(job):
    return peer_ffcv.batches(job, Pixels("raw"))


def settings(job):
    return {**peer_ffcv.settings(job), "idct": "islow", "decode": "none",
            "source": "one file with the pixels of all, mapped"}


if __name__ == "__main__":
    peer.main(batches, settings, peer_ffcv.PACKAGES, __doc__)
