# SPDX-License-Identifier: Apache-2.0
"""A document of `run` with everything in it that a report shows: a GPU, 1200
points of time, a tuner at work, phases, gaps, slow samples, and paths as nobody
would wish them. The numbers fit together and are the same each time."""
import math

BUCKETS = ["not_issued", "slot", "fetch_queue", "fetch", "worker_wait", "prep",
           "transfer_queue", "transfer", "wake", "residual"]
HOSTILE = "/data/<script>alert(1)</script>/\u202egpj.\U0001f40d&\"'.jpg"


def rounded(value):
    """Nine digits, as the tool writes them."""
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return float("%.9g" % value) if isinstance(value, float) else value


def timeline(n=1200, period=0.25):
    points = []
    for i in range(n):
        workers = 2 if i < 150 else 4 if i < 400 else 7 if i < 900 else 6
        wave = 1 + 0.15 * math.sin(i / 9) + (0.8 if i % 120 == 60 else 0)
        host = max(0.003, min(0.95, (0.55 - 0.085 * workers) * wave))
        parts = dict.fromkeys(BUCKETS, 0.0)
        parts["prep"] = 0.55 * host * period
        parts["worker_wait"] = 0.15 * host * period
        parts["fetch"] = 0.15 * host * period
        parts["fetch_queue"] = 0.06 * host * period
        parts["transfer"] = 0.05 * host * period
        parts["wake"] = 0.04 * host * period
        points.append({
            "seconds": (i + 1) * period,
            "images_per_second": 1400 * (1 - host),
            "host_fraction": host, "device_fraction": 0.8 * host,
            "buckets": parts, "workers": workers,
            "depth": 8 if i < 400 else 14, "io_depth": 16 if i < 150 else 24})
    return points


def stage(name, items, size, busy, p50):
    return {"name": name, "threads": 6, "items": items, "bytes": size,
            "errors": 0, "busy_seconds": busy, "starved_seconds": busy / 7,
            "blocked_seconds": busy / 11, "p50_us": p50, "p90_us": 2.5 * p50,
            "p99_us": 9.0 * p50, "max_us": 40.0 * p50}


def slow_samples():
    return [{"path": HOSTILE if i == 0 else
             "/data/train/n0%07d/n0%07d_%d.JPEG" % (i, i, 17 * i),
             "stage": "decode" if i % 3 else "read", "epoch": 0,
             "sequence": 40 * i, "sample_index": 1000 + i,
             "total_us": 9e5 / (i + 1), "read_us": 2e5 / (i + 1),
             "decode_us": 6e5 / (i + 1), "augment_us": 1e5 / (i + 1),
             "custom_us": 0.0, "bytes": 14000000 // (i + 1),
             "width": 9000 // (i + 1), "height": 6000 // (i + 1),
             "stall_us": 4e5 / (i + 1), "stall_fraction": 0.011 / (i + 1)}
            for i in range(8)]


def outliers():
    return {"count": 7, "median_wait_us": 5120.0, "last": [
        {"epoch": 0, "sequence": 480, "wait_us": 412500.0,
         "cause": "worker_wait", "cause_us": 400000.0, "alone_us": 390000.0,
         "path": HOSTILE, "sample_index": 1000},
        {"epoch": 0, "sequence": 960, "wait_us": 301250.0, "cause": "fetch",
         "cause_us": 300000.0, "alone_us": 0.0, "path": None,
         "sample_index": None}]}


def phase(name, count, seconds, longest):
    return {"name": name, "count": count, "total_seconds": seconds,
            "self_seconds": seconds, "max_seconds": longest,
            "user_fraction": seconds / 268.55}


def verdicts():
    return [{"code": "PREP_BOUND_CPU_SATURATED", "level": "MODERATE",
             "confidence": 0.94, "predicted_gain": 0.127, "tuner": False,
             "sentence": "Decoding holds the GPU up: it idled 11.3 % of 300 s, "
                         "and all 6 cores that the loader may use are busy.",
             "action": "Store the images at 256 pixels, or set quality=fast: "
                       "decoding then costs about a third.",
             "evidence": {"device_fraction": 0.113, "prep_share": 0.55,
                          "workers": 6, "cpu_share": 0.93, "runq_share": 0.04}},
            {"code": "PERIODIC_STALL", "level": "MINOR", "confidence": 0.81,
             "sentence": "Every 120 batches one takes 3 times as long.",
             "action": "Look for what happens every 120 batches: checkpoints, "
                       "logging.",
             "predicted_gain": 0.01}]


