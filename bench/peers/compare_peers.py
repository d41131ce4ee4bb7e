#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""feedline against every peer that is installed: the same work, the same cores.

All read the same folder in random order and make batches of 224 x 224: random
resized crop and horizontal flip, delivered as

    f32   normalised, [B, 3, 224, 224]
    u8    as decoded, [B, 224, 224, 3] (torchvision: [B, 3, 224, 224])

on one pinned core with one worker and on two with two. simplejpeg is a
yardstick: it decodes whole images and does nothing else.

Each measurement of a peer comes right after one of feedline on the same cores,
and the ratio of such a pair is what counts: what slows the machine down slows
both. Where others used more than --busy-limit of the cores the pair is measured
again, and of all tries the quietest is kept. The table is made of the pairs
under that limit, and says how many they are; a row that has none is made of all
of its pairs, and marked.

With --shards S the peers are readers of shards instead, and the work is the
same. Those with a buffer to shuffle in have one of about 1,000; feedline's
shuffle is of the whole. peer_feedline needs PYTHONPATH and FEEDLINE_LIBRARY.

    bench/peers/make_shards.py FOLDER S    in the environment of the peers
    bench/peers/compare_peers.py FOLDER --shards S [--cold]

bench/peers/setup_venv installs the peers. A run ends after --limit, with all of
its processes. A peer that is not there, fails, is killed or takes longer is
tried again in the next round, and left out once it failed twice in a row; every
failure is listed with its reason.
"""
import argparse
import collections
import datetime
import os
import sys
import time

import child
import peer
import side_by_side as sbs

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(sbs.ROOT, "build", "peers-venv", "bin", "python")

# In the order in which they are measured and listed.
PEERS = ("torchvision torchvision_tensor opencv ffcv dali spdl tfdata ffcv_raw "
         "simplejpeg").split()
# Fewer would be batches that were read ahead before the measurement began.
LEAST_BATCHES = 16
# feedline as its own peer: without the index of JPEGs, and with --packed.
OWN = {"feedline_no_index": ["--jpeg-index=false"], "feedline_packed": []}
# With --shards: what loaderbench is given beside each; None: peer_feedline.
SHARD_PEERS = {"webdataset": "tar:%s/tar", "dali_tar": "tar:%s/tar",
               "dali_tfrecord": "tfrecord:%s/tfrecord",
               "tfrecord": "tfrecord:%s/tfrecord", "mds": "mds:%s/mds",
               "huggingface": None}
# Peers that are one program: its name, and its --form.
FORMS = {"dali_tar": ("dali", "tar"), "dali_tfrecord": ("dali", "tfrecord"),
         "tfrecord": ("tfdata", "tfrecord"), "ffcv_raw": ("ffcv", "raw")}


# With --recipe: who has all of it, and feedline's operations.
RECIPES = {
    "train": (PEERS, ()),
    "color": (("torchvision", "torchvision_tensor", "dali", "tfdata"), (
        "color_jitter brightness=0.6,1.4 contrast=0.6,1.4 "
        "saturation=0.6,1.4 hue=-0.1,0.1", "random_grayscale p=0.2",
        "random_apply count=1 p=0.5",
        "gaussian_blur kernel_size=23,23 sigma=0.1,2.0")),
    "rand_augment": (("torchvision", "torchvision_tensor", "dali"),
                     ("rand_augment num_ops=2 magnitude=9",)),
}
# With --bytes.
HOLDERS = ("torchvision", "torchvision_tensor", "dali", "tfdata")


class Failures:
    """Each failed run, and which peers are left out for it."""
    IN_A_ROW = 2

    def __init__(self):
        self.seen = []  # as they are written
        self.in_a_row = collections.Counter()

    def note(self, name, where, reason):
        self.seen.append({"name": name, **where, "reason": reason})
        self.in_a_row[name] += 1

    def forgive(self, name):
        self.in_a_row[name] = 0

    def left_out(self):
        """{name: why}"""
        return {f["name"]: f["reason"] for f in self.seen
                if self.in_a_row[f["name"]] >= self.IN_A_ROW}


def source_of(arguments, name):
    if name == "feedline_packed":
        return arguments.packed
    if not arguments.shards:
        return arguments.folder
    return SHARD_PEERS[name] and SHARD_PEERS[name] % arguments.shards


def feedline_command(arguments, name, workers, dtype):
    source = source_of(arguments, name)
    if not source or arguments.bytes:
        return peer_command(arguments, "feedline", workers, dtype)
    if dtype == "f32":
        work = ["--pipeline", "train", "--dtype", "f32", "--layout", "nchw"]
    else:
        work = ["--pipeline", "none", "--op", "random_resized_crop",
                "--op", "horizontal_flip", "--shuffle",
                "--dtype", "u8", "--layout", "nhwc"]
    for step in RECIPES[arguments.recipe][1]:
        work += ["--op", step]
    files, _labels = peer.list_images(arguments.folder)
    per_epoch = -(-len(files) // arguments.batch_size)
    length = (["--warmup", "1", "--batches", str(9 * per_epoch // 10)]
              if arguments.cold else
              ["--warmup", str(per_epoch),
               "--epochs", str(arguments.epochs + 1)])
    return [arguments.loaderbench, "run", source, *work,
            "--workers", str(workers), *length,
            "--batch-size", str(arguments.batch_size), *OWN.get(name, []),
            "--quiet", "--json", "-"]


def peer_command(arguments, name, workers, dtype):
    if name in OWN:
        return feedline_command(arguments, name, workers, dtype)
    program, form = FORMS.get(name, (name, "bytes" if arguments.bytes
                                     else "files"))
    return [arguments.python, os.path.join(HERE, "peer_%s.py" % program),
            "--folder", arguments.folder, "--dtype", dtype, "--form", form,
            "--recipe", arguments.recipe,
            "--epochs", str(arguments.epochs), "--workers", str(workers),
            "--batch-size", str(arguments.batch_size),
            *(["--shards", arguments.shards] if arguments.shards else []),
            *(["--cold"] if arguments.cold else [])]


def evict(folder):
    """Out of the page cache; what others have mapped stays."""
    for root, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(root, name), "rb") as f:
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(arguments, command, cores):
    if arguments.cold:
        evict(arguments.shards or arguments.folder)
    return child.run(command, cores, arguments.limit)


def wait_for_quiet(cores, limit, patience):
    """Until the cores were idle for two seconds, or patience ends."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        busy = child.busy_seconds(cores)
        time.sleep(2)
        if (child.busy_seconds(cores) - busy) / (2 * len(cores)) <= limit:
            return


