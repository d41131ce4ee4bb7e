#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loaders for a long time, while calls fail: does anything grow, is a sample
lost, and what does it cost? README.md says what is played.

    bench/soak/soak.py SOAK_LIFE --out FOLDER       # ten million samples
    bench/soak/soak.py SOAK_LIFE --short            # the accounts, in seconds

SOAK_LIFE is built with the tests: build/bench/soak/soak_life. FOLDER gets
looks.csv, rounds.jsonl, soak.json and what was told. Status 1: a sample was
lost, came twice or was wrong, or, but for --short, something grew or the faults
cost too much.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import looks
import slope

HERE = pathlib.Path(__file__).resolve().parent
SERVER = HERE.parent.parent / "tests" / "store" / "fault_server.py"
MOST_COST = 1.05  # of the clock, with faults
LIBRARY = "library"
GROWING = ("rss", "pss", "size", "data", "descriptors", "threads")
NOISE = 0.01  # of the level: what a half may seem to grow


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--samples", type=int)
    parser.add_argument("--set", type=int, help="samples of the shards")
    parser.add_argument("--data", type=pathlib.Path,
                        help="made there, or used if it is there")
    parser.add_argument("--one-in", type=int, default=2_000,
                        help="of the calls on files, one fails")
    parser.add_argument("--every", type=int, default=4,
                        help="one round of so many has no faults")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1.25,
                        help="RLIMIT_DATA, of what two rounds take; 0: none")
    args = parser.parse_args()
    args.samples = args.samples or (20_000 if args.short else 10_000_000)
    args.set = args.set or (1_000 if args.short else 20_000)
    return args


# ---- A run -------------------------------------------------------------------

def serve(folder):
    """The server and its port."""
    server = subprocess.Popen([sys.executable, "-B", SERVER, folder],
                              stdout=subprocess.PIPE, text=True)
    return server, int(server.stdout.readline())


def environment(folder):
    """Its own cache; the server is on this machine."""
    return {**os.environ, "FEEDLINE_CACHE_DIR": str(folder / "cache"),
            "no_proxy": "127.0.0.1"}


def read_lines(program, watcher, log):
    """Everything that it says, as it says it."""
    said = []
    for line in program.stdout:
        log.write(line)
        log.flush()
        said.append(json.loads(line))
        watcher.round = said[-1].get("round", watcher.round - 1) + 1
    return said


def run(args, folder, out):
    server, port = serve(folder / "http")
    try:
        program = subprocess.Popen(
            [os.path.abspath(args.program), folder, str(port),
             str(args.samples), str(args.one_in), str(args.every),
             str(args.seed), str(args.limit)],
            stdout=subprocess.PIPE, text=True, env=environment(folder))
        watcher = looks.Looks(program.pid, out / "looks.csv")
        watcher.start()
        with open(out / "rounds.jsonl", "w") as log:
            said = read_lines(program, watcher, log)
        status = program.wait()
        watcher.stop()
    finally:
        server.kill()
        server.wait()
    return said, watcher.rows, status


# ---- What it shows -----------------------------------------------------------

def per_round(rows, name):
    """Times, and the middle of what was seen in each round."""
    rounds = {}
    for row in rows:
        rounds.setdefault(row["round"], []).append(row)
    xs = [statistics.mean(r["seconds"] for r in g) for g in rounds.values()]
    ys = [statistics.median(r[name] for r in g) for g in rounds.values()]
    return xs, ys


def growth_of(xs, ys):
    """Of the last half: the level, what it grew by, and within what bounds."""
    half = len(xs) // 2
    xs, ys = xs[half:], ys[half:]
    middle, low, high = slope.theil_sen(xs, ys)
    took = xs[-1] - xs[0] if xs else 0
    level = statistics.median(ys) if ys else 0
    return {"level": level, "seconds": took, "points": len(xs),
            "grew": middle * took, "low": low * took, "high": high * took,
            "flat": not (low > 0 and middle * took > NOISE * level)}