def document():
    points = timeline()
    buckets = {k: sum(p["buckets"][k] for p in points) for k in BUCKETS}
    wait = sum(buckets.values())
    found = verdicts()
    return rounded({
        "schema_version": 1, "command": "run", "version": "0.1.0",
        "date": "2026-11-22T09:08:07Z", "host": "node-17",
        "command_line": "loaderbench run folder:/data/train --json 'a b'",
        "options": {"seconds": 300.0, "json": "a b"},
        "dataset": {"uri": "folder:/data/train", "samples": 1281167,
                    "classes": 1000},
        "machine": {"cpus_online": 64, "cpus_allowed": 8, "cpu_quota": 8.0,
                    "memory_limit_bytes": 68719476736, "kernel": "6.1.0",
                    "cpu_model": "A Processor @ 2.60 GHz"},
        "config": {"batch_size": 256, "workers": 6, "depth": 14,
                   "reader": "uring", "dtype": "u8", "shuffle": True,
                   "pipeline": [{"op": "random_resized_crop", "width": 224}]},
        "run": {"warmup_batches": 3, "consumer_ms": 180.0,
                "batch_shape": [256, 3, 224, 224], "batches_per_epoch": 5005},
        "result": {"images": 355072, "batches": 1387, "seconds": 300.0,
                   "images_per_second": 1183.573333, "cpu_seconds": 1902.25,
                   "images_per_cpu_second": 186.658956,
                   "first_batch_seconds": 0.31875, "max_rss_bytes": 2147483648,
                   "failed_samples": 1, "stream_hash": None},
        "stall": {"host_fraction": wait / 300.0, "device_fraction": 0.1134567,
                  "wait_seconds": wait, "waits": 801, "buckets": buckets,
                  "residual_fraction": 0.0,
                  "prep": {"cpu_seconds": 15.5, "runq_seconds": 1.25,
                           "throttle_seconds": 0.3, "sleep_seconds": 0.0}},
        "stats": {"workers": 6, "wall_seconds": 300.0, "wait_seconds": wait,
                  "user_seconds": 299.6 - wait, "api_seconds": 0.4},
        "stages": [stage("read", 355328, 39086080000, 312.5, 610.0),
                   stage("decode", 355328, 53526659072, 1402.125, 3300.0),
                   stage("augment", 355328, 53526659072, 380.5, 940.0),
                   stage("jitter&co", 355328, 53526659072, 99.0, 210.0),
                   stage("transfer", 1387, 53526659072, 40.0, 1900.0),
                   stage("consume", 1387, 53526659072, 250.0, 180000.0)],
        "transfer": {"finish": "device", "finish_reason": "u8 on the wire",
                     "batches": 1387, "copies": 1387,
                     "copied_bytes": 53526659072, "queue_seconds": 3.5,
                     "copy_seconds": 2.25, "overlap_fraction": 0.96,
                     "finish_seconds": 0.5, "gigabytes_per_second": 23.75,
                     "ceiling_gigabytes_per_second": 25.5, "latency_us": 9.5,
                     "regime": "bandwidth", "pinned_bytes": 616562688,
                     "device_bytes": 616562688, "steps": 1387,
                     "span_seconds": 299.5, "idle_seconds": 33.98},
        "workers": {"threads": 8, "wall_seconds": 2400.0,
                    "cpu_seconds": 1702.5, "runq_seconds": 71.0,
                    "throttle_seconds": 12.0, "sleep_seconds": 9.5,
                    "read_seconds": 0.0, "blocked_seconds": 55.0,
                    "starved_seconds": 150.0, "parked_seconds": 400.0,
                    "residual_seconds": 0.0, "voluntary_switches": 91234,
                    "involuntary_switches": 4321},
        "tuner": {"mode": "auto", "workers": 6, "depth": 14, "io_depth": 24,
                  "converged_batch": 412, "decisions": [
                      {"seconds": 37.5, "batch": 120, "workers": "2 -> 4",
                       "reason": "planned: 4.1 workers' worth of decoding"},
                      {"seconds": 100.0, "batch": 400, "workers": "4 -> 7",
                       "reason": "trial better by 9.1 %"},
                      {"seconds": 225.0, "batch": 1000, "workers": "7 -> 6",
                       "reason": "equal, with fewer"}]},
        "verdict": found[0], "verdicts": found[1:],
        "headroom": {"batches_per_second": 4.62, "fed": 0.127,
                     "two_workers": 0.02, "storage": 0.011, "transfer": 0.004,
                     "stages": {"read": 21.5, "decode": 4.7, "augment": 17.0}},
        "phases": [phase("forward", 1387, 92.0, 0.125),
                   phase("backward", 1387, 131.5, 0.25),
                   phase("log <b>", 13, 3.25, 0.5),
                   phase("(other)", 0, 41.8, 0.0)],
        "gaps": {"count": 13, "period": 100, "total_seconds": 6.5,
                 "longest_seconds": 0.75, "median_seconds": 0.185,
                 "stall_period": 120, "stall_strength": 0.61},
        "slow_samples": slow_samples(),
        "outliers": outliers(),
        "signals": {"quota_cores": 8.0, "throttled_fraction": 0.004,
                    "psi_cpu_some": 0.061, "host_busy": 0.31,
                    "gpu": {"name": "A GPU", "utilization": 0.87,
                            "memory_used_bytes": 41000000000,
                            "power_watts": 412.5}},
        "timeline": points,
        "failures": [{"path": "/data/train/broken.jpg", "status": "EDECODE",
                      "reason": "not a JPEG file: starts with \"<html>\"",
                      "epoch": 0, "sample_index": 99}],
        "interrupted": False,
    })