def number(result, others):
    names = "images seconds cpu_seconds images_per_second images_per_cpu_second"
    return {**{name: result[name] for name in names.split()},
            "others": round(others, 4)}


def measure_feedline(arguments, name, cores, dtype):
    try:
        return measure(arguments, feedline_command(
            arguments, None if name in OWN else name, len(cores), dtype),
            cores)
    except child.Failed as e:
        raise child.Failed("feedline beside it: %s" % e) from e


def measure_pair(arguments, name, cores, dtype):
    """feedline, then the peer. The quietest of several tries."""
    best, loudest = None, float("inf")
    for _ in range(arguments.tries):
        wait_for_quiet(cores, arguments.busy_limit, arguments.patience)
        ours, a = measure_feedline(arguments, name, cores, dtype)
        theirs, b = measure(
            arguments, peer_command(arguments, name, len(cores), dtype),
            cores)
        if max(a, b) < loudest:
            loudest = max(a, b)
            best = {"feedline": number(ours.get("result", ours), a),
                    "peer": number(theirs.get("result", theirs), b),
                    "quiet": loudest <= arguments.busy_limit,
                    "settings": theirs.get("settings"),
                    "versions": theirs.get("versions"),
                    "pixel_mean": theirs.get("pixel_mean"),
                    "feedline_version": ours.get("version")}
        if best["quiet"]:
            break
    return best


def say_pair(heading, name, pair):
    a, b = pair["feedline"], pair["peer"]
    print("%s: feedline %.0f, %s %.0f images/s, others took %.0f and %.0f %%%s"
          % (heading, a["images_per_second"], name, b["images_per_second"],
             100 * a["others"], 100 * b["others"],
             "" if pair["quiet"] else ": not quiet"), file=sys.stderr)


