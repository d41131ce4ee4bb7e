#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What another worker brings: one worker against N, in alternating rounds.

One worker has one core, N workers have N. The decoders share memory and the
last cache, and the consumer needs a little time too, so N is a bound.
"""
import argparse
import os
import sys

import side_by_side as sbs


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    sbs.add_common_arguments(parser, rounds=5)
    parser.add_argument("--workers", type=int, default=2, metavar="N",
                        help="compared with one worker [%(default)s]")
    arguments = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < arguments.workers:
        sys.exit("%d workers need as many cores; this process may use %d"
                 % (arguments.workers, len(cores)))
    one, many, documents = [], [], []
    for i in range(arguments.rounds):
        a = sbs.run_loaderbench(arguments, 1, set(cores[:1]))
        b = sbs.run_loaderbench(arguments, arguments.workers,
                                set(cores[:arguments.workers]))
        documents.append({"one": a["result"], "many": b["result"]})
        one.append(a["result"]["images_per_second"])
        many.append(b["result"]["images_per_second"])
        print("round %d: %.1f and %.1f images/s" % (i + 1, one[-1], many[-1]),
              file=sys.stderr)
    ratio = sbs.summary([b / a for a, b in zip(one, many)])
    result = {"schema_version": 1, "comparison": "workers",
              "machine": sbs.machine(), "workers": arguments.workers,
              "one": sbs.summary(one), "many": sbs.summary(many),
              "ratio": ratio, "rounds": documents}
    if arguments.json != "-":
        print(sbs.line("1 worker", one))
        print(sbs.line("%d workers" % arguments.workers, many))
        print(sbs.ratio_line("ratio", ratio))
    sbs.write_json(result, arguments.json)


if __name__ == "__main__":
    main()
