# SPDX-License-Identifier: Apache-2.0
"""Does a change of depth in the middle of a run stop the GPU?

Kernels of one millisecond follow each other on a compute stream, with an event
between them, as a training loop queues them: some ahead. The time from event to
event is taken with the depth at rest, and then while it is moved by hand. Slots
that are made or freed in a way that drains the device show as long ones.
"""
import collections
import threading

import outcome

KERNEL_MS = 1.0
AHEAD = 8
DEPTHS = (16, 4, 32, 4)


class Timeline:
    """Kernels on the compute stream, and how long each took to end."""

    def __init__(self, gpu, driver):
        self._gpu, self._driver = gpu, driver
        self._marks = collections.deque([driver.mark(gpu.stream)])
        self.times = []

    def kernel(self):
        self._gpu.work(KERNEL_MS)
        self._marks.append(self._driver.mark(self._gpu.stream))
        while len(self._marks) > AHEAD:
            self._take_one()

    def end(self):
        while len(self._marks) > 1:
            self._take_one()
        self._driver.forget(self._marks.popleft())

    def _take_one(self):
        first, last = self._marks.popleft(), self._marks[0]
        self._driver.reach(last)
        self.times.append(self._driver.between(first, last))
        self._driver.forget(first)


def run_batches(batches, gpu, driver, count):
    """A kernel behind each of `count` batches; the longest times, in ms."""
    timeline = Timeline(gpu, driver)
    for _ in range(count):
        batch = next(batches)
        batch.wait(gpu.stream)
        timeline.kernel()
        batch.release()
    timeline.end()
    return sorted(timeline.times)


def move_depth(loader, moves, over):
    """Sets one depth after another; returns when `over` or done."""
    for n in range(moves):
        if over.wait(0.05):
            return
        loader.set("depth", DEPTHS[n % len(DEPTHS)])


def report(step, what, times):
    step.note("depth %s: %d kernels, median %.3f ms, 99 %% %.3f ms, longest "
              "%.3f ms" % (what, len(times), times[len(times) // 2],
                           times[len(times) * 99 // 100], times[-1]))


def run(step):
    import feedline
    import pixels
    from busy import busy
    from driver_calls import Driver

    batch_size, size = (4, 32) if step.rehearsal else (64, 224)
    count = 60 if step.rehearsal else 2000
    data = pixels.dataset(pixels.raw(batch_size * 8, size))
    driver = Driver()
    with busy("cuda:0") as gpu, feedline.Loader(
            data, batch_size=batch_size, dtype="u8", layout="nhwc",
            device="cuda:0", depth=4, tuner="off",
            memory_budget="8g") as loader:
        batches = pixels.endless(loader)
        run_batches(batches, gpu, driver, count // 10)
        at_rest = run_batches(batches, gpu, driver, count)
        over = threading.Event()
        mover = threading.Thread(target=move_depth, args=(loader, 1000, over))
        mover.start()
        moved = run_batches(batches, gpu, driver, count)
        over.set()
        mover.join()
    report(step, "at rest", at_rest)
    report(step, "moved", moved)
    step.number("longest kernel while the depth moves, beyond the longest with "
                "the depth at rest, ms", moved[-1] - at_rest[-1], high=1.0,
                form="%.2f")


if __name__ == "__main__":
    outcome.main(run)