def sweep():
    grid = [{"workers": w, "depth": d,
             "images_per_second": 200.0 * min(w, 6) * (1 - 1 / (d + 1)) + 3 * d,
             "host_fraction": max(0.0, 0.9 - 0.1 * min(w, 6) - 0.02 * d)}
            for w in (1, 2, 3, 4, 6, 8, 12, 16) for d in (1, 2, 4, 8, 16)]
    return rounded({"schema_version": 1, "command": "sweep",
                    "version": "0.1.0",
                    "dataset": {"uri": "folder:/data/train", "samples": 1000},
                    "grid": grid, "knee": {"workers": 6, "depth": 8}})


def change(i, knob, before, after, outcome, measured):
    judged = outcome in ("kept", "rolled_back")
    return {"id": i, "seconds": 1.25 + 2.5 * i, "batch": 40 + 80 * i,
            "knob": knob, "before": before, "after": after,
            "reason": "plan_up", "why": "the model asks for <b>%d</b>" % after,
            "predicted": 0.375 if judged else None,
            "measured": measured, "error": 0.0125 if judged else None,
            "stall_before": 0.25, "stall_after": 0.0625 if judged else None,
            "outcome": outcome}


def tune():
    """The document of a tuning that was compared with a sweep."""
    doc = document()
    grid = sweep()
    doc.update({
        "command": "tune",
        "tuner": {"mode": "auto", "state": "hold", "workers": 6, "depth": 14,
                  "io_depth": 24, "converged_batch": 412,
                  "converged_seconds": 37.5, "decisions": [
                      change(0, "workers", 2, 5, "kept", 0.3333333),
                      change(1, "workers", 5, 6, "rolled_back", -0.015625),
                      change(2, "io_depth", 16, 24, "rule", None)]},
        "tune": {"ended": "settled", "profile": None,
                 "steady": {"seconds": 5.125, "images_per_second": 1201.0625,
                            "images_per_cpu_second": 190.53125},
                 "story": ["It began with 2 workers & <b>4</b> batches ahead.",
                           "- After 1.2 s, batch 40: workers 2 -> 5.",
                           "- After 3.8 s, batch 120: workers 5 -> 6.",
                           "Now: 6 workers."]},
        "grid": grid["grid"], "rounds": 3, "knee": grid["grid"][22],
        "rule": {"words": "the fewest workers < all", "tolerance": 0.03,
                 "target": None, "fed": False},
        "sweep_best": dict(grid["grid"][39], images_per_cpu_second=180.25),
        "comparison": {
            "tuned": dict(grid["grid"][24], images_per_cpu_second=191.75),
            "below_fraction": 0.01171875, "error_fraction": 0.0234375,
            "cpu_seconds_per_image": 0.005, "best_cpu_seconds_per_image":
            0.006}})
    return rounded(doc)
