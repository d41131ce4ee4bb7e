# SPDX-License-Identifier: Apache-2.0
"""loaderbench sweep: the grid, its knee, going on after an interruption."""
import json
import os
import signal
import statistics
import subprocess

from support import (TOOL, contains, digits, equal, expect, json_of, main,
                     read, tool)

SMALL = ("--batch-size", 4, "--warmup", 1, "--op", "resize size=32",
         "--op", "center_crop width=32 height=32")


def sweep(folder, *arguments, rc=0):
    """The document of a sweep of a few milliseconds."""
    return json_of("sweep", folder, *SMALL, *arguments, rc=rc)


def short(folder, *arguments, rc=0):
    return sweep(folder, "--workers", "1,2", "--depths", "2,3", "--batches", 3,
                 "--repeat", 2, *arguments, rc=rc)


def setting(point):
    return point["workers"], point["depth"]


def case_document(tmp):
    doc = short(digits(tmp))
    equal(doc["schema_version"], 1)
    equal(doc["command"], "sweep")
    equal([setting(p) for p in doc["grid"]], [(1, 2), (1, 3), (2, 2), (2, 3)])
    for point in doc["grid"]:
        assert point["images_per_second"] > 0, point
        assert point["images_per_cpu_second"] > 0, point
        assert 0 <= point["host_fraction"] <= 1, point
        assert point["io_depth"] >= 1, point
        equal(point["device_fraction"], None)
        equal(len(point["runs"]), 2)
        for key in ("images_per_second", "host_fraction"):
            median = statistics.median(run[key] for run in point["runs"])
            assert abs(median - point[key]) <= 1e-8 * abs(median), point
    equal(doc["interrupted"], False)
    equal(doc["config"]["tuner"], "off")
    equal(doc["dataset"]["samples"], 24)


def knee_of(doc):
    """By the rule as it is documented."""
    best = max(p["images_per_second"] for p in doc["grid"])
    return min(setting(p) for p in doc["grid"]
               if p["images_per_second"] >= 0.97 * best)


def case_knee(tmp):
    doc = short(digits(tmp))
    equal(setting(doc["knee"]), knee_of(doc))
    contains(doc["rule"]["words"], "within 3 % of the best")
    equal(doc["rule"]["fed"], False)
    equal(doc["best"]["images_per_second"],
          max(p["images_per_second"] for p in doc["grid"]))
    # Whatever is measured is within 100 %.
    doc = short(digits(tmp, name="other"), "--tolerance", 100)
    equal(setting(doc["knee"]), (1, 2))


def case_consumer(tmp):
    folder = digits(tmp)
    doc = short(folder, "--consumer-ms", 1, "--tuner-target", 1)
    equal(doc["rule"]["fed"], True)
    equal(setting(doc["knee"]), (1, 2))
    contains(doc["rule"]["words"], "100 % of the time")


def case_io_depth(tmp):
    doc = sweep(digits(tmp), "--workers", 1, "--depth", 2, "--io-depth",
                "2,8", "--batches", 2, "--repeat", 1)
    equal([p["io_depth"] for p in doc["grid"]], [2, 8])
    equal(doc["settings"]["io_depth_varied"], True)


def case_lists(tmp):
    folder = digits(tmp)
    doc = sweep(folder, "--workers", "1..2,2,4", "--depth", "3", "--batches", 1,
                "--repeat", 1, "--warmup", 0)
    equal([setting(p) for p in doc["grid"]], [(1, 3), (2, 3), (4, 3)])
    auto = sweep(folder, "--batches", 1, "--repeat", 1, "--warmup", 0,
                 "--depth", 2)
    workers = [p["workers"] for p in auto["grid"]]
    assert workers[0] == 1 and len(workers) > 1, workers


def case_nonsense(tmp):
    folder = digits(tmp)
    for arguments, message in (
            (("--workers", ""), "no list"),
            (("--workers", "1,,2"), "no list"),
            (("--workers", "1,"), "no list"),
            (("--workers", "4..2"), "no list"),
            (("--workers", "two"), "no list"),
            (("--workers", "-1"), "no list"),
            (("--workers", "0"), "beyond 1 to"),
            (("--workers", "99999999999999999999"), "no list"),
            (("--workers", "1..100000"), "beyond 1 to"),
            (("--workers", "1..1000"), "more than 64 values"),
            (("--depth", "0..3"), "beyond 1 to"),
            (("--io-depth", "0"), "beyond 1 to"),
            (("--depth", 2, "--depths", 2), "are the same"),
            (("--repeat", 0), "--repeat"),
            (("--tolerance", 101), "--tolerance"),
            (("--memory-budget", 1000), "memory_budget=1000"),
            (("--depth", 2, "--memory-budget", 1000), "memory_budget=1000")):
        done = expect(tool("sweep", folder, *SMALL, *arguments), 2, message)
        equal(done.out, "")


