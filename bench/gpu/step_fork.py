# SPDX-License-Identifier: Apache-2.0
"""A forked child that only sleeps costs its parent no pixel.

The slots are pinned before the fork. Pages that a fork makes copy-on-write move
when the parent writes, while the GPU reads the old ones: stale pixels and no
error. So every image of the next 1000 batches is read back and compared.
"""
import os
import signal
import time

import outcome

BATCHES = 1000


def sleeping_child():
    child = os.fork()
    if child == 0:
        while True:
            time.sleep(3600)
    return child


def wrong_images(batch, driver, stream, images):
    """Images of a batch that are not those of the data set."""
    batch.wait(stream)
    found = driver.read(batch.images.data_ptr(), batch.image_bytes, stream)
    size = batch.image_bytes // batch.count
    return sum(found[i * size:(i + 1) * size] != bytes(images[index])
               for i, index in enumerate(batch.sample_index))


def check_batches(batches, count, driver, stream, images):
    wrong = 0
    for _ in range(count):
        with next(batches) as batch:
            wrong += wrong_images(batch, driver, stream, images)
    return wrong


def run(step):
    import feedline
    import pixels
    from busy import busy
    from driver_calls import Driver

    count = 100 if step.rehearsal else BATCHES
    pictures = pixels.raw(256, 64)
    flat = pictures.cast("B")
    size = len(flat) // len(pictures)
    images = [flat[n * size:(n + 1) * size] for n in range(len(pictures))]
    driver = Driver()
    with busy("cuda:0") as gpu, feedline.Loader(
            pixels.dataset(pictures), batch_size=16, dtype="u8",
            layout="nhwc", device="cuda:0", depth=8, tuner="off",
            shuffle=True) as loader:
        batches = pixels.endless(loader)
        before = check_batches(batches, 16, driver, gpu.stream, images)
        step.truth("wrong images before the fork", 0, before, before == 0)
        child = sleeping_child()
        try:
            after = check_batches(batches, count, driver, gpu.stream, images)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    step.truth("wrong images in %d batches beside the child" % count, 0, after,
               after == 0)


if __name__ == "__main__":
    outcome.main(run)
