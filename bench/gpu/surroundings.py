# SPDX-License-Identifier: Apache-2.0
"""What this machine is, and what its Python has."""
import os
import platform
import subprocess

_PROBE = """
import importlib
for name in ("torch", "torchvision", "PIL"):
    try:
        print(name, importlib.import_module(name).__version__)
    except Exception:
        pass
"""


def probe(python, env):
    """Begins to ask an interpreter for its packages. It runs beside the build,
    and the first import of torch from a cold disk with it."""
    return subprocess.Popen([python, "-c", _PROBE], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, env=env, text=True)


def packages(started, limit_s):
    """Versions by name; none of an interpreter that gives no answer."""
    try:
        text = started.communicate(timeout=limit_s)[0]
    except subprocess.TimeoutExpired:
        started.kill()
        return {}
    return dict(line.split(" ", 1) for line in text.splitlines())


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
