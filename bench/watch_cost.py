# SPDX-License-Identifier: Apache-2.0
"""feedline.watch against the truth: what it costs, and how exact it is.

    python bench/watch_cost.py

The truth lies between two clocks: one inside the generator that is watched, one
around the call of next(). Cost is CPU time of this thread a batch, the best of
five rounds, so that a busy machine does not count.
"""

import time

import feedline

BATCHES = 20000


def cost():
    """Microseconds that a watch adds to a batch."""
    batches, best = range(BATCHES), float("inf")
    for _ in range(5):
        watched = feedline.watch(batches)
        times = [time.thread_time()]
        for source in (batches, watched):
            for _ in source:
                pass
            times.append(time.thread_time())
        best = min(best, times[2] - 2 * times[1] + times[0])
    return best / BATCHES * 1e6


def exactness(wait, batches=200):
    """Measured wait / that of the clock inside, and of the one outside."""
    truth = outside = 0.0

    def planted():
        nonlocal truth
        for number in range(batches):
            began = time.perf_counter()
            time.sleep(wait)
            truth += time.perf_counter() - began
            yield number

    watched = feedline.watch(planted())
    source = iter(watched)
    for _ in range(batches):
        began = time.perf_counter()
        next(source)
        outside += time.perf_counter() - began
        time.sleep(0.001)
    measured = watched.stats()["stats"]["wait_seconds"]
    return measured / truth, measured / outside


if __name__ == "__main__":
    print("cost: %.1f us of CPU a batch" % cost())
    for milliseconds in (1, 5, 20):
        print(
            "waits of %2d ms: measured %.4f of the clock inside, %.4f of the "
            "one outside" % (milliseconds, *exactness(milliseconds / 1e3))
        )
