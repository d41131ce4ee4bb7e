#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Pillow 13.0.0 with the libjpeg-turbo 3.2 of its wheel: a well-formed JPEG whose
# coefficients overshoot far beyond white or black, as where the quantisation tables
# were scaled to raise the contrast, or one byte of them was damaged, has other pixels
# on another processor. Vectors saturate, so what is too bright is white; the plain C
# code, which a processor without them runs, and JSIMD_FORCENONE=1 here, keeps ten bits,
# so a highlight may be black. Nothing is warned of, and neither is what NEON makes of
# it on ARM64. What an encoder wrote as it is has the same pixels everywhere. So a
# checksum of decoded images is no proof that two machines see the same data set.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages pillow==13.0.0 numpy==2.4.6

observed <<'PROGRAM'
import io
import os
import platform
import subprocess
import sys

import numpy as np
from PIL import Image

DECODE = """if True:
    import sys
    import numpy as np
    from PIL import Image
    sys.stdout.buffer.write(np.asarray(Image.open("x.jpg")).tobytes())
"""


def decoded(**more):
    return np.frombuffer(subprocess.run(
        [sys.executable, "-W", "error", "-c", DECODE], check=True,
        env={**os.environ, **more}, stdout=subprocess.PIPE).stdout, np.uint8)


if platform.machine() != "x86_64":
    sys.exit("seen on x86-64")
noise = np.random.default_rng(0).integers(0, 256, (8, 8)).astype(np.uint8)
image = Image.fromarray(noise).resize((64, 64), Image.BICUBIC)
made = io.BytesIO()
image.save(made, "JPEG", quality=75)
for times in 1, 2, 4, 6:
    data = bytearray(made.getvalue())
    table = data.index(b"\xff\xdb") + 5
    for i in range(table, table + 64):
        data[i] = min(255, data[i] * times)
    with open("x.jpg", "wb") as f:
        f.write(data)
    fast, plain = decoded(), decoded(JSIMD_FORCENONE="1")
    print("tables x %d: %d of %d pixels differ; %d are white here and black there" % (
        times, (fast != plain).sum(), fast.size,
        ((fast == 255) & (plain == 0)).sum()))
PROGRAM

expected <<'SEEN'
tables x 1: 0 of 4096 pixels differ; 0 are white here and black there
tables x 2: 0 of 4096 pixels differ; 0 are white here and black there
tables x 4: 56 of 4096 pixels differ; 2 are white here and black there
tables x 6: 937 of 4096 pixels differ; 419 are white here and black there
SEEN
