# SPDX-License-Identifier: Apache-2.0
"""loaderbench top --job beside ranks that wait for each other in every step,
one of which is slow: who it is, and whether its loader is why."""
import json
import os
import random
import subprocess
import time

from support import (TOOL, contains, equal, expect, generate, json_of, main,
                     tool)

RANKS = 3
ROUNDS = 10
SLOW_MS = 20
LIMIT = 60


class Job:
    """Ranks in processes of their own."""

    def __init__(self, *arguments, ranks=RANKS):
        self.process = subprocess.Popen(
            [os.environ["LOCKSTEP_RANKS"], str(ranks)]
            + [str(a) for a in arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def plant(self, rank, loader_ms=0, step_ms=0):
        print(rank, loader_ms, step_ms, file=self.process.stdin, flush=True)
        equal(self.process.stdout.readline(), "ok\n")
        # Until the pages, four times a second, have forgotten what was before.
        time.sleep(0.3)

    def wait_for_pages(self, ranks=RANKS):
        end = time.monotonic() + LIMIT
        while True:
            done = tool("top", self.pid, "--job", "--json", "-", "--interval",
                        "0.5")
            if done.rc == 0:
                ranks_now = json.loads(done.out)["ranks"]
                seen = [r for r in ranks_now if r["step_ms"]]
                if len(seen) == ranks:
                    return
            if time.monotonic() > end:
                raise AssertionError("no pages: %s %s" % (done.out, done.err))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(LIMIT)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


def look(*arguments):
    return json_of("top", *arguments, "--job")


def rounds():
    seed = random.randrange(1000000)
    print("seed %d" % seed)
    dice = random.Random(seed)
    return [dice.randrange(RANKS) for _ in range(ROUNDS)]


def case_the_loader_of_a_straggler(tmp):
    """Ten of ten."""
    with Job("unmarked") as job:
        job.wait_for_pages()
        for rank in rounds():
            job.plant(rank, loader_ms=SLOW_MS)
            found = look(job.pid, "--interval", "1")["straggler"]
            equal((found["rank"], found["loader_at_fault"]), (rank, True),
                  found["sentence"])
            contains(found["sentence"],
                     "Rank %d holds up the others: it waits for its loader"
                     % rank)


def case_not_the_loader_of_a_straggler(tmp):
    """Ten of ten, where the wait for the others is marked."""
    with Job("marked") as job:
        job.wait_for_pages()
        for rank in rounds():
            job.plant(rank, step_ms=SLOW_MS)
            found = look(job.pid, "--interval", "1")["straggler"]
            equal((found["rank"], found["loader_at_fault"]), (rank, False),
                  found["sentence"])
            contains(found["sentence"], "its loader is not the cause")


def case_not_any_loader(tmp):
    """Without marks all ranks look alike: no loader is accused."""
    with Job("unmarked") as job:
        job.wait_for_pages()
        job.plant(1, step_ms=SLOW_MS)
        found = look(job.pid, "--interval", "1")["straggler"]
        equal(found["loader_at_fault"] or False, False, found["sentence"])
        contains(found["sentence"], "its loader is not the cause")


def case_the_larger_of_two(tmp):
    """One rank waits for data, another one computes for longer than that."""
    with Job("marked") as job:
        job.wait_for_pages()
        job.plant(2, loader_ms=5, step_ms=2 * SLOW_MS)
        found = look(job.pid, "--interval", "1")["straggler"]
        equal((found["rank"], found["loader_at_fault"]), (2, False),
              found["sentence"])


def case_pictures(tmp):
    with Job("marked") as job:
        job.wait_for_pages()
        job.plant(0, loader_ms=SLOW_MS)
        done = tool("top", job.pid, "--job", "--once", "--interval", "0.6")
        expect(done, 0)
        # A rank stands for its job as well as the launcher.
        rank = look(job.pid, "--interval", "0.3")["ranks"][1]["pid"]
        equal(len(look(rank, "--interval", "0.3")["ranks"]), RANKS)
        for words in ("rank", "sync ms", "Rank 0 holds up the others"):
            contains(done.out, words)
        equal(len([line for line in done.out.splitlines()
                   if line.split()[:1] in (["0"], ["1"], ["2"])]), RANKS)


def case_logs_of_other_hosts(tmp):
    """As if from elsewhere: nothing but the logs."""
    log = os.path.join(tmp, "job.jsonl")
    with Job("marked", log) as job:
        job.wait_for_pages()
        job.plant(1, loader_ms=SLOW_MS)
        time.sleep(1)  # two lines since
    for path in (log, tmp):
        doc = look("--logs", path)
        equal([r["rank"] for r in doc["ranks"]], [0, 1, 2])
        equal(doc["absent"], [])
        equal(doc["faults"], [])
        found = doc["straggler"]
        equal((found["rank"], found["loader_at_fault"]), (1, True), str(found))


def case_a_launcher_names_the_rank(tmp):
    """A program that deals the samples itself, as torch's samplers do."""
    process = subprocess.Popen(
        [TOOL, "run", generate(tmp), "--seconds", "600", "--batch-size", "4",
         "--quiet"], stdout=subprocess.DEVNULL,
        env=dict(os.environ, RANK="1", WORLD_SIZE="3"))
    try:
        end = time.monotonic() + LIMIT
        while tool("top", process.pid, "--job", "--once", "--interval",
                   "0.1").rc:
            if time.monotonic() > end:
                raise AssertionError("no page")
        doc = look(process.pid, "--interval", "0.5")
    finally:
        process.kill()
        process.wait()
    equal([r["rank"] for r in doc["ranks"]], [1])
    equal((doc["world"], doc["absent"]), (3, [0, 2]))


def line(rank, pid, batches, wait, host="a", world=4, at=100.0):
    return ('{"time_unix":%s,"pid":%d,"rank":%d,"world":%d,"host":"%s",'
            '"stats":{"batches":%d,"samples":%d,"wall_seconds":%s,'
            '"wait_seconds":%s},"verdict":{"code":"READ_BOUND"}}\n'
            % (at + batches, pid, rank, world, host, batches, batches,
               batches, wait))


def case_what_is_wrong_with_ranks(tmp):
    log = os.path.join(tmp, "job.jsonl")
    with open(log, "w", encoding="utf-8") as file:
        for batches in (10, 20):
            file.write(line(0, 7, batches, 1))
            file.write(line(1, 8, batches, 1))
            file.write(line(1, 8, batches, 1, host="b"))
            file.write(line(3, 9, batches, 1, world=5))
        file.write('{"time_unix":1,"pid"')  # is being written
    doc = look("--logs", log)
    equal(doc["absent"], [2])
    equal(doc["faults"],
          ["rank 1 is there twice: process 8 on a, process 8 on b",
           "rank 1 says that there are 4 ranks, rank 3 says 5"])
    text = tool("top", "--job", "--once", "--logs", log).out
    contains(text, "Not seen here, of 4 ranks: 2")
    contains(text, "rank 1 is there twice")


def case_a_job_that_began_again(tmp):
    """The processes of the first start are not in the picture."""
    log = os.path.join(tmp, "job.jsonl")
    with open(log, "w", encoding="utf-8") as file:
        for start in (0, 1000):
            for batches in (10, 20):
                for rank in range(2):
                    file.write(line(rank, 7 + start + rank, batches,
                                    batches * 0.5 * rank, world=2,
                                    at=100.0 + start))
    doc = look("--logs", log)
    equal([r["pid"] for r in doc["ranks"]], [1007, 1008])
    equal(doc["faults"], [])
    equal(doc["straggler"]["rank"], 1)
    equal(doc["straggler"]["cause"], "READ_BOUND")


def case_mistakes(tmp):
    expect(tool("top", "--logs", tmp), 2, "needs --job")
    expect(tool("top", "--wait", "--job"), 2, "not --wait")
    expect(tool("top", os.getpid(), "--job"), 4, "several ranks")
    expect(tool("top", "--job", "--once", "--logs", tmp + "/none"), 2,
           "No such file")
    empty = os.path.join(tmp, "empty.jsonl")
    open(empty, "w", encoding="utf-8").close()
    expect(tool("top", "--job", "--once", "--logs", empty), 3, "stats_log")


if __name__ == "__main__":
    main(globals())
