# SPDX-License-Identifier: Apache-2.0
"""The doctor: its document, its words, its exit status; with and without a GPU.

What it finds on this machine cannot be known, but for what a test brings about
itself: limits, environment variables, a GPU that is not there or in trouble.
"""
import json
import os
import resource
import subprocess

from support import (TOOL, contains, equal, expect, fits, json_of, main,
                     on_double, skip, tool)

DOUBLE = os.environ.get("LOADERBENCH_DOUBLE", "")
LEVELS = ["error", "warning", "note", "ok"]


def document(*arguments, env=None, rc=0):
    return json_of("doctor", *arguments, env=env, rc=rc)


def finding(doc, name):
    found = [f for f in doc["findings"] if f["id"] == name]
    if len(found) != 1:
        raise AssertionError("%d findings '%s'" % (len(found), name))
    return found[0]


def on_gpu(tmp, says="", costs="devices=1"):
    """A GPU that is a double, and what its NVML says."""
    path = os.path.join(tmp, "nvml")
    with open(path, "w") as f:
        f.write(says)
    return on_double(costs, path)


def case_document(tmp):
    doc = document("--device", "host")
    equal(doc["schema_version"], 1)
    equal(doc["command"], "doctor")
    contains(doc, "version")
    equal(sorted(doc), ["command", "command_line", "date", "facts", "findings",
                        "host", "options", "schema_version", "version"])
    names = [f["id"] for f in doc["findings"]]
    equal(len(names), len(set(names)), "each thing is looked at once")
    for f in doc["findings"]:
        equal(sorted(f), ["id", "level", "remedy", "text"])
        contains(LEVELS, f["level"])
        equal(f["remedy"] == "", f["level"] == "ok", f["id"])
        if not f["text"]:
            raise AssertionError(f["id"])
    for name in ("cpu_quota", "affinity", "memory", "io_uring", "open_files"):
        finding(doc, name)
    equal(doc["facts"]["gpu"], None)
    equal([n for n in names if n.startswith("gpu")], [])
    if doc["facts"]["machine"]["cpus_allowed"] < 1:
        raise AssertionError(doc["facts"])


def case_words(tmp):
    path = os.path.join(tmp, "doctor.json")
    done = expect(tool("doctor", "--device", "host", "--json", path,
                       env={"OMP_NUM_THREADS": "4096"}), 0)
    with open(path) as f:
        doc = json.load(f)
    lines = done.out.splitlines()
    counts = {level: len([f for f in doc["findings"] if f["level"] == level])
              for level in LEVELS}
    contains(lines[-1], "%d ok" % counts["ok"])
    contains(lines[-1], "%d warning" % counts["warning"])
    heads = [line.split()[0] for line in lines[:-1]
             if line and not line.startswith(" ")]
    equal(heads, [level for level in LEVELS for _ in range(counts[level])],
          "the worst comes first")
    flat = " ".join(done.out.split())
    for f in doc["findings"]:
        contains(flat, " ".join(f["text"].split()))
        contains(flat, " ".join(f["remedy"].split()))
    fits(done.out)
    equal(tool("doctor", "--device", "host", "--quiet").out, "")


def case_environment(tmp):
    doc = document("--device", "host", env={"OMP_NUM_THREADS": "4096"})
    equal(doc["facts"]["omp_num_threads"], 4096)
    equal(finding(doc, "math_threads")["level"], "warning")
    contains(finding(doc, "math_threads")["text"], "4096")
    doc = document("--device", "host", env={"OMP_NUM_THREADS": "1",
                                            "LOCAL_WORLD_SIZE": "4096"})
    equal(finding(doc, "ranks")["level"], "warning")
    equal(finding(doc, "math_threads")["level"], "warning")
    doc = document("--device", "host", env={"OMP_NUM_THREADS": "1",
                                            "MKL_NUM_THREADS": "1"})
    equal(finding(doc, "math_threads")["level"], "ok")
    doc = document("--device", "host", env={"FDL_CPU_MASK": "c"})
    equal(finding(doc, "simd")["level"], "warning")


def started_after(prepare):
    """The document of a process that did that to itself first."""
    clean = {k: v for k, v in os.environ.items()
             if not k.startswith("FEEDLINE_")}
    return json.loads(subprocess.check_output(
        [TOOL, "doctor", "--device", "host", "--json", "-"], env=clean,
        preexec_fn=prepare))