def run_rounds(arguments, cores, dtype, failures):
    """Every peer once per round; {name: [pair, ...]}."""
    names = [n for n in arguments.peers
             if dtype == "u8" or n != "simplejpeg"]
    pairs = {name: [] for name in names}
    for i in range(1, arguments.rounds + 1):
        heading = "%s, %d core(s), round %d" % (dtype, len(cores), i)
        for name in names:
            if name in failures.left_out():
                continue
            try:
                pair = measure_pair(arguments, name, cores, dtype)
            except child.Failed as e:
                where = {"dtype": dtype, "cores": len(cores), "round": i}
                failures.note(name, where, str(e))
                print("%s: %s: %s" % (heading, name, e), file=sys.stderr)
                continue
            failures.forgive(name)
            pairs[name].append(pair)
            say_pair(heading, name, pair)
    return {name: rows for name, rows in pairs.items() if rows}


def counted(pairs):
    """The quiet ones, or all where there is none."""
    return [p for p in pairs if p["quiet"]] or pairs


def row(name, runs):
    """What a table says of one side; `runs` are numbers."""
    return {
        "name": name,
        "images_per_second": sbs.summary(
            [r["images_per_second"] for r in runs]),
        "cpu_seconds_per_1000": sbs.summary(
            [1000 / r["images_per_cpu_second"] for r in runs]),
        "others": sbs.summary([r["others"] for r in runs]),
    }


def table(pairs, cores, dtype):
    ours = [p for runs in pairs.values() for p in runs]
    rows = [row("feedline", [p["feedline"] for p in counted(ours)])]
    for name, measured in pairs.items():
        runs = counted(measured)
        r = row(name, [p["peer"] for p in runs])
        for key, field in (("ratio", "images_per_second"),
                           ("cpu_ratio", "images_per_cpu_second")):
            r[key] = sbs.summary([p["feedline"][field] / p["peer"][field]
                                  for p in runs])
        for key in ("settings", "versions", "pixel_mean"):
            r[key] = runs[0][key]
        r["quiet_pairs"] = sum(p["quiet"] for p in measured)
        r["pairs"] = [{k: p[k] for k in ("feedline", "peer", "quiet")}
                      for p in measured]
        rows.append(r)
    return {"dtype": dtype, "cores": sorted(cores), "rows": rows}


def print_table(t):
    print("\n%s, %d core(s)\n" % (t["dtype"], len(t["cores"])))
    print("%-19s %22s %12s %19s %13s %12s" % (
        "", "images/s (range)", "CPU s/1000", "feedline is (range)",
        "by CPU time", "quiet pairs"))
    for r in t["rows"]:
        s = r["images_per_second"]
        text = "%-19s %8.0f (%4.0f to %4.0f) %12.2f" % (
            r["name"], s["median"], s["min"], s["max"],
            r["cpu_seconds_per_1000"]["median"])
        if "ratio" in r:
            text += "  %4.2f (%4.2f to %4.2f) %13.2f %7d of %d%s" % (
                r["ratio"]["median"], r["ratio"]["min"], r["ratio"]["max"],
                r["cpu_ratio"]["median"], r["quiet_pairs"], len(r["pairs"]),
                "" if r["quiet_pairs"] else " *")
        print(text)
    if not all(r.get("quiet_pairs", 1) for r in t["rows"]):
        print("* no pair was quiet: this row is made of all of them")


def print_failures(failures):
    print()
    for f in failures.seen:
        print("%s failed, %s, %d core(s), round %d: %s" % (
            f["name"], f["dtype"], f["cores"], f["round"], f["reason"]))
    for name in failures.left_out():
        print("%s was left out" % name)


