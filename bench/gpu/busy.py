# SPDX-License-Identifier: Apache-2.0
"""The library's stand-in for a training step: a stream, and kernels of a given
length on it (include/feedline/bench.h)."""
import contextlib
import ctypes

import feedline
from feedline.errors import check

lib = feedline._lib


class Busy:
    def __init__(self, device):
        self._handle = ctypes.c_void_p()
        check(lib.busy_create(device.encode(), self._handle))
        self.stream = lib.busy_stream(self._handle) or 0

    def work(self, ms):
        """Queues a kernel of so many milliseconds."""
        check(lib.busy_work(self._handle, int(ms * 1e6)))

    def wait(self):
        check(lib.busy_wait(self._handle))

    def close(self):
        lib.busy_destroy(self._handle)


@contextlib.contextmanager
def busy(device):
    made = Busy(device)
    try:
        yield made
    finally:
        made.close()
