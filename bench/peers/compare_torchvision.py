#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""feedline against torchvision: the same work, one process, one core.

Both read the same folder in a new order each epoch and make batches of
float32 [B, 3, 224, 224]: random resized crop to 224, horizontal flip,
normalise. torchvision does it through Pillow with ImageFolder and a DataLoader
without worker processes. Each round measures feedline, then torchvision; the
ratio of the rounds is the result. Where others use the core too, the ratio of
images per second of CPU time is the steadier one. Files are in the page cache
after the warm-up of either side.
"""
import argparse
import importlib.util
import os
import sys

import side_by_side as sbs

CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                     "peer_torchvision.py")


def compare(arguments):
    cores = {arguments.core}
    child = [sys.executable, CHILD, "--folder", arguments.folder,
             "--dtype", "f32", "--workers", "1",
             "--epochs", str(arguments.epochs),
             "--batch-size", str(arguments.batch_size)]
    ours, theirs = [], []
    for i in range(arguments.rounds):
        ours.append(sbs.run_loaderbench(arguments, 1, cores))
        theirs.append(sbs.run(child, cores))
        print("round %d: feedline %.1f, torchvision %.1f images/s" % (
            i + 1, ours[-1]["result"]["images_per_second"],
            theirs[-1]["images_per_second"]), file=sys.stderr)
    a = [r["result"]["images_per_second"] for r in ours]
    b = [r["images_per_second"] for r in theirs]
    cpu = [x["result"]["images_per_cpu_second"] / y["images_per_cpu_second"]
           for x, y in zip(ours, theirs)]
    return {
        "schema_version": 1,
        "comparison": "torchvision, one core",
        "machine": sbs.machine(),
        "versions": dict(theirs[0]["versions"], feedline=ours[0]["version"]),
        "config": ours[0]["config"],
        "feedline": sbs.summary(a),
        "torchvision": sbs.summary(b),
        "ratio": sbs.summary([x / y for x, y in zip(a, b)]),
        "cpu_ratio": sbs.summary(cpu),
        "rounds": [{"feedline": x["result"], "torchvision": y}
                   for x, y in zip(ours, theirs)],
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    sbs.add_common_arguments(parser, rounds=5)
    parser.add_argument("--core", type=int, default=0, metavar="CPU",
                        help="the core both run on [%(default)s]")
    arguments = parser.parse_args()
    for module in ("torch", "torchvision", "PIL"):
        if importlib.util.find_spec(module) is None:
            sys.exit("%s: no module %s (Debian: python3-torchvision)"
                     % (sys.executable, module))
    result = compare(arguments)
    if arguments.json != "-":
        m = result["machine"]
        print("%s, Linux %s, core %d" % (m["cpu_model"], m["kernel"],
                                         arguments.core))
        v = result["versions"]
        print("feedline %s; python %s, torch %s, torchvision %s, Pillow %s" % (
            result["versions"]["feedline"], v["python"], v["torch"],
            v["torchvision"], v["pillow"]))
        print(sbs.line("feedline", result["feedline"]["values"]))
        print(sbs.line("torchvision", result["torchvision"]["values"]))
        print(sbs.ratio_line("ratio", result["ratio"]))
        print(sbs.ratio_line("per CPU second", result["cpu_ratio"]))
    sbs.write_json(result, arguments.json)


if __name__ == "__main__":
    main()
