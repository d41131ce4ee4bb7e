# SPDX-License-Identifier: Apache-2.0
"""loaderbench compare and merge: documents side by side."""
import copy
import os

import report_document
from support import (contains, equal, expect, fits, generate, json_of, main,
                     on_terminal, put, tool)


def run_of(speed, spread=None, **result):
    document = report_document.document()
    del document["timeline"]
    document["result"].update(result, images_per_second=speed)
    if spread is not None:
        document["runs"] = [{"result": dict(document["result"],
                                            images_per_second=x)}
                            for x in (speed - spread, speed, speed + spread)]
    return document


def compared(tmp, a, b, *arguments, rc=0):
    return json_of("compare", put(tmp, a, "a.json"), put(tmp, b, "b.json"),
                   *arguments, rc=rc)


def case_narrow_terminal(tmp):
    """Whole words, and numbers with their units."""
    put(tmp, run_of(1000.0, 40.0), "a.json")
    put(tmp, run_of(969.0, 40.0), "b.json")
    with on_terminal(tmp, "compare", "a.json", "b.json", columns=40) as shown:
        text = shown.rest()
    equal(shown.returncode, 0, text)
    fits(text, 40)
    contains(" ".join(text.split()), "8.1 %: too much to see a change of 3 %")
    for line in text.splitlines():
        assert not line.startswith("%"), text


def case_compare(tmp):
    for after, spread, rc in ((1000.0, None, 0), (971.0, None, 0),
                              (969.0, None, 1), (2000.0, None, 0),
                              (969.0, 10.0, 1),    # noise 1 % and 1 %
                              (969.0, 20.0, 0),    # 2 % and 2 %
                              (900.0, 20.0, 1)):
        document = compared(tmp, run_of(1000.0, spread), run_of(after, spread),
                            rc=rc)
        equal(document["schema_version"], 1)
        equal(document["command"], "compare")
        equal(document["metric"], "images_per_second")
        equal(document["verdict"], "fail" if rc else "pass")
        assert abs(document["change_fraction"] - (after / 1000 - 1)) < 1e-8
        if spread is None:
            equal(document["noise_fraction"], None)
        else:
            noise = spread / 1000 + spread / after
            assert abs(document["noise_fraction"] - noise) < 1e-8, document


def case_compare_threshold(tmp):
    a, b = run_of(1000.0), run_of(940.0)
    for given, rc in (("5%", 1), ("0.05", 1), ("7%", 0), ("0.07", 0)):
        compared(tmp, a, b, "--fail-below", given, rc=rc)
    paths = (os.path.join(tmp, "a.json"), os.path.join(tmp, "b.json"))
    for wrong in ("", "much", "-3%", "100%", "3 apples"):
        expect(tool("compare", *paths, "--fail-below", wrong), 2,
               "--fail-below")


def case_compare_other_metrics(tmp):
    a = run_of(1000.0, max_rss_bytes=1000000)
    b = run_of(1000.0, max_rss_bytes=1100000)
    equal(compared(tmp, a, b)["verdict"], "pass")
    # Here more is worse.
    equal(compared(tmp, a, b, "--metric", "max_rss_bytes", rc=1)["verdict"],
          "fail")
    equal(compared(tmp, b, a, "--metric", "max_rss_bytes")["verdict"], "pass")
    expect(tool("compare", "a", "b", "--metric", "beauty"), 2, "beauty")


def case_compare_says_what_differs(tmp):
    a, b = run_of(1000.0), run_of(1000.0)
    b["config"]["batch_size"] = 64
    b["machine"]["cpu_model"] = "Another"
    equal(compared(tmp, a, b)["differences"], ["batch_size", "machine"])
    done = expect(tool("compare", os.path.join(tmp, "a.json"),
                       os.path.join(tmp, "b.json")), 0)
    for part in ("batch_size, machine", "+0.0 %", "pass", "--repeat"):
        contains(done.out, part)


