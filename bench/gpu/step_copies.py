# SPDX-License-Identifier: Apache-2.0
"""Copies beside a consumer's kernels, with files that are decoded: how fast,
how well hidden, and whether the GPU waits when the consumer is the slower."""
import json
import subprocess

import outcome


def loaderbench(step, name, *arguments):
    """The document of a command of loaderbench."""
    path = step.path(name + ".json")
    tool = step.built("tools/loaderbench/loaderbench")
    subprocess.run([tool, *arguments, "--json", path], check=True,
                   env=step.environment())
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def run(step):
    batch, seconds = ("8", "1") if step.rehearsal else ("64", "4")
    command = ("run", step.path("images"), "--device", "cuda:0",
               "--batch-size", batch, "--seconds", seconds)
    alone = loaderbench(step, "run_alone", *command)
    batch_ms = 1e3 * alone["result"]["seconds"] / alone["result"]["batches"]
    fed = loaderbench(step, "run_consumer", *command, "--consumer-ms",
                      "%.4f" % (1.2 * batch_ms))
    transfer = fed["transfer"]
    size = transfer["copied_bytes"] // max(1, transfer["batches"])
    plain = loaderbench(step, "h2d", "h2d", "--max", "16k" if step.rehearsal
                        else "256m", "--repeats", "5", "--batch-bytes",
                        str(max(size, 1)))["batches"][-1]
    step.number("speed of the loader's copies, of a plain one of that size",
                transfer["gigabytes_per_second"] /
                (plain["bytes"] / plain["device_us"] * 1e-3), low=0.95)
    step.number("part of the copies beside the consumer's kernels",
                transfer["overlap_fraction"], low=0.9)
    step.number("the GPU's idle time, the consumer needing 1.2 times the "
                "loader's time for a batch", fed["stall"]["device_fraction"],
                high=0.01, form="%.4f")


if __name__ == "__main__":
    outcome.main(run)
