# SPDX-License-Identifier: Apache-2.0
"""The C tests of device batches, on the GPU: what `ctest -L gpu` runs, without
CTest, so that a build from another machine will do.

Each case is a process of its own. Their names are read from the sources, as
CMake does.
"""
import os
import re
import subprocess

import outcome

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
TESTS = ("device_batches", "device_exchange", "device_order")
REHEARSED = ("equals_host", "slot_is_not_reused_too_early")
CASE_LIMIT_S = 20
SKIPPED = 77


def cases(test):
    path = os.path.join(ROOT, "tests", "loader", "device", "test_%s.c" % test)
    with open(path, encoding="utf-8") as f:
        return re.findall(r"^TEST(?:_WITH)?\((\w+)", f.read(), re.M)


def run_case(program, case, limit, env):
    """"" if it passes, None if it skips itself, else what went wrong."""
    try:
        done = subprocess.run([program, case], env=env, timeout=limit,
                              stdout=subprocess.PIPE, text=True, check=False,
                              stderr=subprocess.STDOUT, errors="replace")
    except subprocess.TimeoutExpired:
        return "not done within %d s" % limit
    print(done.stdout, flush=True)
    if done.returncode == SKIPPED:
        return None
    return "" if done.returncode == 0 else "status %d" % done.returncode


def run(step):
    limit = CASE_LIMIT_S * (10 if step.rehearsal else 1)
    there = [test for test in TESTS if step.built("tests/loader/test_" + test)]
    if not there:
        outcome.skip("the tests were not built: they need cmocka")
    for test in there:
        passed, skipped, wrong = 0, 0, []
        for case in cases(test):
            if step.rehearsal and case not in REHEARSED:
                continue
            why = run_case(step.built("tests/loader/test_" + test), case, limit,
                           step.environment())
            passed += why == ""
            skipped += why is None
            if why:
                wrong.append("%s (%s)" % (case, why))
        if passed + skipped + len(wrong) == 0:
            continue
        step.truth("cases of test_%s" % test, "all pass",
                   "%d passed, %d skipped%s" % (
                       passed, skipped, "".join(", " + w for w in wrong)),
                   passed and not wrong)


if __name__ == "__main__":
    outcome.main(run)