def case_limits(tmp):
    doc = started_after(lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                   (100, 100)))
    equal(doc["facts"]["open_files"], 100)
    equal(finding(doc, "open_files")["level"], "warning")


def case_affinity(tmp):
    if len(os.sched_getaffinity(0)) < 2:
        skip("one core")

    doc = started_after(lambda: os.sched_setaffinity(
        0, [min(os.sched_getaffinity(0))]))
    equal(doc["facts"]["machine"]["cpus_allowed"], 1)
    equal(finding(doc, "affinity")["level"], "warning")


def case_mistakes(tmp):
    for part, arguments in (
            ("cuda:x", ("--device", "cuda:x")),
            ("tpu", ("--device", "tpu")),
            ("--devise", ("--devise", "host")),
            ("--json", ("--json",)),
            ("nonsense", ("nonsense",))):
        done = expect(tool("doctor", *arguments), 2, part)
        equal(done.out, "")
    done = tool("doctor", "--device", "host", "--json",
                os.path.join(tmp, "no", "such", "folder.json"))
    if done.rc == 0:
        raise AssertionError("written where no folder is")


def case_no_gpu(tmp):
    env = {"FEEDLINE_LIBCUDA": os.path.join(tmp, "libcuda.so.1")}
    doc = document("--device", "cuda:0", env=env, rc=4)
    found = finding(doc, "gpu")
    equal(found["level"], "error")
    if DOUBLE:
        contains(found["text"], "libcuda.so.1")
    equal(doc["facts"]["gpu"]["usable"], False)
    done = expect(tool("doctor", "--device", "cuda:0", env=env), 4)
    contains(done.out.splitlines()[0], "error")
    # Nobody asked for one.
    doc = document(env=env)
    equal(doc["facts"]["gpu"], None)


def case_gpu_that_is_not_there(tmp):
    doc = document("--device", "cuda:7", env=on_gpu(tmp), rc=4)
    contains(finding(doc, "gpu")["text"], "cuda:7")


def case_old_driver(tmp):
    env = on_gpu(tmp, "", "driver_version=10020")
    doc = document("--device", "cuda:0", env=env, rc=4)
    contains(finding(doc, "gpu")["text"], "driver is for CUDA 10.2")


def case_driver_by_its_name(tmp):
    """Without a variable, the driver is what the system has by that name."""
    env = on_double()
    os.symlink(env.pop("FEEDLINE_LIBCUDA"), os.path.join(tmp, "libcuda.so.1"))
    doc = document("--device", "cuda:0", env=dict(env, LD_LIBRARY_PATH=tmp))
    equal(doc["facts"]["gpu"]["usable"], True)
    equal(doc["facts"]["gpu"]["name"], "Double 0")


def case_gpu(tmp):
    doc = document(env=on_gpu(tmp, "temperature 71\npower 250000\n"))
    gpu = doc["facts"]["gpu"]
    equal(gpu["usable"], True)
    equal(gpu["nvml"], True)
    equal(gpu["driver"], "550.54.15")
    equal(gpu["temperature"], 71)
    equal(gpu["throttle"], "")
    for name in ("gpu", "nvml", "gpu_clocks", "gpu_busy", "gpu_memory"):
        equal(finding(doc, name)["level"], "ok", name)
    equal(finding(doc, "cuda_versions")["level"], "ok")


def case_gpu_in_trouble(tmp):
    says = "utilization 90\nreasons 64\nmemory_used 16000000000\n"
    doc = document("--device", "cuda:0", env=on_gpu(tmp, says))
    for name in ("gpu_clocks", "gpu_busy", "gpu_memory"):
        equal(finding(doc, name)["level"], "warning", name)
    equal(doc["facts"]["gpu"]["throttle"], "thermal")


def case_nvml_fails(tmp):
    env = on_gpu(tmp, "fail_nvmlInit_v2 9\n")
    doc = document("--device", "cuda:0", env=env)
    equal(finding(doc, "nvml")["level"], "note")
    contains(finding(doc, "nvml")["text"], "Driver Not Loaded")
    equal([f for f in doc["findings"] if f["id"] == "gpu_busy"], [])
    doc = document("--device", "cuda:0", env=on_gpu(tmp, "lost_after 3\n"))
    contains(finding(doc, "nvml")["text"], "no question")
    env["FEEDLINE_NVML"] = os.path.join(tmp, "none.so")
    doc = document("--device", "cuda:0", env=env)
    contains(finding(doc, "nvml")["text"], "none.so")


main(globals())
