#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bench/gpu_check measured, held against what is asked for.

    gpu_check_report.py WORK OUT --seconds S [--dry-run]

reads steps.tsv, the logs and the JSON documents below WORK and writes
OUT/DATE-gpu.md and OUT/DATE-gpu.json. The status is 1 if a number is missed. A
dry run has other names, says on each page what it is, and fails only if a step
did, for its numbers mean nothing.
"""
import argparse
import datetime
import json
import os
import re
import sys

DRY = ("DRY RUN on the test double of the CUDA driver. No GPU took part: the "
       "numbers say that the script works and nothing about any hardware.")


class Work:
    """What the steps left behind."""

    def __init__(self, folder):
        self.folder = folder
        self.steps = {}
        for line in self.text("steps.tsv").splitlines():
            name, status, seconds, what = line.split("\t")
            self.steps[name] = {"status": status, "seconds": int(seconds),
                                "what": what}

    def text(self, name):
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8",
                      errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def value(self, name, *keys):
        """A number of a document; None if it is not there."""
        try:
            value = json.loads(self.text(name + ".json"))
            for key in keys:
                value = value[key]
        except (ValueError, KeyError, TypeError, IndexError):
            return None
        return value

    def status(self, name):
        return self.steps.get(name, {}).get("status")


class Checks:
    """Rows of the table: what is asked for, what came."""

    def __init__(self):
        self.rows = []

    def add(self, what, asked, got, passed):
        self.rows.append({
            "what": what, "asked": asked,
            "got": "not measured" if got is None else got,
            "result": "PASS" if passed and got is not None else "MISSED"})

    def skip(self, what, asked, reason):
        self.rows.append({"what": what, "asked": asked, "got": reason,
                          "result": "SKIPPED"})

    def number(self, what, value, low=None, high=None, form="%.3f"):
        asked = " to ".join(s + form % x for s, x in
                            (("at least ", low), ("at most ", high))
                            if x is not None)
        passed = value is not None and (low is None or value >= low) and (
            high is None or value <= high)
        self.add(what, asked, None if value is None else form % value, passed)


def gpu_tests(work, checks):
    """From ctest's lines "3/9 Test #12: gpu_x.y ....   Passed    0.01 sec"."""
    seen = re.findall(r"Test +#\d+: (\S+) \.*\s*(\**\w+)",
                      work.text("ctest.log"))
    for what, pattern in (
            ("finished on the GPU as on the CPU, bit for bit", "equals_host"),
            ("no slab is used again too early", "too_early|another_stream"),
            ("all tests of the label gpu", "")):
        group = [r for name, r in seen if re.search(pattern, name)]
        passed = group.count("Passed")
        checks.add("ctest: " + what, "all pass",
                   "%d of %d" % (passed, len(group)) if group else None,
                   passed == len(group) and group)


def copies(work, checks):
    transfer = work.value("run_consumer", "transfer") or {}
    batches = work.value("h2d", "batches") or [{}]
    plain = batches[-1]
    rate = transfer.get("gigabytes_per_second")
    ceiling = None
    if plain.get("device_us"):
        ceiling = plain["bytes"] / plain["device_us"] * 1e-3
    checks.number("bandwidth of the loader's copies, of one plain pinned "
                  "cudaMemcpyAsync of the same size",
                  rate / ceiling if rate and ceiling else None, low=0.95)
    checks.number("part of the copies beside the consumer's kernels",
                  transfer.get("overlap_fraction"), low=0.9)
    checks.number("GPU idle for want of images, the consumer needing 1.2 times "
                  "the loader's time per batch",
                  work.value("run_consumer", "stall", "device_fraction"),
                  high=0.01, form="%.4f")
    return {"loader_gigabytes_per_second": rate,
            "plain_gigabytes_per_second": ceiling}


def cases(work, checks):
    for name in ("bandwidth", "latency"):
        case = "case_" + name
        regime = work.value(case, "regime")
        checks.add("case %s: the regime that is named" % name, name, regime,
                   regime == name)
        predicted = work.value(case, "predicted_gain")
        measured = work.value(case, "measured_gain")
        checks.number("case %s: measured gain of the predicted one" % name,
                      measured / predicted if predicted and measured else None,
                      low=0.8, high=1.2)


def programs(work, checks):
    for name, what in (("memcheck", "compute-sanitizer memcheck"),
                       ("racecheck", "compute-sanitizer racecheck"),
                       ("train_cuda", "examples/train_cuda: loss goes down")):
        status = work.status(name)
        if status == "skipped":
            checks.skip(what, "status 0", work.steps[name]["what"])
        else:
            lines = work.text(name + ".log").strip().splitlines()
            checks.add(what, "status 0",
                       None if status is None else "status %s%s" % (
                           status, ": " + lines[-1] if lines else ""),
                       status == "0")


def markdown(doc):
    lines = ["# GPU check, " + doc["date"], ""]
    if doc["dry_run"]:
        lines += ["**%s**" % DRY, ""]
    lines += ["    " + line for line in doc["hardware"]]
    lines += ["", "| | asked for | came | |", "|---|---|---|---|"]
    for row in doc["checks"]:
        cells = [str(row[k]).replace("|", "\\|")
                 for k in ("what", "asked", "got", "result")]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "%d s in all. Steps:" % doc["seconds"], "",
              "| step | status | seconds |", "|---|---|---|"]
    for name, step in doc["steps"].items():
        lines.append("| %s | %s | %d |" % (name, step["status"],
                                           step["seconds"]))
    for name in ("h2d", "run_consumer", "case_bandwidth", "case_latency"):
        if doc["logs"].get(name):
            lines += ["", "## " + name, "", "```",
                      doc["logs"][name].rstrip(), "```"]
    return "\n".join(lines) + "\n"


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    print(path)


def main():
    parser = argparse.ArgumentParser(description="see gpu_check")
    parser.add_argument("work")
    parser.add_argument("out")
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()

    work, checks = Work(args.work), Checks()
    gpu_tests(work, checks)
    rates = copies(work, checks)
    cases(work, checks)
    programs(work, checks)
    names = ("h2d", "run_alone", "run_consumer", "case_bandwidth",
             "case_latency")
    doc = {
        "schema_version": 1, "command": "gpu_check", "dry_run": args.dry_run,
        "note": DRY if args.dry_run else "",
        "date": datetime.date.today().isoformat(), "seconds": args.seconds,
        "hardware": work.text("hardware.txt").splitlines(),
        "device": work.value("h2d", "device"), "rates": rates,
        "checks": checks.rows, "steps": work.steps,
        "results": {n: work.value(n) for n in names},
        "logs": {n: work.text(n + ".log") for n in names},
    }
    if doc["device"]:
        doc["hardware"].append("GPU: %s, driver for CUDA %d" % (
            doc["device"]["name"], doc["device"]["driver_version"]))
    name = "%s-gpu%s" % (doc["date"], "-dry-run" if args.dry_run else "")
    page = markdown(doc)
    del doc["logs"]
    write(os.path.join(args.out, name + ".json"),
          json.dumps(doc, indent=1) + "\n")
    write(os.path.join(args.out, name + ".md"), page)
    for row in checks.rows:
        print("%-8s %s: %s (%s)" % (row["result"], row["what"], row["got"],
                                    row["asked"]))
    if args.dry_run:
        print(DRY)
        return int(any(s["status"] not in ("0", "skipped")
                       for s in work.steps.values()))
    return int(any(r["result"] == "MISSED" for r in checks.rows))


if __name__ == "__main__":
    sys.exit(main())
