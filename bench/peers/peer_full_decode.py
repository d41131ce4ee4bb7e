#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The yardstick: libjpeg-turbo's full decode to RGB, and nothing after it.

No files are read, nothing is cropped, resized or put into a batch, and no
Python runs: full_decode.c has all files in memory and decodes them again and
again. It is linked with the libjpeg-turbo of the system, as feedline is.
"""
import json
import os
import subprocess
import sys

import peer

PROGRAM = os.path.join(sys.prefix, "bin", "feedline-full-decode")


def main():
    job = peer.parse(__doc__)
    done = subprocess.run(
        [PROGRAM, str(job.workers), str(job.epochs)], check=False,
        input="\0".join(job.files), encoding="utf-8", stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(done.returncode)
    result = json.loads(done.stdout)
    result["images_per_second"] = result["images"] / result["seconds"]
    result["images_per_cpu_second"] = result["images"] / result["cpu_seconds"]
    result["settings"] = {
        "layout": "nhwc", "resample": "none", "idct": "islow",
        "upsampling": "fancy", "decode": "full image", "source": "memory"}
    peer.report(result)


if __name__ == "__main__":
    main()
