#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a trace against the Trace Event format, as far as it is used here.

    check_trace.py FILE [--steps N] [--names a,b] [--without category] ...

Every event has the fields that its kind needs, with their types; slices of one
thread follow each other or nest; every thread that has a slice has a name; a
flow starts once, ends once, runs forward in time, and each of its points lies
in a slice of its thread. Times are compared as whole nanoseconds.
"""
import argparse
import collections
import decimal
import json
import sys

REQUIRED = {
    "X": {"name": str, "cat": str, "pid": int, "tid": int, "ts": None,
          "dur": None},
    "i": {"name": str, "cat": str, "pid": int, "tid": int, "ts": None,
          "s": str},
    "C": {"name": str, "pid": int, "ts": None, "args": dict},
    "M": {"name": str, "pid": int, "args": dict},
    "s": {"name": str, "cat": str, "id": int, "pid": int, "tid": int,
          "ts": None},
    "t": {"name": str, "cat": str, "id": int, "pid": int, "tid": int,
          "ts": None, "bp": str},
    "f": {"name": str, "cat": str, "id": int, "pid": int, "tid": int,
          "ts": None, "bp": str},
}


class Fault(Exception):
    pass


def number(value):
    return isinstance(value, (int, decimal.Decimal)) and not isinstance(
        value, bool)


def ns(value):
    return int((value * 1000).to_integral_value()) if isinstance(
        value, decimal.Decimal) else value * 1000


def check_fields(event):
    phase = event.get("ph")
    if phase not in REQUIRED:
        raise Fault(f"unknown kind {phase!r}: {event}")
    for key, kind in REQUIRED[phase].items():
        if key not in event:
            raise Fault(f"no {key}: {event}")
        if kind is None:
            if not number(event[key]) or event[key] < 0:
                raise Fault(f"{key} is no time: {event}")
        elif not isinstance(event[key], kind):
            raise Fault(f"{key} is no {kind.__name__}: {event}")
    if phase == "C":
        for value in event["args"].values():
            if not number(value):
                raise Fault(f"a counter that is no number: {event}")
    if phase == "i" and event["s"] not in ("t", "p", "g"):
        raise Fault(f"scope of an instant: {event}")


def check_nesting(track, slices):
    """The slices of one thread, as (begin, end, name)."""
    open_slices = []
    # Longer ones first where two begin together: they are outside.
    for begin, end, name in sorted(slices, key=lambda s: (s[0], -s[1])):
        while open_slices and open_slices[-1][1] <= begin:
            open_slices.pop()
        if open_slices and end > open_slices[-1][1]:
            raise Fault(f"on {track}, {name} [{begin}, {end}) overlaps "
                        f"{open_slices[-1]}")
        open_slices.append((begin, end, name))


def check_flow(ident, points, slices):
    phases = "".join(p["ph"] for p in sorted(
        points, key=lambda p: (ns(p["ts"]), "stf".index(p["ph"]))))
    if phases[0] != "s" or phases[-1] != "f" or set(phases[1:-1]) - {"t"}:
        raise Fault(f"flow {ident} is {phases} in order of time")
    for point in points:
        at = ns(point["ts"])
        track = point["pid"], point["tid"]
        if not any(begin <= at <= end for begin, end, _ in slices[track]):
            raise Fault(f"flow {ident} touches no slice: {point}")


def check(document):
    """Raises Fault; returns what the trace has."""
    events = document["traceEvents"]
    if not isinstance(document.get("baseTimeNanoseconds"), int):
        raise Fault("no baseTimeNanoseconds")
    names, processes = {}, {}
    slices = collections.defaultdict(list)
    flows = collections.defaultdict(list)
    used = set()
    for event in events:
        check_fields(event)
        phase = event["ph"]
        track = event["pid"], event.get("tid")
        if phase == "M" and event["name"] == "thread_name":
            names[track] = event["args"]["name"]
        elif phase == "M" and event["name"] == "process_name":
            processes[event["pid"]] = event["args"]["name"]
        elif phase == "X":
            begin = ns(event["ts"])
            slices[track].append((begin, begin + ns(event["dur"]),
                                  event["name"]))
        elif phase in "stf":
            flows[event["id"]].append(event)
        if phase in "Xistf":
            used.add(track)
    for track in used:
        if track not in names:
            raise Fault(f"thread {track} has no name")
    for pid in {pid for pid, _ in used}:
        if pid not in processes:
            raise Fault(f"process {pid} has no name")
    for track, of_track in slices.items():
        check_nesting(names[track], of_track)
    for ident, points in flows.items():
        check_flow(ident, points, slices)
    return events, flows, names


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_float=decimal.Decimal)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--flows", type=int, help="at least so many")
    parser.add_argument("--whole-flows", type=int,
                        help="at least so many from a read to a step")
    parser.add_argument("--names", default="")
    parser.add_argument("--without", default="")
    parser.add_argument("--cut", action="store_true")
    args = parser.parse_args()
    document = load(args.file)
    try:
        events, flows, names = check(document)
        end = document["feedline_end"]
        if end["complete"] == args.cut or bool(end["cut"]) != args.cut:
            raise Fault(f"the end says {end}")
        found = collections.Counter(e["name"] for e in events
                                    if e["ph"] != "M")
        steps = sum(e["name"] == "step" for e in events)
        if end["steps"] != steps and not args.cut:
            raise Fault(f"{steps} steps, but the end says {end}")
        if args.steps is not None and steps != args.steps:
            raise Fault(f"{steps} steps instead of {args.steps}")
        if args.flows is not None and len(flows) < args.flows:
            raise Fault(f"{len(flows)} flows")
        whole = sum(
            names[p[0]["pid"], p[0]["tid"]].startswith("read") and
            names[p[-1]["pid"], p[-1]["tid"]] == "consumer"
            for p in flows.values())
        if args.whole_flows is not None and whole < args.whole_flows:
            raise Fault(f"{whole} flows from a read to a step")
        for name in filter(None, args.names.split(",")):
            if not found[name]:
                raise Fault(f"there is no {name}")
        for category in filter(None, args.without.split(",")):
            if any(e.get("cat") == category for e in events):
                raise Fault(f"there are events of {category}")
    except Fault as fault:
        sys.exit(f"{args.file}: {fault}")
    print(f"{len(events)} events, {steps} steps, {len(flows)} flows, "
          f"{whole} of them whole, lost {end['lost_notes']}:",
          ", ".join(f"{n} {name}" for name, n in found.most_common()))


if __name__ == "__main__":
    main()
