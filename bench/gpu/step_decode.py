# SPDX-License-Identifier: Apache-2.0
"""Batches that the GPU decodes (decode=device): their pixels are those of the
CPU, how fast they come, what of the GPU's time and of the bus they take, and
what they cost kernels beside them. Of packed samples, and of JPEGs that the
index comes to know.
"""
import ctypes
import os
import time

import outcome

SIDE = 224
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def packed(path):
    """The file as a packed sample, or as it is where it cannot be one."""
    import feedline

    with open(path, "rb") as f:
        data = f.read()
    made, size = ctypes.c_void_p(), ctypes.c_uint64()
    if feedline._lib.jpeg_pack(data, len(data), ctypes.byref(made),
                               ctypes.byref(size)) < 0:
        return data
    found = ctypes.string_at(made.value, size.value)
    ctypes.CDLL(None).free(made)
    return found


def photographs(step, count):
    """Paths of the first `count`."""
    found = [os.path.join(folder, name)
             for folder, _, names in os.walk(step.path("images"))
             for name in names]
    return sorted(found)[:count]


def loader(data, batch_size, **options):
    import feedline

    pipeline = feedline.Pipeline().add("random_resized_crop", width=SIDE,
                                       height=SIDE).add("horizontal_flip")
    if options.get("dtype") != "u8":
        pipeline.add("normalize", mean=MEAN, std=STD)
    return feedline.Loader(data, pipeline, batch_size=batch_size, shuffle=True,
                           drop_last=True, layout="nhwc", jpeg_index=True,
                           **options)


def compare(step, what, data, batch_size, epochs, driver, gpu, dtype):
    """Every byte of some epochs."""
    import pixels

    size = batch_size * SIDE * SIDE * 3 * (1 if dtype == "u8" else 4)
    differing, batches = 0, epochs * (len(data) // batch_size)
    there = loader(data, batch_size, dtype=dtype, device="cuda:0",
                   decode="device")
    here = loader(data, batch_size, dtype=dtype)
    pairs = zip(pixels.endless(there), pixels.endless(here))
    for _, (ours, theirs) in zip(range(batches), pairs):
        ours.wait(gpu.stream)
        found = driver.read(ours.images.data_ptr(), size, gpu.stream)
        differing += found != ctypes.string_at(theirs.images.data_ptr(), size)
        ours.release()
        theirs.release()
    decoded = there.stats()["transfer"]["decoded"]
    step.truth("%s, %s: batches that differ" % (what, dtype), 0,
               "%d of %d" % (differing, batches), differing == 0)
    step.truth("%s, %s: samples that the GPU decoded" % (what, dtype),
               "some", decoded, decoded > 0)
    there.close()
    here.close()


def pass_batches(batches, count, stream, between=lambda: None):
    for _ in range(count):
        batch = next(batches)
        batch.wait(stream)
        between()
        batch.release()


def measure(step, what, data, batch_size, gpu, seconds):
    """Rates and shares once every file was seen a few times."""
    import pixels

    with loader(data, batch_size, dtype="u8", device="cuda:0",
                decode="device") as there:
        batches = pixels.endless(there)
        epoch = len(data) // batch_size
        pass_batches(batches, 4 * epoch, gpu.stream)
        there.reset_stats()
        began, count = time.monotonic(), 0
        while time.monotonic() < began + seconds:
            pass_batches(batches, epoch, gpu.stream)
            count += epoch
        taken = time.monotonic() - began
        found = there.stats()["transfer"]
        images = count * batch_size
        step.number("%s: images/s" % what, images / taken, form="%.0f")
        if found["decode_seconds"]:
            step.number(
                "%s: images/s while kernels decode" % what,
                found["decode_batches"] * batch_size / found["decode_seconds"],
                form="%.0f")
            step.number("%s: of the GPU's time" % what,
                        found["decode_seconds"] / taken)
        step.number("%s: left to the GPU, of all samples" % what,
                    found["decoded"] / images)
        copied = batch_size * max(found["batches"], 1)
        step.number("%s: KB over the bus per image" % what,
                    found["copied_bytes"] / copied / 1e3,
                    high=SIDE * SIDE * 3 / 1e3, form="%.1f")


def beside(step, data, batch_size, gpu, count):
    """How much longer products of matrices take beside a loader."""
    import pixels
    from torch_gpu import gpu as torch_of

    work = torch_of(step)
    times = {}
    for where in ("host", "device"):
        with loader(data, batch_size, dtype="u8", device="cuda:0",
                    decode=where) as there:
            batches = pixels.endless(there)
            pass_batches(batches, count, gpu.stream)
            first = work.mark()
            pass_batches(batches, count, gpu.stream, lambda: work.work(64))
            times[where] = work.between(first, work.mark()) / count
    step.number("products beside decode=device, times those beside "
                "decode=host", times["device"] / times["host"])


def run(step):
    import feedline
    from busy import busy
    from driver_calls import Driver

    count, batch_size, seconds = (8, 4, 0.1) if step.rehearsal else (400, 80, 1)
    paths = photographs(step, count)
    sets = {"packed": feedline.Dataset.memory([packed(p) for p in paths],
                                              range(len(paths))),
            "indexed": feedline.Dataset.paths(paths, range(len(paths)))}
    driver = Driver()
    with busy("cuda:0") as gpu:
        for what, data in sets.items():
            compare(step, what, data, batch_size, 1 if what == "packed" else 3,
                    driver, gpu, "u8")
        compare(step, "packed", sets["packed"], batch_size, 1, driver, gpu,
                "f32")
        for what, data in sets.items():
            measure(step, what, data, batch_size, gpu, seconds)
        try:
            import torch
        except ImportError:
            torch = None
        if torch:
            beside(step, sets["packed"], batch_size, gpu,
                   4 if step.rehearsal else 50)


if __name__ == "__main__":
    outcome.main(run)
