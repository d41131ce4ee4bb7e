# SPDX-License-Identifier: Apache-2.0
"""Builds what the steps need, and packs it for machines that cannot.

The library is required. Whatever else this machine has the packages for is
built beside it, and the steps that miss something are skipped by name.
"""
import os
import re
import shutil
import subprocess
import time

from run_step import last_line, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
LIBRARY = "libfeedline.so"
TOOL = "tools/loaderbench/loaderbench"
TESTS = tuple("tests/loader/test_device_" + name
              for name in ("batches", "exchange", "order"))
EXAMPLE = "examples/train_cuda"
DOUBLE = "tests/transfer/libcuda_double.so"
# Every Linux has them, maybe newer ones, which others there need.
EVERYWHERE = re.compile(r"(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)|ld-linux.*|"
                        r"linux-vdso)\.so")


def _has(package):
    found = subprocess.run(["pkg-config", "--exists", package],
                           stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False)
    return found.returncode == 0


def _choices(rehearsal):
    """Options for cmake by what is installed, and the targets they give."""
    tests, tools = _has("cmocka") and _has("jansson"), _has("jansson")
    nvcc = shutil.which("nvcc") is not None and not rehearsal
    options = {
        "BUILD_TESTING": tests, "FEEDLINE_TOOLS": tools,
        "FEEDLINE_EXAMPLES": nvcc or rehearsal,
        "FEEDLINE_CUDA_EXAMPLES": nvcc,
        "CMAKE_BUILD_RPATH_USE_ORIGIN": True,  # so that it can be moved
    }
    targets = ["loaderbench"] * tools
    targets += [os.path.basename(test) for test in TESTS] * tests
    targets += ["cuda_double"] * tests
    targets += ["train_cuda"] * options["FEEDLINE_EXAMPLES"]
    defines = ["-D%s=%s" % (name, "ON" if on else "OFF")
               for name, on in options.items()]
    if nvcc and os.path.exists("/dev/nvidiactl"):
        # For this GPU alone: code for all of them takes a minute.
        defines.append("-DCMAKE_CUDA_ARCHITECTURES=native")
    return defines + ["-DFEEDLINE_STATIC_DEPENDENCIES=AUTO"], targets


def build(folder, log, limit_s, rehearsal):
    """Why there is no library; None if there is one."""
    missing = [p for p in ("cmake", "cc", "pkg-config") if not shutil.which(p)]
    if missing:
        return "%s not installed; docs/building.md lists what a build needs" % (
            " and ".join(missing))
    defines, targets = _choices(rehearsal)
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    if os.path.exists(os.path.join(folder, "CMakeCache.txt")):
        generator = []
    make = ["cmake", "--build", folder, "-j", str(os.cpu_count()), "--target"]
    end = time.monotonic() + limit_s
    for name, command in (
            ("configure", ["cmake", "-S", ROOT, "-B", folder, *generator,
                           *defines]),
            ("library", make + ["feedline"])):
        output = "%s-%s.log" % (log, name)
        status = run(command, max(1, end - time.monotonic()), output)
        if status != 0:
            return "%s: %s (all of it is in %s)" % (
                "the build is not done within %d s" % limit_s if status is None
                else "the build ends with status %d" % status,
                last_line(output), output)
    # A target that cannot be built must not keep the others from it.
    ninja = os.path.exists(os.path.join(folder, "build.ninja"))
    if targets:
        run(make + targets + ["--", "-k"] + ["0"] * ninja,
            max(1, end - time.monotonic()), log + "-rest.log")
    return None


# ---- For another machine ----------------------------------------------------


def _libraries(program):
    """Shared libraries that a program needs, by name."""
    found = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True,
                           check=False).stdout
    return {name: path for name, path in
            re.findall(r"^\s*(\S+) => (/\S+)", found, re.M)
            if not EVERYWHERE.match(name)}


def pack(folder, to):
    """Copies what the steps use of a build, and the libraries it needs in
    TO/lib: such a folder is a build for --built. Returns its size in bytes."""
    size = 0

    def copy(source, name):
        target = os.path.join(to, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(source, target)
        if shutil.which("strip"):  # most of it is for debuggers
            subprocess.run(["strip", "--strip-debug", target], check=False)
        return os.path.getsize(target)

    for name in (LIBRARY, TOOL, *TESTS, EXAMPLE, DOUBLE):
        source = os.path.join(folder, name)
        if not os.path.exists(source):
            continue
        size += copy(source, name)
        for library, path in _libraries(source).items():
            size += copy(path, os.path.join("lib", library))
    return size