def case_compare_bad_input(tmp):
    a = put(tmp, run_of(1000.0), "a.json")
    sweep = put(tmp, report_document.sweep(), "sweep.json")
    other = put(tmp, dict(run_of(1.0), schema_version=7), "other.json")
    stopped = put(tmp, run_of(0), "stopped.json")
    expect(tool("compare", a), 2, "two files")
    expect(tool("compare", a, a, a), 2, "not 3")
    expect(tool("compare", *[a] * 10), 2, "six pairs")  # 5: too few
    expect(tool("compare", *[a] * 13), 2, "not 13")
    expect(tool("compare", *[a] * 11, stopped), 3, "no positive number")
    expect(tool("compare", a, sweep), 3, "'sweep'")
    expect(tool("compare", a, other), 3, "schema_version 7")
    expect(tool("compare", stopped, a), 3, "no positive number")
    expect(tool("compare", a, os.path.join(tmp, "none.json")), 2, "none.json")


def paired(tmp, pairs, *arguments, rc=0):
    paths = []
    for i, (a, b) in enumerate(pairs):
        paths += [put(tmp, run_of(a), "a%d.json" % i),
                  put(tmp, run_of(b), "b%d.json" % i)]
    return json_of("compare", *paths, *arguments, rc=rc), paths


def case_compare_pairs(tmp):
    """What slows a pair down slows down both of it, and a spoilt one is one."""
    machine = (1000.0, 500.0, 900.0, 300.0, 1200.0, 700.0, 650.0, 980.0)
    doc, paths = paired(tmp, [(x, 0.95 * x) for x in machine] +
                        [(980.0, 2000.0)], rc=1)
    equal(doc["pairs"], 9)
    # Of 9 values the second and the last but one are the interval's ends.
    for key in ("change", "low", "high"):
        assert abs(doc[key + "_fraction"] + 0.05) < 1e-8, doc
    equal(doc["verdict"], "fail")
    done = expect(tool("compare", *paths), 1)
    contains(done.out, "-5.0 % in the median of 9 pairs")
    assert "too wide" not in done.out, done.out


def case_compare_pairs_of_noise(tmp):
    """A loss in the median that the interval does not confirm is none."""
    ratios = (0.80, 0.85, 0.9, 0.95, 0.96, 1.1, 1.15, 1.2)
    doc, paths = paired(tmp, [(1000.0, 1000 * r) for r in ratios])
    assert doc["change_fraction"] < -0.03, doc
    assert doc["low_fraction"] <= -0.2 < 0.2 <= doc["high_fraction"], doc
    equal(doc["verdict"], "pass")
    # 24.5 % to the interval's end, to see 3 %: (24.5 / 3)^2 times 8 pairs.
    words = " ".join(expect(tool("compare", *paths), 0).out.split())
    contains(words, "take about 534 pairs")
    # The ends of the interval by the number of pairs, as tables have them.
    for n, rank in ((6, 1), (8, 1), (9, 2), (12, 3), (20, 6), (25, 8)):
        doc, _ = paired(tmp, [(100.0, 101.0 + i) for i in range(n)])
        assert abs(doc["low_fraction"] - rank / 100) < 1e-8, (n, doc)


def case_compare_real_runs(tmp):
    folder, paths = generate(tmp), []
    for name in ("a.json", "b.json"):
        paths.append(os.path.join(tmp, name))
        expect(tool("run", folder, "--epochs", 2, "--repeat", 3, "--quiet",
                    "--json", paths[-1]), 0)
    document = json_of("compare", *paths, "--fail-below", "99%")
    assert document["noise_fraction"] >= 0, document
    equal(document["differences"], [])


def ranks_of(*ranks):
    """Documents of (step_ms, stall fraction of host, of device)."""
    documents = []
    for i, (step, host, device) in enumerate(ranks):
        d = run_of(256e3 / step, batches=1000, seconds=step)
        d["config"]["rank"] = i
        d["stall"].update(host_fraction=host, device_fraction=device)
        d["verdict"] = dict(d["verdict"], code="CODE_OF_%d" % i)
        documents.append(d)
    return documents


