# SPDX-License-Identifier: Apache-2.0
"""Programs of recorded samples, carried out by the helper that is built from
render_recorded.c."""
import os
import struct
import subprocess
import sys

import numpy as np

LEVELS = ("c", "avx2", "avx512")


class Engine:
    """The helper with the kernels of one level."""

    def __init__(self, program, level, columns_first=False):
        environment = dict(os.environ, FDL_CPU_MASK=level)
        self.level = level
        self.process = subprocess.Popen(
            [program, str(int(columns_first))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def __call__(self, path, steps, shape, dtype, nhwc, element):
        """The bytes that come out, or the error line as text. shape: channels,
        height, width."""
        size = int(np.prod(shape)) * element
        name = str(path).encode()
        out = self.process.stdin
        out.write(struct.pack("<IIiiiiiIQ", len(name), len(steps), dtype,
                              int(nhwc), *shape, element, size) + name)
        for op, values, data in steps:
            out.write(struct.pack("<IIQ16d", op, len(values), len(data),
                                  *values, *[0] * (16 - len(values))) + data)
        out.flush()
        head = self.process.stdout.read(12)
        if len(head) < 12:
            sys.exit(f"render_recorded ended with {self.process.wait()}")
        status, size = struct.unpack("<iQ", head)
        data = self.process.stdout.read(size)
        return data.decode() if status else data

    def close(self):
        self.process.stdin.close()
        return self.process.wait()
