# SPDX-License-Identifier: Apache-2.0
"""examples/train_cuda.c learns on the GPU: C with kernels of its own."""
import subprocess

import outcome


def run(step):
    program = step.built("examples/train_cuda")
    if program is None:
        outcome.skip("it was not built")
    small = ["--epochs", "2", "--batch-size", "8"] if step.rehearsal else [
        "--epochs", "8", "--batch-size", "64"]
    done = subprocess.run(
        [program, step.path("images"), "--device",
         "host" if step.rehearsal else "cuda:0", *small],
        env=step.environment(), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    print(done.stdout)
    lines = done.stdout.strip().splitlines() or [""]
    step.truth("loss goes down", "status 0", "status %d: %s" % (
        done.returncode, lines[-1]), done.returncode == 0)


if __name__ == "__main__":
    outcome.main(run)
