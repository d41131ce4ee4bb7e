# SPDX-License-Identifier: Apache-2.0
"""The few calls of the CUDA driver that a check makes itself, through ctypes:
the truth about memory, time and pixels, from outside the library and without
torch. In a rehearsal they reach the double that the library uses.
"""
import ctypes
import os

BLOCKING_SYNC = 1


class Driver:
    """One device. Its primary context, which the library and torch use too, is
    current on the thread that makes this object."""

    def __init__(self, ordinal=0):
        self._library = ctypes.CDLL(
            os.environ.get("FEEDLINE_LIBCUDA") or "libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), ordinal)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxPushCurrent_v2", context)

    def call(self, name, *arguments):
        error = self._library[name](*arguments)
        if error:
            raise RuntimeError("%s fails with CUDA error %d" % (name, error))

    def has(self, name):
        return hasattr(self._library, name)

    def free_memory(self):
        """Bytes of the device's memory that nobody has."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def read(self, address, count, stream):
        """Bytes of device memory, as they are behind the stream's work."""
        memory = ctypes.create_string_buffer(count)
        self.call("cuMemcpyDtoHAsync_v2", memory, ctypes.c_void_p(address),
                  ctypes.c_size_t(count), ctypes.c_void_p(stream))
        self.call("cuStreamSynchronize", ctypes.c_void_p(stream))
        return memory.raw

    def pinned_rate(self, stream, size):
        """Bytes a second of copies of that size from pinned host memory: the
        fastest of five."""
        host, device = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuMemHostAlloc", ctypes.byref(host), ctypes.c_size_t(size),
                  0)
        self.call("cuMemAlloc_v2", ctypes.byref(device), ctypes.c_size_t(size))
        times = []
        for _ in range(5):
            first = self.mark(stream)
            self.call("cuMemcpyHtoDAsync_v2", device, host,
                      ctypes.c_size_t(size), ctypes.c_void_p(stream))
            last = self.mark(stream)
            self.reach(last)
            times.append(self.between(first, last))
            self.forget(first, last)
        self.call("cuMemFree_v2", device)
        self.call("cuMemFreeHost", host)
        return size / max(min(times), 1e-6) * 1e3

    # ---- Events ---------------------------------------------------------

    def mark(self, stream):
        """An event, recorded at the end of what is queued."""
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), BLOCKING_SYNC)
        self.call("cuEventRecord", event, ctypes.c_void_p(stream))
        return event

    def reach(self, event):
        """Waits until the device has come to it."""
        self.call("cuEventSynchronize", event)

    def between(self, first, last):
        """Milliseconds between two events that the device has reached."""
        ms = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(ms), first, last)
        return ms.value

    def forget(self, *events):
        for event in events:
            self.call("cuEventDestroy_v2", event)
