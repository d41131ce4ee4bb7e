# SPDX-License-Identifier: Apache-2.0
"""Programs are built against an installed feedline, or with its source, as
users build them, and run: by pkg-config, CMake and Meson, in C and in C++.

Nothing outside of the installed tree is known to those that use it: it is
moved after it was installed. CONSUMERS_INSTALLED names one that is there
already, such as /usr, in its place.
"""
import glob
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "loaderbench"))
from support import contains, equal, main, read  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
SOURCE = os.environ.get("CONSUMERS_SOURCE", ROOT)
BUILD = os.environ.get("CONSUMERS_BUILD", os.path.join(SOURCE, "build"))
INSTALLED = os.environ.get("CONSUMERS_INSTALLED", "")
TOOL = os.environ.get("LOADERBENCH", "")
CC, CXX = os.environ.get("CC", "cc"), os.environ.get("CXX", "c++")
STRICT = ["-Wall", "-Wextra", "-Werror"]


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            skip("%s is not installed" % tool)


def run(*command, where=None, env=None):
    """What it printed; a failure shows both streams."""
    done = subprocess.run([str(c) for c in command], cwd=where, text=True,
                          env=dict(os.environ, **(env or {})), check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise AssertionError("%s: exit status %d\n%s" % (
            " ".join(map(str, command)), done.returncode, done.stdout))
    return done.stdout


class Installed:
    """The build, installed in a folder that is then moved; or what is there."""

    def __init__(self, tmp):
        self.prefix = INSTALLED or self.moved(tmp)
        found = glob.glob(self.prefix + "/lib/**/feedline.pc", recursive=True)
        self.pkgconfig = os.path.dirname(found[0])
        self.env = {"PKG_CONFIG_PATH": self.pkgconfig}
        self.found = {"LD_LIBRARY_PATH": os.path.dirname(self.pkgconfig)}

    @staticmethod
    def moved(tmp):
        first, second = os.path.join(tmp, "first"), os.path.join(tmp, "prefix")
        run("cmake", "--install", BUILD, "--prefix", first)
        os.rename(first, second)
        return second

    def flags(self, *arguments):
        return run("pkg-config", *arguments, "feedline", env=self.env).split()


def project(tmp, name):
    """A copy of one of the projects here, with its program."""
    folder = os.path.join(tmp, name)
    shutil.copytree(os.path.join(HERE, name), folder)
    shutil.copy(os.path.join(SOURCE, "examples", "minimal.c"), folder)
    return folder


def images(tmp):
    """A folder of them, or None where there is no tool to make any."""
    folder = os.path.join(tmp, "images")
    if not os.path.isdir(folder):
        if not os.path.exists(TOOL):
            return None
        run(TOOL, "gen", folder, "--images", 12, "--classes", 3, "--quiet")
    return folder


def runs(tmp, program, env=None):
    """It says what is wrong with a folder, and what is in a good one."""
    env = dict(os.environ, **(env or {}))
    bad = subprocess.run([program, os.path.join(tmp, "nowhere")], env=env,
                         text=True, check=False, stderr=subprocess.PIPE)
    equal(bad.returncode, 1, bad.stderr)
    contains(bad.stderr, "nowhere: no such file or folder")
    folder = images(tmp)
    if folder is None:
        print("loaderbench is not built: run without images")
        return
    out = run(program, folder, env=env)
    contains(out, "\nclass_002: mean ")
    contains(out, "images/s, waited")


def compiled(tmp, name, command, flags):
    program = os.path.join(tmp, name)
    run(*command, *flags, "-o", program)
    return program


# ---- Installed ---------------------------------------------------------------

def case_pkg_config(tmp):
    need("pkg-config", CC)
    feedline = Installed(tmp)
    source = os.path.join(project(tmp, "cmake"), "minimal.c")
    program = compiled(tmp, "shared", [CC, "-std=c11", *STRICT, source],
                       feedline.flags("--cflags", "--libs"))
    runs(tmp, program, feedline.found)


def case_pkg_config_static(tmp):
    """A whole program without any shared library: nothing is missing in the
    list. Distributions need not have static ones."""
    need("pkg-config", CC)
    for archive in ("libjpeg.a", "libc.a"):
        if not os.path.isabs(run(CC, "-print-file-name=" + archive).strip()):
            skip("there is no " + archive)
    feedline = Installed(tmp)
    source = os.path.join(project(tmp, "cmake"), "minimal.c")
    program = compiled(tmp, "static", [CC, "-std=c11", "-static", source],
                       feedline.flags("--static", "--cflags", "--libs"))
    runs(tmp, program)


def case_cpp(tmp):
    need("pkg-config", CXX)
    feedline = Installed(tmp)
    source = os.path.join(HERE, "consumer.cpp")
    program = compiled(tmp, "cpp",
                       [CXX, "-std=c++11", "-Wpedantic", *STRICT, source],
                       feedline.flags("--cflags", "--libs"))
    version = run("pkg-config", "--modversion", "feedline",
                  env=feedline.env).strip()
    equal(run(program, env=feedline.found),
          "feedline %s, header %s\n" % (version, version))


def by_cmake(tmp, folder, *arguments):
    build = os.path.join(folder, "build")
    make = [] if shutil.which("make") else ["-G", "Ninja"]
    run("cmake", "-S", folder, "-B", build, *make, *arguments)
    run("cmake", "--build", build, "-j", os.cpu_count())
    return build


def case_cmake(tmp):
    folder, prefix = project(tmp, "cmake"), Installed(tmp).prefix
    build = by_cmake(tmp, folder, "-DCMAKE_PREFIX_PATH=" + prefix)
    runs(tmp, os.path.join(build, "minimal"))


def case_cmake_static(tmp):
    folder, prefix = project(tmp, "cmake"), Installed(tmp).prefix
    build = by_cmake(tmp, folder, "-DCMAKE_PREFIX_PATH=" + prefix,
                     "-DSTATIC=ON")
    runs(tmp, os.path.join(build, "minimal"))


def case_meson(tmp):
    need("meson", "ninja", "pkg-config")
    feedline, folder = Installed(tmp), project(tmp, "meson")
    build = os.path.join(folder, "build")
    run("meson", "setup", build, folder, "--pkg-config-path",
        feedline.pkgconfig)
    run("ninja", "-C", build)
    runs(tmp, os.path.join(build, "minimal"), feedline.found)
    whole = os.path.join(build, "whole")
    if not os.path.exists(whole):
        print("not checked with the static library: Meson found none")
        return
    runs(tmp, whole)


def case_newer_is_refused(tmp):
    feedline = Installed(tmp)
    folder = os.path.join(tmp, "newer")
    os.mkdir(folder)
    with open(os.path.join(folder, "CMakeLists.txt"), "w",
              encoding="ascii") as f:
        f.write("cmake_minimum_required(VERSION 3.16)\n"
                "project(newer LANGUAGES NONE)\n"
                "find_package(feedline 99.0 CONFIG REQUIRED)\n")
    done = subprocess.run(
        ["cmake", "-G", "Ninja", "-S", folder,
         "-B", os.path.join(folder, "build"),
         "-DCMAKE_PREFIX_PATH=" + feedline.prefix], check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode != 0, done.stdout
    contains(done.stdout, "99.0")
    if shutil.which("pkg-config"):
        done = subprocess.run(["pkg-config", "--exists", "feedline >= 99"],
                              env=dict(os.environ, **feedline.env),
                              check=False)
        assert done.returncode != 0


# ---- Its source --------------------------------------------------------------

def configured(tmp, name):
    """Debug compiles in half the time."""
    folder = project(tmp, name)
    build = os.path.join(folder, "build")
    run("cmake", "-G", "Ninja", "-S", folder, "-B", build,
        "-DCMAKE_BUILD_TYPE=Debug", "-DFEEDLINE_SOURCE=" + SOURCE)
    contains(read(os.path.join(build, "CMakeCache.txt")),
             "CMAKE_BUILD_TYPE:STRING=Debug\n")
    return build


def case_subdirectory(tmp):
    """Configured: what it would build is what `fetched` builds."""
    need("ninja")
    configured(tmp, "subdirectory")


def programs_of(build):
    found = [os.path.join(where, name) for where, _, names in os.walk(build)
             for name in names if "CMakeFiles" not in where]
    return sorted(os.path.basename(path) for path in found
                  if os.access(path, os.X_OK) and ".so" not in path)


def case_fetched(tmp):
    """With both libraries; nothing of ours is built, tested or installed but
    what the project asked for."""
    need("ninja")
    build = configured(tmp, "fetched")
    run("cmake", "--build", build, "-j", os.cpu_count())
    for name in ("shared", "static"):
        runs(tmp, os.path.join(build, name))
    equal(programs_of(build), ["feedline-decode", "shared", "static"])
    contains(run("ctest", "-N", where=build), "Total Tests: 0\n")
    prefix = os.path.join(tmp, "prefix")
    run("cmake", "--install", build, "--prefix", prefix)
    equal([os.path.join(where, name) for where, _, names in os.walk(prefix)
           for name in names], [os.path.join(prefix, "bin", "static")])


if __name__ == "__main__":
    main(globals())
