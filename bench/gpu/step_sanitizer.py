# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's compute-sanitizer sees no fault in the kernels and their memory."""
import shutil
import subprocess

import outcome


def run(step):
    program = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin")
    if step.rehearsal:
        outcome.skip("the double is no GPU")
    if program is None:
        outcome.skip("compute-sanitizer is not installed")
    tool = step.built("tools/loaderbench/loaderbench")
    for check in ("memcheck", "racecheck"):
        done = subprocess.run(
            [program, "--tool", check, "--error-exitcode", "9", tool, "run",
             step.path("images"), "--device", "cuda:0", "--batch-size", "16",
             "--batches", "20"], env=step.environment(),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", check=False)
        print(done.stdout)
        if "Device not supported" in done.stdout:
            outcome.skip("compute-sanitizer does not support this device")
        lines = done.stdout.strip().splitlines() or [""]
        step.truth(check, "status 0", "status %d: %s" % (
            done.returncode, lines[-1]), done.returncode == 0)


if __name__ == "__main__":
    outcome.main(run)