def case_text(tmp):
    done = expect(tool("sweep", digits(tmp), *SMALL, "--workers", "1,2",
                       "--depths", "2,3", "--batches", 2, "--repeat", 1,
                       env={"LC_ALL": "C"}), 0)
    for part in ("24 images", "4 of 4 settings", "1 wrk", "2 wrk", "depth 2",
                 "* knee: ", "The rule: the fewest workers", "workers\n"):
        contains(done.out, part)
    assert "\033" not in done.out
    assert done.out.isascii()
    equal(done.err, "")
    utf8 = expect(tool("sweep", digits(tmp, name="u"), *SMALL, "--workers",
                       "1,2", "--depth", 2, "--batches", 2, "--repeat", 1,
                       env={"LC_ALL": "C.UTF-8"}), 0)
    contains(utf8.out, "│")


def case_says_how_far_it_can_be_trusted(tmp):
    doc = short(digits(tmp))
    trust = doc["trust"]
    assert 0 <= trust["noise_fraction"] < 100, trust
    others = trust["others_cores"]
    assert others is None or 0 <= others <= os.cpu_count(), trust
    for point in doc["grid"]:
        for run in point["runs"]:
            assert "others_cores" in run, run


def raw(doc):
    return [[run["images_per_second"] for run in p["runs"]]
            for p in doc["grid"]]


def case_resume_after_interrupt(tmp):
    """What was measured stays and is not measured again."""
    folder, path = digits(tmp), os.path.join(tmp, "sweep.json")
    command = [TOOL, "sweep", folder] + [str(a) for a in SMALL] + [
        "--workers", "1,2", "--depth", "2", "--consumer-ms", "40",
        "--batches", "5", "--repeat", "3", "--resume", path, "--json", "-"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE,
                               universal_newlines=True)
    while not os.path.exists(path) and running.poll() is None:
        pass
    running.send_signal(signal.SIGINT)
    partial = json.loads(running.communicate()[0])
    equal(running.returncode, 130)
    equal(partial["interrupted"], True)
    before = raw(partial)
    assert 1 <= sum(len(r) for r in before) < 6, before
    equal(raw(json.loads(read(path))), before)
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True,
                          universal_newlines=True)
    after = json.loads(done.stdout)
    equal([len(runs) for runs in raw(after)], [3, 3])
    equal(after["interrupted"], False)
    for point in partial["grid"]:
        again = [p for p in after["grid"] if setting(p) == setting(point)][0]
        equal(again["runs"][:len(point["runs"])], point["runs"])
    # Nothing is left to be done, and nothing changes.
    last = subprocess.run(command, stdout=subprocess.PIPE, check=True,
                          universal_newlines=True)
    equal(raw(json.loads(last.stdout)), raw(after))


def case_resume_with_more_points(tmp):
    folder, path = digits(tmp), os.path.join(tmp, "sweep.json")
    first = short(folder, "--resume", path)
    more = sweep(folder, "--workers", "1..3", "--depths", "2", "--batches", 3,
                 "--repeat", 2, "--resume", path)
    equal([setting(p) for p in more["grid"]],
          [(1, 2), (1, 3), (2, 2), (2, 3), (3, 2)])
    equal(raw(more)[:4], raw(first))


def case_resume_of_another_sweep(tmp):
    folder, path = digits(tmp), os.path.join(tmp, "sweep.json")
    short(folder, "--resume", path)
    with open(path, "rb") as f:
        before = f.read()

    def refused(*arguments, what=folder, message, rc=2):
        done = expect(tool("sweep", what, *SMALL, "--workers", 1, "--depth", 2,
                           "--batches", 3, "--resume", path, *arguments), rc,
                      message)
        contains(done.err, path)
        equal(done.out, "")

    refused("--batch-size", 5, message="batch_size is 4 there, 5 here")
    refused("--consumer-ms", 3, message="consumer_ms is 0.0 there, 3.0 here")
    refused("--batches", 4, message="batches is 3 there, 4 here")
    refused("--op", "vertical_flip", message="pipeline is ")
    refused("--io-depth", 4, message="another sweep")
    refused(what=digits(tmp, name="other"), message="uri is ")
    with open(path, "rb") as f:
        equal(f.read(), before)
    document = json.loads(before.decode("utf-8"))
    for damage, message in (
            (b"{", "no JSON"), (b"", "is empty"),
            (b"[]", "not a sweep's document"),
            (b'{"command": "run"}', "not a sweep's document")):
        with open(path, "wb") as f:
            f.write(damage)
        refused(message=message, rc=3)
    for key, value in (("workers", "2"), ("workers", -1), ("depth", 0),
                       ("runs", 7), ("runs", [1]),
                       ("runs", [{"images_per_second": "fast"}])):
        damaged = json.loads(before.decode("utf-8"))
        damaged["grid"][0][key] = value
        with open(path, "w", encoding="utf-8") as f:
            json.dump(damaged, f)
        refused(message="not a sweep's document", rc=3)
    equal(len(document["grid"]), 4)


def case_resume_that_cannot_be_written(tmp):
    done = expect(tool("sweep", digits(tmp), *SMALL, "--workers", 1,
                       "--depth", 2, "--batches", 1, "--resume",
                       os.path.join(tmp, "absent", "sweep.json")), 4)
    contains(done.err, "absent")


def case_report(tmp):
    page = os.path.join(tmp, "page.html")
    short(digits(tmp), "--report", page)
    text = read(page)
    contains(text, "Workers by depth")
    equal(text.count('data-key="knee.workers"'), 1)


if __name__ == "__main__":
    main(globals())