def known_peers(arguments):
    if arguments.shards:
        return list(SHARD_PEERS)
    if arguments.bytes:
        return HOLDERS
    names = RECIPES[arguments.recipe][0]
    if arguments.recipe == "train":
        names = [*names, *OWN]
    return [name for name in names
            if arguments.packed or name != "feedline_packed"]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    sbs.add_common_arguments(parser, rounds=5)
    parser.add_argument("--python", default=PYTHON, metavar="PATH",
                        help="where the peers are installed "
                        "[build/peers-venv/bin/python]")
    parser.add_argument("--peers", nargs="+", metavar="NAME",
                        help="of " + ", ".join(PEERS) + "; with --shards of "
                        + ", ".join(SHARD_PEERS))
    parser.add_argument("--shards", metavar="S",
                        help="compare readers of shards, which make_shards.py "
                        "wrote of the folder")
    parser.add_argument("--packed", metavar="P",
                        help="what loaderbench pack --store=packed wrote of "
                        "the folder: one more row")
    parser.add_argument("--recipe", choices=peer.RECIPES, default="train",
                        help="beside crop and flip: color is a jitter of "
                        "colours, grayscale and a blur [nothing]")
    parser.add_argument("--bytes", action="store_true",
                        help="of files that are in the program's memory")
    parser.add_argument("--cold", action="store_true",
                        help="out of the page cache before each run, of which "
                        "90 %% of the first epoch count")
    parser.add_argument("--dtypes", nargs="+", choices=("f32", "u8"),
                        default=("f32", "u8"), help="[both]")
    parser.add_argument("--core-counts", nargs="+", type=int, default=(1, 2),
                        metavar="N", help="cores, and as many workers [1 2]")
    parser.add_argument("--busy-limit", type=float, default=0.05, metavar="S",
                        help="measure again where others took more than this "
                        "share of the cores [%(default)s]")
    parser.add_argument("--tries", type=int, default=3, metavar="N",
                        help="at most, for one pair [%(default)s]")
    parser.add_argument("--patience", type=float, default=0, metavar="SECONDS",
                        help="wait so long for the cores to be quiet before "
                        "each pair [%(default)s]")
    arguments = parser.parse_args()
    known = known_peers(arguments)
    arguments.peers = arguments.peers or known
    if not set(arguments.peers) <= set(known):
        parser.error("--peers: of " + ", ".join(known))
    images = len(peer.list_images(arguments.folder)[0]) * arguments.epochs
    if not arguments.cold and images < LEAST_BATCHES * arguments.batch_size:
        parser.error("%d images in all epochs are less than %d batches of %d: "
                     "too little to measure; give --epochs, or --batch-size" % (
                         images, LEAST_BATCHES, arguments.batch_size))
    return arguments


def main():
    child.end_with_its_child()
    arguments = parse()
    usable = sorted(os.sched_getaffinity(0))
    failures, tables = Failures(), []
    result = {
        "schema_version": 1, "comparison": "peers",
        "date": datetime.date.today().isoformat(),
        "machine": sbs.machine(), "feedline": None,
        "images": len(peer.list_images(arguments.folder)[0]),
        "config": {k: getattr(arguments, k) for k in (
            "rounds", "epochs", "batch_size", "busy_limit", "tries",
            "limit", "shards", "cold", "recipe", "bytes")},
        "tables": tables, "missing": {}, "failures": failures.seen,
    }
    for n in arguments.core_counts:
        if n > len(usable):
            print("%d cores: this process may use %d" % (n, len(usable)),
                  file=sys.stderr)
            continue
        for dtype in arguments.dtypes:
            pairs = run_rounds(arguments, set(usable[:n]), dtype, failures)
            result["missing"] = failures.left_out()
            for runs in pairs.values():
                result["feedline"] = (runs[0]["feedline_version"]
                                      or result["feedline"])
            if not pairs:
                continue
            tables.append(table(pairs, set(usable[:n]), dtype))
            # All of it takes an hour: what is measured is kept.
            if arguments.json != "-":
                sbs.write_json(result, arguments.json)
    if not tables:
        sys.exit("no peer could be measured: bench/peers/setup_venv installs "
                 "them")
    if arguments.json != "-":
        m = result["machine"]
        print("%s, Linux %s; feedline %s" % (m["cpu_model"], m["kernel"],
                                             result["feedline"]))
        for t in tables:
            print_table(t)
        print_failures(failures)
    else:
        sbs.write_json(result, arguments.json)


if __name__ == "__main__":
    main()