def merged(tmp, documents):
    paths = [put(tmp, d, "rank%d.json" % i) for i, d in enumerate(documents)]
    return json_of("merge", *paths)


def case_merge(tmp):
    # Steps are as long on all ranks, as each waits for the slowest.
    document = merged(tmp, ranks_of((200, 0.01, None), (200, 0.20, None),
                                    (200, 0.02, None), (200, 0.00, None)))
    equal(document["straggler"], {"rank": 1, "cause": "CODE_OF_1",
                                  "loader_at_fault": True})
    equal([r["rank"] for r in document["ranks"]], [0, 1, 2, 3])
    equal(document["ranks"][1]["step_ms"], 200.0)
    equal(document["ranks"][1]["verdict"], "CODE_OF_1")
    # All wait alike, or not at all: nobody is to blame.
    for alike in (0.0, 0.3):
        equal(merged(tmp, ranks_of(*[(200, alike, None)] * 3))["straggler"],
              None)
    # Slower without waiting for data.
    equal(merged(tmp, ranks_of((200, 0.01, None), (200, 0.0, None),
                               (260, 0.01, None)))["straggler"],
          {"rank": 2, "cause": "COMM_OR_STRAGGLER", "loader_at_fault": False})
    # Of two ranks the one that waits.
    equal(merged(tmp, ranks_of((200, 0.3, None),
                               (200, 0.0, None)))["straggler"]["rank"], 0)
    # The host waits for slots that a GPU still uses: that starves nobody.
    equal(merged(tmp, ranks_of((200, 0.9, 0.0), (200, 0.1, 0.0),
                               (200, 0.1, 0.25)))["straggler"],
          {"rank": 2, "cause": "CODE_OF_2", "loader_at_fault": True})


def case_merge_adds_up(tmp):
    documents = ranks_of(*[(200, 0.0, None)] * 3)
    for i, d in enumerate(documents):
        d["stats"] = dict(workers=2, batches=10 + i, wall_seconds=1.5,
                          first_batch_seconds=0.25 * (i % 2))
        d["workers"] = dict(threads=2, cpu_seconds=0.5)
        d["transfer"] = None
    documents[2]["transfer"] = dict(copies=7, overlap_fraction=0.5)
    equal(merged(tmp, documents)["total"], {
        "stats": {"batches": 33, "wall_seconds": 4.5,
                  "first_batch_seconds": 0.25},
        "workers": {"threads": 6, "cpu_seconds": 1.5},
        "transfer": {"copies": 7}})


def case_merge_numbers_ranks(tmp):
    documents = ranks_of((200, 0.0, None), (200, 0.4, None), (200, 0.0, None))
    documents.reverse()
    equal([r["rank"] for r in merged(tmp, documents)["ranks"]], [2, 1, 0])
    for d in documents:  # option rank was not set: the order of files counts
        d["config"]["rank"] = 0
    document = merged(tmp, documents)
    equal([r["rank"] for r in document["ranks"]], [0, 1, 2])
    equal(document["straggler"]["rank"], 1)


def case_merge_in_words(tmp):
    paths = [put(tmp, d, "%d.json" % i) for i, d in enumerate(
        ranks_of((200, 0.0, None), (200, 0.4, None), (200, 0.0, None)))]
    done = expect(tool("merge", *paths), 0)
    contains(done.out, "Rank 1 holds up the others: it waits for its loader "
                       "(CODE_OF_1).")
    equal(len(done.out.splitlines()), 5)
    equal(expect(tool("merge", *paths, "--quiet"), 0).out, "")


def case_merge_bad_input(tmp):
    a = put(tmp, run_of(1000.0), "a.json")
    bad = copy.deepcopy(run_of(1000.0))
    del bad["stall"]["host_fraction"]
    expect(tool("merge", a), 2, "two ranks")
    expect(tool("merge", a, put(tmp, bad, "bad.json")), 3,
           "stall.host_fraction is missing")
    expect(tool("merge", a, put(tmp, report_document.sweep(), "s.json")), 3,
           "'sweep'")


if __name__ == "__main__":
    main(globals())
