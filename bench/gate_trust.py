# SPDX-License-Identifier: Apache-2.0
"""How far loaderbench compare can be trusted as a gate: how often it fails a
loss that is there, and passes where there is none.

    bench/gate_trust.py LOADERBENCH FOLDER [--gates 20] [--pairs 25]
                        [--batches 24] [--metric images_per_cpu_second]
                        [--planted 0.05] [--fail-below 0.025]

Both sides are the same command, in turn: A B B A A B ... Each gate has pairs of
its own, and is asked twice: as measured, where nothing has changed, and with
B's numbers made smaller by the planted part. So the noise is this machine's and
the loss exactly known. How many pairs that takes depends on the noise: the
interval that is printed has to be narrower than the loss. Prints a line for
each gate, and at last both counts.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile


def measured(options, path):
    subprocess.run(
        [options.loaderbench, "run", options.folder, "--batches",
         str(options.batches), "--warmup", "2", "--batch-size", "16",
         "--workers", "1", "--tuner", "off", "--quiet", "--json", path],
        check=True)


def planted(options, path):
    """The same document, slower."""
    with open(path, encoding="utf-8") as f:
        document = json.load(f)
    document["result"][options.metric] *= 1 - options.planted
    slower = path.replace(".json", ".slower.json")
    with open(slower, "w", encoding="utf-8") as f:
        json.dump(document, f)
    return slower


def asked(options, paths):
    done = subprocess.run(
        [options.loaderbench, "compare", *paths, "--metric", options.metric,
         "--fail-below", str(options.fail_below), "--json", "-"],
        stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def gate(options, folder):
    """What compare says of the same twice, and of a loss."""
    same, loss = [], []
    for i in range(options.pairs):
        sides = [os.path.join(folder, "%s%d.json" % (side, i))
                 for side in "ab"]
        for path in sides if i % 2 else reversed(sides):
            measured(options, path)
        same += sides
        loss += [sides[0], planted(options, sides[1])]
    return asked(options, same), asked(options, loss)


def words(answer):
    return "%s %+.1f %% [%+.1f, %+.1f]" % (
        answer["verdict"], 100 * answer["change_fraction"],
        100 * answer["low_fraction"], 100 * answer["high_fraction"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("loaderbench")
    parser.add_argument("folder")
    parser.add_argument("--gates", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=25)
    parser.add_argument("--batches", type=int, default=24)
    parser.add_argument("--metric", default="images_per_cpu_second")
    parser.add_argument("--planted", type=float, default=0.05)
    parser.add_argument("--fail-below", type=float, default=0.025)
    options = parser.parse_args()
    passed = failed = 0
    for number in range(options.gates):
        with tempfile.TemporaryDirectory() as folder:
            same, loss = gate(options, folder)
        passed += same["verdict"] == "pass"
        failed += loss["verdict"] == "fail"
        print("%2d  the same: %s   planted: %s" % (
            number + 1, words(same), words(loss)), flush=True)
    print("of %d gates of %d pairs %d passed the same, and %d failed a loss of "
          "%.1f %%" % (options.gates, options.pairs, passed, failed,
                       100 * options.planted))
    return 0 if passed == failed == options.gates else 1


if __name__ == "__main__":
    sys.exit(main())