def costs_of(rounds, name):
    """Each round without faults, but the first, against the mean of the two
    beside it."""
    ratios = []
    for before, plain, after in zip(rounds, rounds[1:], rounds[2:]):
        if before["faults"] and not plain["faults"] and after["faults"]:
            ratios.append((before[name] + after[name]) / 2 / plain[name])
    if len(ratios) < 2:
        return {"pairs": len(ratios)}
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {"pairs": len(ratios), "median": middle, "quartiles": [low, high]}


def judge(said, rows):
    rounds = [s for s in said if "round" in s]
    last = rounds[-1]
    growth = {name: growth_of(*per_round(rows, name)) for name in GROWING}
    for name in ("blocks", "mapped"):
        growth[LIBRARY + " " + name] = growth_of(
            [r["round"] for r in rounds], [r[name] for r in rounds])
    accounts = last["accounts"].values()
    injected = sum(last["injected"].values())
    failed = sum(a["replaced"] + a["listed"] for a in accounts)
    samples = said[-1]["samples"]
    return {
        "samples": samples, "rounds": len(rounds),
        "seconds": sum(r["seconds"] for r in rounds),
        "injected": injected, "injected_part": injected / samples,
        "by_kind": last["injected"], "failed_samples": failed,
        "wrongs": said[-1]["wrongs"], "accounts": last["accounts"],
        "ranks": last["ranks"], "growth": growth,
        "limit": [s["limit"] for s in said if "limit" in s],
        "left_out": [s["left_out"] for s in said if "left_out" in s],
        "cost_by_clock": costs_of(rounds, "seconds"),
        "cost_by_cpu": costs_of(rounds, "cpu_seconds"),
    }


def faults_of(result, status, short):
    """Words for each thing that is not as it has to be."""
    if status != 0 or result["wrongs"]:
        yield "status %d, %d samples lost, twice or wrong" % (
            status, result["wrongs"])
    if result["injected"] == 0 or result["failed_samples"] == 0:
        yield "nothing failed: this shows nothing"
    if 0 in result["ranks"].values():
        yield "no rank was killed, or none joined"
    if short:
        return
    for name, g in result["growth"].items():
        if not g["flat"]:
            yield "%s grew by %.0f, from %.0f" % (name, g["grew"], g["level"])
    if result["cost_by_clock"].get("median", 1) > MOST_COST:
        yield "faults cost more than 5 %"


def tell(result):
    print("%(samples)d samples in %(seconds).0f s, %(injected)d faults "
          "(%(injected_part).4f a sample), %(failed_samples)d samples replaced "
          "or listed" % result)
    print("faults: " + json.dumps(result["by_kind"]))
    print("ranks: " + json.dumps(result["ranks"]))
    for name, account in result["accounts"].items():
        print("%s: %s" % (name, json.dumps(account)))
    for name, g in result["growth"].items():
        print("%-18s %12.0f, grew by %9.1f (%.1f to %.1f)" % (
            name, g["level"], g["grew"], g["low"], g["high"]))
    for name in ("cost_by_clock", "cost_by_cpu"):
        print("%s: %s" % (name, json.dumps(result[name])))


def main():
    args = arguments()
    try:
        import make_sets
    except ImportError as e:
        print("skipped: %s" % e)
        return 77
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.data or pathlib.Path(temporary) / "data"
        out = args.out or pathlib.Path(temporary)
        out.mkdir(parents=True, exist_ok=True)
        if not folder.exists():
            make_sets.make_sets(folder, args.set)
        said, rows, status = run(args, folder, out)
        if not said or "samples" not in said[-1]:
            print("it ended with status %d and no result" % status)
            return 1
        result = judge(said, rows)
        result["faulty"] = list(faults_of(result, status, args.short))
        (out / "soak.json").write_text(json.dumps(result, indent=1) + "\n")
    tell(result)
    for words in result["faulty"]:
        print("FAULT: " + words)
    return 1 if result["faulty"] else 0


if __name__ == "__main__":
    sys.exit(main())
