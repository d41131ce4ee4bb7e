# SPDX-License-Identifier: Apache-2.0
"""How much of the bus the loader reaches over time, not only while a copy is
under way: bytes by the wall clock, against one large copy from pinned memory.

u8 pixels come from memory and the consumer takes no time, so that the copies
are the limit. Where they are not, the host is, and the verdict is on the page.
"""
import time

import outcome

LARGE = 256 << 20
ASKED = 0.97


def take(batches, stream, seconds):
    """Takes batches for so long, and does nothing with them."""
    end = time.monotonic() + seconds
    for batch in batches:
        batch.wait(stream)
        batch.release()
        if time.monotonic() >= end:
            return


def measure(step, stream, batch_size, seconds):
    """Bytes a second by the wall clock, and the statistics behind them."""
    import feedline
    import pixels

    images = pixels.raw(batch_size * 8, 32 if step.rehearsal else 224)
    with feedline.Loader(pixels.dataset(images), batch_size=batch_size,
                         dtype="u8", layout="nhwc", device="cuda:0", depth=8,
                         tuner="off") as loader:
        batches = pixels.endless(loader)
        take(batches, stream, seconds / 4)
        before = loader.stats()["transfer"]["copied_bytes"]
        began = time.monotonic()
        take(batches, stream, seconds)
        wall = time.monotonic() - began
        stats = loader.stats()
    return (stats["transfer"]["copied_bytes"] - before) / wall, stats


def run(step):
    from busy import busy
    from driver_calls import Driver

    seconds = 0.2 if step.rehearsal else 3
    with busy("cuda:0") as gpu:
        plain = Driver().pinned_rate(gpu.stream,
                                     1 << 20 if step.rehearsal else LARGE)
        step.number("one large pinned copy, GB/s", plain / 1e9, form="%.1f")
        for batch_size in ((4, 8) if step.rehearsal else (64, 256)):
            rate, stats = measure(step, gpu.stream, batch_size, seconds)
            transfer = stats["transfer"]
            step.number("batch %d: of that rate, by the wall clock"
                        % batch_size, rate / plain, low=ASKED)
            step.note("batch %d: %.1f GB/s, while copying %.1f GB/s; verdict: "
                      "%s" % (batch_size, rate / 1e9,
                              transfer["gigabytes_per_second"],
                              stats["verdict"]["code"]))


if __name__ == "__main__":
    outcome.main(run)
