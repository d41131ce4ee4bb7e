#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""feedline.torch.DataLoader against torch's own, over one image folder.

    bench/peers/compare_dataloader.py FOLDER

Each round measures feedline and then torch with each number of workers, in a
process of its own (dataloader_epoch.py); torch's best number of workers is the
one with the best median of all rounds. Run it with the Python that has torch,
torchvision and feedline.
"""
import argparse
import os
import statistics
import sys

import child
import side_by_side as sbs

CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                     "dataloader_epoch.py")


def measure(arguments, loader, workers):
    command = [sys.executable, "-W", "ignore:This DataLoader will create",
               CHILD, arguments.folder,
               "--loader", loader, "--workers", str(workers),
               "--batch-size", str(arguments.batch_size),
               "--epochs", str(arguments.epochs)]
    try:
        return child.run(command, os.sched_getaffinity(0), arguments.limit)[0]
    except child.Failed as e:
        sys.exit("%s with %s workers: %s" % (loader, workers, e))


def compare_epochs(arguments):
    sides = [("feedline", w) for w in arguments.feedline_workers]
    sides += [("torch", w) for w in arguments.torch_workers]
    rounds = {side: [] for side in sides}
    for i in range(arguments.rounds):
        for side in sides:
            rounds[side].append(measure(arguments, *side))
            print("round %d: %s, %s workers: %.1f images/s, %.1f per second "
                  "of CPU time" % (
                      (i + 1,) + side + (
                          rounds[side][-1]["images_per_second"],
                          rounds[side][-1]["images_per_cpu_second"])),
                  file=sys.stderr)
    return rounds


def speeds(results):
    return [r["images_per_second"] for r in results]


def best(rounds, loader):
    mine = [side for side in rounds if side[0] == loader]
    return max(mine, key=lambda side: statistics.median(speeds(rounds[side])))


def report(arguments):
    rounds = compare_epochs(arguments)
    theirs, ours = best(rounds, "torch"), best(rounds, "feedline")
    ratios = [a / b for a, b in zip(speeds(rounds[ours]),
                                    speeds(rounds[theirs]))]
    return {
        "schema_version": 1,
        "comparison": "DataLoader over an ImageFolder",
        "machine": sbs.machine(),
        "versions": rounds[ours][0]["versions"],
        "sides": [{"loader": side[0], "workers": side[1],
                   "images_per_second": sbs.summary(speeds(results)),
                   "images_per_cpu_second": sbs.summary(
                       [r["images_per_cpu_second"] for r in results])}
                  for side, results in rounds.items()],
        "best": {"torch": theirs[1], "feedline": ours[1]},
        "ratio": sbs.summary(ratios),
    }


def say(out):
    for side in out["sides"]:
        print(sbs.line("%s, %s" % (side["loader"], side["workers"]),
                       side["images_per_second"]["values"]))
    print(sbs.ratio_line("ratio", out["ratio"]))


def workers_list(text):
    return [w if w == "auto" else int(w) for w in text.split(",")]


def main():
    child.end_with_its_child()
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    sbs.add_common_arguments(parser, rounds=5)
    parser.add_argument("--torch-workers", type=workers_list,
                        default=[0, 1, 2, 3, 4], metavar="N,N",
                        help="numbers to try for torch [0,1,2,3,4]")
    parser.add_argument("--feedline-workers", type=workers_list,
                        default=["auto", 2], metavar="N,N",
                        help="and for feedline [auto,2]")
    arguments = parser.parse_args()
    out = report(arguments)
    sbs.write_json(out, arguments.json)
    if arguments.json != "-":
        say(out)


if __name__ == "__main__":
    main()
