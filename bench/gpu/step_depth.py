# SPDX-License-Identifier: Apache-2.0
"""Does a change of depth in the middle of a run stop the GPU? Do batches that
are kept, and does the end of a run wait for work that has none of its batches?

Kernels of one millisecond follow each other on a compute stream, with an event
between them, as a training loop queues them: some ahead. The time from event to
event is taken with the depth at rest, while it is moved by hand, and while some
batches are kept now and then. Slots that are made or freed in a way that drains
the device show as long ones.
"""
import collections
import threading
import time

import outcome

KERNEL_MS = 1.0
AHEAD = 8
DEPTHS = (16, 4, 32, 4)
KEPT = 12
OTHER_WORK_MS = 500


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


def release(held):
    while held:
        held.pop().release()


def run_batches(batches, gpu, driver, count, keep=0):
    """A kernel behind each of `count` batches, which are released once there
    are more than `keep`; all times, in ms."""
    timeline, held = Timeline(gpu, driver), []
    for _ in range(count):
        held.append(next(batches))
        held[-1].wait(gpu.stream)
        timeline.kernel()
        if len(held) > keep:
            release(held)
    release(held)
    timeline.end()
    return sorted(timeline.times)


def move_depth(loader, moves, over):
    """Sets one depth after another; returns when `over` or done."""
    for n in range(moves):
        if over.wait(0.05):
            return
        loader.set("depth", DEPTHS[n % len(DEPTHS)])


def stop_beside(loader, gpu):
    """Milliseconds that the end of a run takes beside work of others."""
    gpu.work(OTHER_WORK_MS)
    began = time.monotonic()
    loader.stop()
    return (time.monotonic() - began) * 1e3


def report(step, what, times, at_rest):
    step.note("%s: %d kernels, median %.3f ms, 99 %% %.3f ms, longest "
              "%.3f ms" % (what, len(times), times[len(times) // 2],
                           times[len(times) * 99 // 100], times[-1]))
    if times is not at_rest:
        step.number("longest kernel with %s, beyond the longest at rest, ms" %
                    what, times[-1] - at_rest[-1], high=1.0, form="%.2f")


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
            held="grow", memory_budget="8g") as loader:
        batches = pixels.endless(loader)
        run_batches(batches, gpu, driver, count // 10)
        at_rest = run_batches(batches, gpu, driver, count)
        over = threading.Event()
        mover = threading.Thread(target=move_depth, args=(loader, 1000, over))
        mover.start()
        moved = run_batches(batches, gpu, driver, count)
        over.set()
        mover.join()
        kept = run_batches(batches, gpu, driver, count, keep=KEPT)
        stopped_ms = stop_beside(loader, gpu)
    for what, times in (("the depth at rest", at_rest),
                        ("a depth that moves", moved),
                        ("%d batches kept now and then" % KEPT, kept)):
        report(step, what, times, at_rest)
    step.number("the end of a run beside %d ms of work that has none of its "
                "batches, ms" % OTHER_WORK_MS, stopped_ms,
                high=OTHER_WORK_MS / 2, form="%.0f")


if __name__ == "__main__":
    outcome.main(run)
