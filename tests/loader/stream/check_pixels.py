#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A whole epoch through the public interface against Pillow.

For each sample the drawn crop and flip are asked for, and the pixels computed
again: decode, crop, bilinear resize with antialiasing, flip. u8 must be
identical; normalised f32 within 1e-6 of (x / 255 - mean) / std in float32, as
torch does it. Then the same without crops: images keep their sizes
(max_sample_bytes) and lie where the table of offsets says.
Usage: check_pixels.py LIBFEEDLINE FOLDER [ROUNDS]
"""
import ctypes
import os
import sys

try:
    import numpy as np
    import PIL
    from PIL import Image
except ImportError as error:
    print("skipped: no Pillow or numpy:", error)
    sys.exit(77)

PILLOW = int(PIL.__version__.split(".")[0])
U8, F16, F32 = 1, 2, 3
MEAN = np.array([0.485, 0.456, 0.406], np.float32).reshape(3, 1, 1)
STD = np.array([0.229, 0.224, 0.225], np.float32).reshape(3, 1, 1)


class Draw(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32)] + [
        (name, ctypes.c_int32) for name in (
            "flip", "x", "y", "width", "height", "resize_width",
            "resize_height", "window_x", "window_y", "window_width",
            "window_height")]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("dtype", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("shape", ctypes.c_int64 * 4),
                ("stride", ctypes.c_int64 * 4)]


class BatchInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("count", ctypes.c_uint32),
                ("epoch", ctypes.c_uint64), ("sequence", ctypes.c_uint64),
                ("images", Tensor), ("labels", Tensor),
                ("sample_index", ctypes.POINTER(ctypes.c_int64)),
                ("sample_status", ctypes.POINTER(ctypes.c_int32)),
                ("wait_ns", ctypes.c_int64), ("position", ctypes.c_uint64),
                ("views", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("image_offset", ctypes.POINTER(ctypes.c_int64)),
                ("image_size", ctypes.POINTER(ctypes.c_int32 * 2)),
                ("image_bytes", ctypes.c_uint64)]


class SampleInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32), ("label", ctypes.c_int64),
                ("path", ctypes.c_char_p)]


def sized(kind):
    value = kind()
    value.struct_size = ctypes.sizeof(kind)
    return value


class Feedline:
    """Just enough of the interface for this check."""

    def __init__(self, library, folder, options, recipe, *operations):
        self.c = ctypes.CDLL(library)
        self.c.feedline_last_error.restype = ctypes.c_char_p
        config, self.dataset, pipeline, self.loader = (
            ctypes.c_void_p() for _ in range(4))
        self.call("config_create", ctypes.byref(config))
        options = {**options, "pillow": "13" if PILLOW >= 13 else "12"}
        for key, value in options.items():
            self.call("config_set", config, key.encode(), value.encode())
        self.call("dataset_open", folder.encode(), ctypes.byref(self.dataset))
        self.call("pipeline_create", recipe, ctypes.byref(pipeline))
        for operation in operations:
            self.call("pipeline_add", pipeline, operation, None)
        self.call("loader_create", config, self.dataset, pipeline,
                  ctypes.byref(self.loader))
        self.c.feedline_pipeline_destroy(pipeline)
        self.c.feedline_config_destroy(config)

    def call(self, name, *arguments):
        status = getattr(self.c, "feedline_" + name)(*arguments)
        if status < 0:
            sys.exit("%s: %s" % (name, self.c.feedline_last_error().decode()))
        return status

    def batches(self, epoch):
        batch = ctypes.c_void_p()
        self.call("loader_start", self.loader, ctypes.c_uint64(epoch))
        while self.call("loader_next", self.loader, ctypes.c_int64(-1),
                        ctypes.byref(batch)) == 0:
            info = sized(BatchInfo)
            self.call("batch_get_info", batch, ctypes.byref(info))
            yield info
            self.c.feedline_batch_release(batch)

    def path(self, index):
        info = sized(SampleInfo)
        self.call("dataset_get_sample", self.dataset, ctypes.c_uint64(index),
                  ctypes.byref(info))
        return info.path.decode(), info.label

    def draw(self, epoch, index, size):
        draw = sized(Draw)
        self.call("loader_get_draw", self.loader, ctypes.c_uint64(epoch),
                  ctypes.c_uint64(index), 0, 0, size[0], size[1],
                  ctypes.byref(draw))
        return draw

    def close(self):
        self.c.feedline_loader_destroy(self.loader)
        self.c.feedline_dataset_close(self.dataset)


def pillow(path, loader, epoch, index):
    image = Image.open(path).convert("RGB")
    d = loader.draw(epoch, index, image.size)
    image = image.crop((d.x, d.y, d.x + d.width, d.y + d.height))
    image = image.resize((d.resize_width, d.resize_height), Image.BILINEAR)
    image = image.crop((d.window_x, d.window_y, d.window_x + d.window_width,
                        d.window_y + d.window_height))
    if d.flip:
        image = image.transpose(Image.FLIP_LEFT_RIGHT)
    return np.asarray(image).transpose(2, 0, 1)


def pixels_of(tensor, count):
    kind = {U8: ctypes.c_uint8, F16: ctypes.c_uint16,
            F32: ctypes.c_float}[tensor.dtype]
    n = int(np.prod(tensor.shape[:4]))
    flat = np.ctypeslib.as_array(
        ctypes.cast(tensor.data, ctypes.POINTER(kind)), (n,))
    if tensor.dtype == F16:
        flat = flat.view(np.float16)
    return flat.reshape(tensor.shape[:4])[:count]


def check(library, folder, dtype, epoch):
    normalize = dtype != "u8"
    most = {"u8": 0, "f32": 1e-6, "f16": 2e-3}[dtype]
    how = [b"train"] if normalize else [b"none", b"random_resized_crop",
                                        b"horizontal_flip"]
    loader = Feedline(library, folder,
                      {"dtype": dtype, "shuffle": "true", "batch_size": "32"},
                      *how)
    worst, samples = 0.0, 0
    for info in loader.batches(epoch):
        pixels = pixels_of(info.images, info.count)
        labels = ctypes.cast(info.labels.data, ctypes.POINTER(ctypes.c_int64))
        for i in range(info.count):
            index = info.sample_index[i]
            path, label = loader.path(index)
            assert labels[i] == label, path
            wanted = pillow(path, loader, epoch, index)
            if normalize:
                wanted = (wanted.astype(np.float32) / np.float32(255)
                          - MEAN) / STD
                worst = max(worst, float(np.abs(pixels[i] - wanted).max()))
                assert worst <= most, (path, worst)
            else:
                assert np.array_equal(pixels[i], wanted), path
            samples += 1
    loader.close()
    print("epoch %d: %d samples as %s, largest difference %.1e"
          % (epoch, samples, dtype, worst))


def image_of_any_size(info, i):
    height, width = info.image_size[i]
    kind = ctypes.c_uint8 if info.images.dtype == U8 else ctypes.c_float
    at = info.images.data + info.image_offset[i]
    assert at % 64 == 0 and list(info.images.stride) == [0] * 4
    shape = [3 if side == 3 else 0 for side in info.images.shape[1:4]]
    shape = (3, height, width) if shape[0] else (height, width, 3)
    flat = np.ctypeslib.as_array(
        ctypes.cast(at, ctypes.POINTER(kind)), (height * width * 3,))
    return flat.reshape(shape)


def check_any_size(library, folder, dtype, layout):
    options = {"dtype": dtype, "layout": layout, "shuffle": "true",
               "batch_size": "32", "max_sample_bytes": "192m",
               "depth": "2", "memory_budget": "64g"}
    loader = Feedline(library, folder, options, b"none",
                      *([b"normalize"] if dtype == "f32" else []))
    sizes, samples, worst = set(), 0, 0.0
    for info in loader.batches(0):
        for i in range(info.count):
            path, _ = loader.path(info.sample_index[i])
            got = image_of_any_size(info, i)
            wanted = np.asarray(Image.open(path).convert("RGB"))
            if dtype == "f32":
                wanted = (wanted.transpose(2, 0, 1).astype(np.float32)
                          / np.float32(255) - MEAN) / STD
                assert got.shape == wanted.shape, path
                worst = max(worst, float(np.abs(got - wanted).max()))
                assert worst <= 1e-6, (path, worst)
            else:
                assert np.array_equal(got, wanted), path
            sizes.add(got.shape)
            samples += 1
    loader.close()
    assert len(sizes) > 1, "images of one size prove nothing"
    print("%d samples of %d sizes as %s %s, largest difference %.1e"
          % (samples, len(sizes), dtype, layout, worst))


def main():
    library, folder = sys.argv[1:3]
    if not os.path.isdir(folder):
        print("skipped: no images in", folder)
        sys.exit(77)
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    for epoch in range(rounds):
        check(library, folder, "u8", epoch)
        check(library, folder, "f32", epoch)
        check(library, folder, "f16", epoch)
    check_any_size(library, folder, "u8", "nhwc")
    check_any_size(library, folder, "f32", "nchw")


main()
