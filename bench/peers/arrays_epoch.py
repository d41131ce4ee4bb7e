#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One loader over 50,000 images of 32 x 32 that are arrays in memory, measured;
a line of JSON at the end.

    arrays_epoch.py --loader feedline

The usual recipe of CIFAR: a crop of 32 x 32 out of the image with 4 black
pixels around it, horizontal flip, normalised; [float32 B x 3 x 32 x 32, labels]
in a new order each epoch. torch and feedline get the same data set of
torchvision, the others the same pixels; FFCV a file of them, mapped. The first
epoch is not counted. All of it in one thread or process.
"""
import argparse
import json
import os
import tempfile

import numpy as np

from dataloader_epoch import measure
from peer import packages

COUNT, SIDE, PADDING = 50000, 32, 4
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)
MEAN_255, STD_255 = [255 * x for x in MEAN], [255 * x for x in STD]
VERSIONS = {"torch": ("torch", "torchvision"), "feedline": ("torch",),
            "ffcv": ("ffcv",), "dali": ("nvidia-dali-cuda120",),
            "tfdata": ("tensorflow-cpu",)}


def pixels_and_labels():
    draw = np.random.default_rng(0)
    small = draw.integers(0, 256, (COUNT, 8, 8, 3), np.uint8)
    return small.repeat(4, 1).repeat(4, 2), draw.integers(0, 10, COUNT)


def cifar():
    """torchvision's data set, without its files."""
    from torchvision import datasets, transforms

    data = datasets.CIFAR10.__new__(datasets.CIFAR10)
    chain = transforms.Compose([
        transforms.RandomCrop(SIDE, padding=PADDING),
        transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize(MEAN, STD)])
    datasets.VisionDataset.__init__(data, "", transform=chain)
    pixels, labels = pixels_and_labels()
    data.data, data.targets = pixels, labels.tolist()
    data.train = True
    return data


def torch_loader(batch_size):
    import torch
    torch.set_num_threads(1)
    return torch.utils.data.DataLoader(cifar(), batch_size=batch_size,
                                       shuffle=True)


def feedline_loader(batch_size):
    import feedline.torch
    loader = feedline.torch.DataLoader(cifar(), batch_size=batch_size,
                                       shuffle=True, num_workers=1)
    if not loader.native:
        raise SystemExit("not native: %s" % loader.fallback_reason)
    return loader


class Rows:
    """The arrays, as FFCV's writer asks for them."""

    def __init__(self):
        self.pixels, self.labels = pixels_and_labels()

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return self.pixels[i], int(self.labels[i])


def ffcv_loader(batch_size):
    from ffcv.fields import IntField, RGBImageField
    from ffcv.fields.decoders import IntDecoder, SimpleRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import NormalizeImage, RandomHorizontalFlip
    from ffcv.transforms import RandomTranslate, ToTensor, ToTorchImage
    from ffcv.writer import DatasetWriter

    path = os.path.join(tempfile.gettempdir(), "feedline-peers-arrays.beton")
    if not os.path.exists(path):
        writer = DatasetWriter(path + ".new", {
            "image": RGBImageField(), "label": IntField()}, num_workers=1)
        writer.from_indexed_dataset(Rows())
        os.replace(path + ".new", path)
    steps = [SimpleRGBImageDecoder(), RandomHorizontalFlip(),
             RandomTranslate(PADDING),
             NormalizeImage(np.array(MEAN_255), np.array(STD_255), np.float32),
             ToTensor(), ToTorchImage(convert_back_int16=False)]
    return Loader(path, batch_size=batch_size, num_workers=1,
                  order=OrderOption.RANDOM, os_cache=True, drop_last=False,
                  pipelines={"image": steps, "label": [IntDecoder()]})


class Epochs:
    """An epoch each time that it is iterated."""

    def __init__(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        return self.epoch()


def dali_loader(batch_size):
    from nvidia.dali import fn, pipeline_def, types

    pixels, labels = pixels_and_labels()
    draw = np.random.default_rng(1)

    def orders():
        while True:
            order = draw.permutation(COUNT)
            for i in range(0, COUNT - batch_size + 1, batch_size):
                chosen = order[i:i + batch_size]
                yield pixels[chosen], labels[chosen, None]

    @pipeline_def
    def train():
        images, numbers = fn.external_source(
            source=orders(), num_outputs=2, batch=True,
            dtype=[types.UINT8, types.INT64], layout=["HWC", ""])
        begin = fn.random.uniform(
            values=list(range(-PADDING, PADDING + 1)), shape=[2],
            dtype=types.INT32)
        images = fn.slice(images, begin, [SIDE, SIDE], axis_names="HW",
                          normalized_anchor=False, normalized_shape=False,
                          out_of_bounds_policy="pad")
        return fn.crop_mirror_normalize(
            images, mirror=fn.random.coin_flip(), mean=MEAN_255, std=STD_255,
            dtype=types.FLOAT, output_layout="CHW"), numbers

    pipeline = train(batch_size=batch_size, num_threads=1, device_id=None,
                     prefetch_queue_depth=2, seed=1)
    pipeline.build()

    def epoch():
        for _ in range(COUNT // batch_size):
            images, numbers = pipeline.run()
            yield np.asarray(images.as_tensor()), numbers

    return Epochs(epoch)


def tfdata_loader(batch_size):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)

    def prepare(image, label):
        image = tf.pad(image, [[PADDING, PADDING], [PADDING, PADDING], [0, 0]])
        image = tf.image.random_crop(image, [SIDE, SIDE, 3])
        image = tf.image.random_flip_left_right(image)
        image = (tf.cast(image, tf.float32) - MEAN_255) / STD_255
        return tf.transpose(image, [2, 0, 1]), label

    data = tf.data.Dataset.from_tensor_slices(pixels_and_labels())
    data = data.shuffle(COUNT).map(prepare, num_parallel_calls=1)
    data = data.batch(batch_size, drop_remainder=True).prefetch(2)
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    return Epochs(data.with_options(options).as_numpy_iterator)


LOADERS = {"feedline": feedline_loader, "torch": torch_loader,
           "ffcv": ffcv_loader, "dali": dali_loader, "tfdata": tfdata_loader}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loader", choices=LOADERS, required=True)
    parser.add_argument("--epochs", type=int, default=2, metavar="E",
                        help="that count [%(default)s]")
    parser.add_argument("--batch-size", type=int, default=128, metavar="B",
                        help="samples in a batch [%(default)s]")
    arguments = parser.parse_args()
    out = measure(LOADERS[arguments.loader](arguments.batch_size), arguments)
    out["versions"] = packages(VERSIONS[arguments.loader])
    print(json.dumps(out), flush=True)
    # Some of them have threads that wait for ever.
    os._exit(0)


if __name__ == "__main__":
    main()
