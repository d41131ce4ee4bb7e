# SPDX-License-Identifier: Apache-2.0
"""What a process has, looked at from outside: memory in KiB, descriptors and
threads."""
import csv
import os
import threading
import time

FIELDS = ("seconds", "round", "rss", "pss", "size", "data", "descriptors",
          "threads")


def numbers_in(path, names):
    found = {}
    with open(path) as f:
        for line in f:
            name, _, rest = line.partition(":")
            if name in names:
                found[name] = int(rest.split()[0])
    return found


def look(pid):
    proc = "/proc/%d/" % pid
    status = numbers_in(proc + "status",
                        ("VmRSS", "VmSize", "VmData", "Threads"))
    rollup = numbers_in(proc + "smaps_rollup", ("Pss",))
    return {"rss": status["VmRSS"], "pss": rollup["Pss"],
            "size": status["VmSize"], "data": status["VmData"],
            "threads": status["Threads"],
            "descriptors": len(os.listdir(proc + "fd"))}


class Looks(threading.Thread):
    """A look each second, into a file and `rows`, until the process ends or
    stop() is called. `round` is whatever the program says."""

    def __init__(self, pid, path, every=1.0):
        super().__init__(daemon=True)
        self.pid, self.path, self.every = pid, path, every
        self.rows, self.round = [], 0
        self.stopped = threading.Event()

    def run(self):
        began = time.monotonic()
        with open(self.path, "w", newline="") as f:
            out = csv.DictWriter(f, FIELDS)
            out.writeheader()
            while not self.stopped.wait(self.every):
                try:
                    row = look(self.pid)
                except (FileNotFoundError, ProcessLookupError, KeyError):
                    return  # it has ended
                row["seconds"] = round(time.monotonic() - began, 2)
                row["round"] = self.round
                out.writerow(row)
                f.flush()
                self.rows.append(row)

    def stop(self):
        self.stopped.set()
        self.join()
