# SPDX-License-Identifier: Apache-2.0
"""bench/gpu_check: a rehearsal to its end, and what becomes of steps that fail,
hang or cannot be run. FEEDLINE_BUILD names the build, which has the double."""
import json
import os
import re
import subprocess
import sys

from support import contains, equal, main

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
GPU = os.path.join(ROOT, "bench", "gpu")
sys.path.insert(0, GPU)
sys.dont_write_bytecode = True

import build_tree  # noqa: E402
import plan  # noqa: E402
import run_step  # noqa: E402

# Without torch, and quick.
CHEAP = ("load", "tests", "bus", "memory", "depth", "fork", "ranks")


def check(tmp, *arguments, env=None):
    """Runs it on this build; the process, and the page and document it left."""
    command = [sys.executable, "-B", os.path.join(ROOT, "bench", "gpu_check"),
               "--built", os.environ["FEEDLINE_BUILD"], "--work",
               os.path.join(tmp, "work"), "--out", tmp, *arguments]
    done = subprocess.run(command, env={**os.environ, **(env or {})},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    left = {}
    for name in os.listdir(tmp):
        if name.endswith((".md", ".json")):
            with open(os.path.join(tmp, name), encoding="utf-8") as f:
                left[os.path.splitext(name)[1]] = f.read()
    return done, left.get(".md", ""), json.loads(left.get(".json", "{}"))


def case_rehearsal_comes_to_its_end(tmp):
    done, page, document = check(tmp, "--rehearse", "--only", ",".join(CHEAP))
    equal(done.returncode, 0, done.stdout + done.stderr)
    outcomes = {s["name"]: s["outcome"] for s in document["steps"]}
    equal(sorted(outcomes), sorted(CHEAP))
    equal(set(outcomes.values()), {"passed"}, done.stdout)
    contains(page, "REHEARSAL")
    contains(page, "wrong images in")
    contains(done.stdout, "-rehearsal.md")


def case_step_that_fails_stops_no_other(tmp):
    """The double refuses to copy: the bus cannot be measured."""
    done, page, document = check(
        tmp, "--rehearse", "--only", "load,bus,fork",
        env={"CUDA_DOUBLE": "fail=cuMemHostAlloc:1:2"})
    equal(done.returncode, 1, done.stdout + done.stderr)
    equal([(s["name"], s["outcome"]) for s in document["steps"]],
          [("load", "passed"), ("bus", "failed"), ("fork", "passed")])
    contains(page, "cuMemHostAlloc fails with CUDA error 2")


def case_without_a_gpu_everything_is_skipped(tmp):
    done, page, document = check(
        tmp, "--rehearse", "--only", "load,bus,capture",
        env={"CUDA_DOUBLE": "no_device=1"})
    equal(done.returncode, 4, done.stdout + done.stderr)
    equal({s["outcome"] for s in document["steps"]}, {"skipped"})
    contains(page, "no GPU")


def case_without_torch_its_steps_are_skipped_by_name(tmp):
    os.mkdir(os.path.join(tmp, "site"))
    for name in ("torch", "torchvision"):
        with open(os.path.join(tmp, "site", name + ".py"), "w",
                  encoding="utf-8") as f:
            f.write("raise ImportError('not here')\n")
    done, _, document = check(
        tmp, "--rehearse", "--only", "capture",
        env={"PYTHONPATH": os.path.join(tmp, "site")})
    equal(done.returncode, 0, done.stdout + done.stderr)
    capture = document["steps"][-1]
    equal((capture["name"], capture["outcome"]), ("capture", "skipped"))
    contains(capture["why"], "no torch")


def case_wrong_arguments(tmp):
    for words, arguments in (("no step bsu", ("--only", "bus,bsu")),
                             ("no interpreter py", ("--python", "py"))):
        done, _, _ = check(tmp, *arguments)
        equal(done.returncode, 2)
        contains(done.stderr, words)


def hung_program(program, log):
    """What it printed before its time was up: more time where the machine is so
    slow that it had not begun to hang."""
    for limit in (2, 20, 200):
        equal(run_step.run([sys.executable, "-c", program], limit, log), None)
        with open(log, encoding="utf-8") as f:
            text = f.read()
        if "child" in text:
            break
    return text


def is_alive(pid):
    """Not gone, and no zombie of whoever adopted it."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def case_what_hangs_is_ended(tmp):
    """With its children, and with words about where it stood."""
    hang = ("import faulthandler, subprocess, sys, time\n"
            "faulthandler.enable()\n"
            "child = subprocess.Popen(['sleep', '1000'])\n"
            "print('child', child.pid, flush=True)\n"
            "def stand_still():\n"
            "    time.sleep(1000)\n"
            "stand_still()\n")
    text = hung_program(hang, os.path.join(tmp, "log"))
    contains(text, "stand_still")
    child = int(re.search(r"child (\d+)", text).group(1))
    while is_alive(child):  # it was killed, and goes when the system gets to it
        os.sched_yield()


def case_limits_fit_into_ten_minutes(_tmp):
    last_words = run_step.LAST_WORDS_S * len(plan.STEPS)
    whole = plan.BUILD_S + plan.PROBE_S + last_words + sum(
        step.limit_s for step in plan.STEPS)
    if whole >= plan.WHOLE_S:
        raise AssertionError("the steps may take %d s" % whole)


def case_every_step_has_its_script(_tmp):
    scripts = {name for name in os.listdir(GPU) if name.startswith("step_")}
    equal(scripts, {"step_%s.py" % step.name for step in plan.STEPS})
    for step in plan.STEPS:
        for need in step.needs:
            contains(plan.NEEDS, need)


def case_a_pack_holds_what_the_steps_use(tmp):
    build = os.environ["FEEDLINE_BUILD"]
    build_tree.pack(build, tmp)
    for name in (build_tree.LIBRARY, build_tree.TOOL):
        equal(os.path.exists(os.path.join(tmp, name)), True, name)
    libraries = os.listdir(os.path.join(tmp, "lib"))
    equal([n for n in libraries if n.startswith(("libc.", "ld-linux"))], [])


if __name__ == "__main__":
    main(globals())
