# SPDX-License-Identifier: Apache-2.0
"""What this machine is, and what its Python has."""
import os
import platform
import subprocess

# What is found is told first: importing may take long, or fail.
_PROBE = """
import importlib, importlib.util
names = ("torch", "torchvision", "PIL")
for name in names:
    if importlib.util.find_spec(name):
        print(name, "found", flush=True)
for name in names:
    try:
        version = importlib.import_module(name).__version__
    except Exception:
        version = ""
    print(name, version, flush=True)
"""


def probe(python, log, env):
    """Begins to ask an interpreter for its packages. It runs beside the build,
    and the first import of torch from a cold disk with it."""
    with open(log, "wb") as out:
        return subprocess.Popen([python, "-c", _PROBE], stdout=out,
                                stderr=subprocess.DEVNULL, env=env)


def packages(started, log, limit_s):
    """Versions by name: "found" of what takes long to import, none of what is
    not there or cannot be imported."""
    try:
        started.wait(limit_s)
    except subprocess.TimeoutExpired:
        started.kill()
    with open(log, encoding="utf-8", errors="replace") as f:
        told = dict(line.rstrip("\n").split(" ", 1) for line in f)
    return {name: version for name, version in told.items() if version}


def _of(command):
    """The lines a command prints, if it is there and answers."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=5, text=True,
                              check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.rstrip().splitlines()


def _first(path, key):
    try:
        with open(path, encoding="utf-8") as f:
            return next(line.split(":", 1)[1].strip() for line in f
                        if line.startswith(key))
    except (OSError, StopIteration):
        return "not known"


def hardware():
    """Lines for the page."""
    lines = ["%s %s" % (platform.system(), platform.release()),
             "%s, %d cores, memory %s" % (
                 _first("/proc/cpuinfo", "model name"),
                 len(os.sched_getaffinity(0)),
                 _first("/proc/meminfo", "MemTotal"))]
    lines += _of(["nvidia-smi", "--format=csv,noheader", "--query-gpu=name,"
                  "driver_version,memory.total,pcie.link.gen.current,"
                  "pcie.link.width.current"])
    return lines + _of(["nvidia-smi", "topo", "-m"])
