#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check_subproject.sh SOURCE: builds feedline inside another project, as
# FetchContent and add_subdirectory do, and runs examples/minimal there with the
# shared and with the static library. The other project has tests and installs
# something, and neither may pull in ours.
set -euo pipefail

if [[ $# -ne 1 ]]; then
    echo "usage: check_subproject.sh SOURCE" >&2
    exit 2
fi
source=$(cd "$1" && pwd)

fail() {
    echo "check_subproject.sh: $*" >&2
    exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

quietly() {
    "$@" > log 2>&1 || {
        tail -n 40 log >&2
        fail "$*"
    }
}

# project HOW: a project that has feedline by the CMake commands on stdin.
project() {
    mkdir "$1"
    cp "$source/examples/minimal.c" "$1"
    {
        echo 'cmake_minimum_required(VERSION 3.22)'
        echo 'project(trainer LANGUAGES C)'
        echo 'include(CTest)'
        cat
        echo 'add_executable(shared minimal.c)'
        echo 'target_link_libraries(shared PRIVATE feedline::feedline)'
        echo 'add_executable(static minimal.c)'
        echo 'target_link_libraries(static PRIVATE feedline::feedline_static)'
        echo 'install(TARGETS static)'
    } > "$1/CMakeLists.txt"
    # Debug compiles in half the time.
    quietly cmake -G Ninja -S "$1" -B "$1/build" -DCMAKE_BUILD_TYPE=Debug
    grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Debug$' "$1/build/CMakeCache.txt" ||
        fail "$1: the project's build type was changed"
}

project fetched << END
include(FetchContent)
FetchContent_Declare(feedline SOURCE_DIR "$source")
FetchContent_MakeAvailable(feedline)
END
project subdirectory << END
add_subdirectory("$source" feedline)
END
echo "configured by FetchContent and by add_subdirectory: ok"

quietly cmake --build fetched/build -j "$(nproc)"
for library in shared static; do
    status=0
    "fetched/build/$library" "$work/nowhere" 2> error || status=$?
    [[ $status -eq 1 ]] || fail "$library with a bad folder: status $status"
    grep -q "nowhere: no such file or folder" error ||
        fail "$library says: $(cat error)"
    echo "built and run, $library: ok"
done

made=$(find fetched/build -type f -perm -u+x -not -name '*.so*' \
    -not -path '*/CMakeFiles/*' -printf '%f\n' | sort | xargs)
[[ $made == "feedline-decode shared static" ]] || fail "more programs were built: $made"
tests=$(cd fetched/build && ctest -N | sed -n 's/^Total Tests: //p')
[[ $tests -eq 0 ]] || fail "the project has $tests tests of feedline"
quietly cmake --install fetched/build --prefix "$work/prefix"
installed=$(cd prefix && find . -type f)
[[ $installed == ./bin/static ]] || fail "more was installed: $installed"
echo "nothing else was built, tested or installed: ok"
