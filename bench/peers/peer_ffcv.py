#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""FFCV in its JPEG mode, on the very bytes of the files; with --form raw on the
pixels of whole images, of which nothing is decoded.

FFCV reads a file format of its own. Its writer would decode and encode each
image again, which makes other and smaller JPEGs; a field that stores the bytes
as they are keeps the work the same. The file is made once, beside nothing of
the user's: in the folder for temporary files.
"""
import hashlib
import io
import multiprocessing
import os
import sys
import tempfile
import threading

import ffcv.writer
import numpy as np
import simplejpeg
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.fields.rgb_image import IMAGE_MODES
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip
from ffcv.transforms import ToTensor, ToTorchImage
from ffcv.writer import MIN_PAGE_SIZE, DatasetWriter
from PIL import Image

import peer

PACKAGES = ("ffcv", "numba", "numpy", "torch")
EPOCHS_A_PASS = 16  # a pass of the loader ends in a seam; make it rare


class OriginalJpeg(RGBImageField):
    """Stores a JPEG's bytes; reads as FFCV's own field in its JPEG mode."""

    def encode(self, destination, image, malloc):
        height, width, _, _ = simplejpeg.decode_jpeg_header(image)
        data = np.frombuffer(image, np.uint8)
        destination["mode"] = IMAGE_MODES["jpg"]
        destination["height"], destination["width"] = height, width
        destination["data_ptr"], storage = malloc(data.nbytes)
        storage[:] = data

    @staticmethod
    def bytes_of(path):
        return os.path.getsize(path)


class Pixels(RGBImageField):
    """Of the bytes of a JPEG; reads as FFCV's own field in its raw mode."""

    def encode(self, destination, image, malloc):
        pixels = np.asarray(Image.open(io.BytesIO(image)).convert("RGB"))
        super().encode(destination, pixels, malloc)

    @staticmethod
    def bytes_of(path):
        with Image.open(path) as image:
            return 3 * image.width * image.height


def field_of(job):
    return Pixels("raw") if job.form == "raw" else OriginalJpeg("jpg")


class Writing(multiprocessing.Process):
    """FFCV waits for what its processes count, and not for them: where one has
    died, of an image or a full disk, it waits for ever, at 2 % of a core."""

    def __init__(self, target, args):
        super().__init__(target=target, args=args)
        self.shared = args[1]  # memory that FFCV would free at its end

    def start(self):
        super().start()
        threading.Thread(target=self.end_together, daemon=True).start()

    def end_together(self):
        self.join()
        if self.exitcode:
            self.shared.unlink()
            print("FFCV's process that writes its file ended with status %d"
                  % self.exitcode, file=sys.stderr, flush=True)
            os._exit(1)


class Files:
    def __init__(self, job):
        self.job = job

    def __len__(self):
        return len(self.job.files)

    def __getitem__(self, i):
        with open(self.job.files[i], "rb") as f:
            return f.read(), self.job.labels[i]


def page_size(job, field):
    """A power of two that holds the largest image. With a smaller one FFCV's
    process that writes dies, and the one that waits for it waits for ever."""
    largest = max(map(field.bytes_of, job.files))
    return max(4 * MIN_PAGE_SIZE, 1 << (largest - 1).bit_length())


def data_file(job, field):
    """Written at the first use, under a name that follows from the files."""
    names = hashlib.sha256()
    for path in job.files:
        stat = os.stat(path)
        names.update(b"%s %d %d\n" % (os.path.abspath(path).encode(),
                                     stat.st_size, stat.st_mtime_ns))
    path = os.path.join(tempfile.gettempdir(),
                        "feedline-peers-%s-%s.beton" % (
                            type(field).__name__, names.hexdigest()[:16]))
    if not os.path.exists(path):
        ffcv.writer.Process = Writing
        writer = DatasetWriter(path + ".new",
                               {"image": field, "label": IntField()},
                               page_size=page_size(job, field), num_workers=1)
        writer.from_indexed_dataset(Files(job))
        os.replace(path + ".new", path)
    return path


def batches(job):
    field = field_of(job)
    steps = [RandomResizedCropRGBImageDecoder((peer.SIZE, peer.SIZE)),
             RandomHorizontalFlip()]
    if job.dtype == "f32":
        steps.append(NormalizeImage(np.array(peer.MEAN_255),
                                    np.array(peer.STD_255), np.float32))
    steps.append(ToTensor())
    if job.dtype == "f32":
        steps.append(ToTorchImage(convert_back_int16=False))
    indices = np.tile(np.arange(len(job.files)), EPOCHS_A_PASS)
    loader = Loader(data_file(job, field), batch_size=job.batch_size,
                    num_workers=job.workers, order=OrderOption.RANDOM,
                    custom_fields={"image": type(field)},
                    indices=indices, os_cache=True, drop_last=True,
                    pipelines={"image": steps, "label": [IntDecoder()]})
    while True:
        for pixels, _labels in loader:
            yield pixels


def settings(job):
    layout = {"u8": "nhwc", "f32": "nchw"}[job.dtype]
    memory = "" if job.dtype == "u8" else ", memory is nhwc (channels_last)"
    raw = {"idct": "islow", "decode": "none",
           "source": "one file with the pixels of all, mapped"}
    return {"layout": layout, "resample": "OpenCV INTER_AREA",
            "idct": "ifast", "upsampling": "fancy",
            "decode": "full image",
            "source": "one file with the bytes of all, mapped" + memory,
            **(raw if job.form == "raw" else {})}


if __name__ == "__main__":
    peer.main(batches, settings, PACKAGES, __doc__)
