#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tf.data: the input pipeline of TensorFlow's ImageNet recipes, from files or
from TFRecord: shards interleaved, a shuffle buffer, tf.Example (--form).

decode_and_crop_jpeg decodes the rows and columns of the crop only. The resize
is TensorFlow's bilinear without antialiasing, as those recipes have it: the
antialiased one is another, far slower kernel.
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf

import peer

PACKAGES = ("tensorflow-cpu",)
# The pixels of the others. INTEGER_FAST took 2 to 5 % off a decode where it was
# tried: 400 ImageNet files, libjpeg-turbo 3.1, CPU with AVX2.
DCT = "INTEGER_ACCURATE"
WHOLE = [[[0.0, 0.0, 1.0, 1.0]]]
FEATURES = {"image/encoded": tf.io.FixedLenFeature((), tf.string),
            "image/class/label": tf.io.FixedLenFeature((), tf.int64)}


def gaussian_blur(image):
    """As SimCLR's own code has it: a row, then a column."""
    radius = peer.BLUR_SIZE // 2
    x = tf.range(-radius, radius + 1, dtype=tf.float32)
    sigma = tf.random.uniform([], *peer.BLUR_SIGMA)
    weights = tf.exp(-x * x / (2 * sigma * sigma))
    weights = tf.tile((weights / tf.reduce_sum(weights))[:, None], [1, 3])
    image = image[None]
    for shape in ([-1, 1, 3, 1], [1, -1, 3, 1]):
        image = tf.nn.depthwise_conv2d(image, tf.reshape(weights, shape),
                                       [1, 1, 1, 1], "SAME")
    return image[0]


def change_colors(image):
    brightness, contrast, saturation, hue = peer.JITTER
    image = tf.image.random_brightness(image / 255, brightness)
    image = tf.image.random_contrast(image, 1 - contrast, 1 + contrast)
    image = tf.image.random_saturation(image, 1 - saturation, 1 + saturation)
    image = tf.image.random_hue(image, hue)
    image = tf.cond(tf.random.uniform([]) < peer.GRAY, lambda:
                    tf.tile(tf.image.rgb_to_grayscale(image), [1, 1, 3]),
                    lambda: image)
    image = tf.cond(tf.random.uniform([]) < peer.BLUR,
                    lambda: gaussian_blur(image), lambda: image)
    return 255 * tf.clip_by_value(image, 0, 1)


def prepare(data, label, f32, recipe):
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(data), tf.constant(WHOLE),
        min_object_covered=0.0, aspect_ratio_range=peer.RATIO,
        area_range=peer.SCALE, max_attempts=10,
        use_image_if_no_bounding_boxes=True)
    y, x, _ = tf.unstack(begin)
    height, width, _ = tf.unstack(size)
    image = tf.image.decode_and_crop_jpeg(
        data, tf.stack([y, x, height, width]), channels=3, dct_method=DCT)
    image = tf.image.resize(image, [peer.SIZE, peer.SIZE])
    image = tf.image.random_flip_left_right(image)
    if recipe == "color":
        image = change_colors(image)
    if not f32:
        return tf.cast(image + 0.5, tf.uint8), label
    image = (image - peer.MEAN_255) * [1 / s for s in peer.STD_255]
    return tf.transpose(image, [2, 0, 1]), label


def read_files(job):
    data = tf.data.Dataset.from_tensor_slices((job.files, job.labels))
    # The buffer is filled before the first batch: of millions, not all.
    data = data.shuffle(1024 if job.list else len(job.files)).repeat()
    return data, lambda path, label: (tf.io.read_file(path), label)


def read_bytes(job):
    data = tf.data.Dataset.from_tensor_slices((job.contents(), job.labels))
    data = data.shuffle(len(job.files)).repeat()
    return data, lambda content, label: (content, label)


def load(record):
    sample = tf.io.parse_single_example(record, FEATURES)
    return sample["image/encoded"], sample["image/class/label"]


def read_tfrecord(job):
    shards = job.list_shards("tfrecord")
    data = tf.data.Dataset.from_tensor_slices(shards).shuffle(len(shards))
    data = data.interleave(tf.data.TFRecordDataset, cycle_length=4,
                           num_parallel_calls=job.workers,
                           deterministic=False)
    return data.shuffle(1024).repeat(), load


# By --form: what reads, and what it reads.
FORMS = {"files": (read_files, "the files"), "bytes": (read_bytes, "bytes"),
         "tfrecord": (read_tfrecord, "TFRecord, a buffer of 1,024")}


def batches(job):
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(job.workers)
    data, loaded = FORMS[job.form][0](job)
    data = data.map(lambda *sample: prepare(*loaded(*sample),
                                            job.dtype == "f32", job.recipe),
                    num_parallel_calls=job.workers, deterministic=False)
    data = data.batch(job.batch_size, drop_remainder=True).prefetch(2)
    options = tf.data.Options()
    options.threading.private_threadpool_size = job.workers
    options.threading.max_intra_op_parallelism = 1
    for pixels, _labels in data.with_options(options).as_numpy_iterator():
        yield pixels


def settings(job):
    return {"layout": "nhwc" if job.dtype == "u8" else "nchw",
            "resample": "TensorFlow bilinear, not antialiased",
            "idct": "islow", "upsampling": "fancy", "decode": "the crop",
            "source": FORMS[job.form][1]}


if __name__ == "__main__":
    peer.main(batches, settings, PACKAGES, __doc__)
