# SPDX-License-Identifier: Apache-2.0
"""torch's GPU as the steps use it, and the CPU in its place in a rehearsal:
there every call does something like it, so that a step runs to its end."""
import contextlib
import time

import torch


class Gpu:
    """cuda:0 with its current stream."""

    device = "cuda:0"
    for_loader = {"device": "cuda:0"}

    def __init__(self):
        self._matrix = torch.randn(4096, 4096, device=self.device,
                                   dtype=torch.bfloat16)
        self.work(8)
        first = self.mark()
        self.work(64)
        self.ms = self.between(first, self.mark()) / 64

    def work(self, products):
        """Queues so many products of matrices, of self.ms each."""
        for _ in range(products):
            torch.mm(self._matrix, self._matrix)

    def work_ms(self, ms):
        self.work(max(1, round(ms / self.ms)))

    def mark(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, first, last):
        """Milliseconds; waits for both."""
        last.synchronize()
        return first.elapsed_time(last)

    def synchronise(self):
        torch.cuda.synchronize()

    @contextlib.contextmanager
    def capture(self, work):
        """Captures `work` in a graph, as torch does by default: no thread of
        the process may make calls that could break it. Yields its replay."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        yield graph.replay


class Rehearsal(Gpu):
    """The CPU in its place."""

    device = "cpu"
    for_loader = {}

    def __init__(self):
        torch.set_num_threads(1)  # others may have the other cores
        self._matrix = torch.randn(64, 64)
        self.ms = 0.5

    def mark(self):
        return time.perf_counter()

    def between(self, first, last):
        return (last - first) * 1e3

    def synchronise(self):
        pass

    @contextlib.contextmanager
    def capture(self, work):
        work()
        yield work


def gpu(step):
    return Rehearsal() if step.rehearsal else Gpu()
