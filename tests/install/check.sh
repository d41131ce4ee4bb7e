#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check.sh SOURCE BUILD: installs BUILD into a folder that is then moved, and
# builds and runs programs against it: by pkg-config and by CMake, with the
# shared and with the static library, in C and in C++. Nothing outside of the
# installed tree is known to them.
set -euo pipefail

if [[ $# -ne 2 ]]; then
    echo "usage: check.sh SOURCE BUILD" >&2
    exit 2
fi
source=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
cc=${CC:-cc}
cxx=${CXX:-c++}
export CC=$cc CXX=$cxx
command -v make > /dev/null || export CMAKE_GENERATOR=Ninja

skip() {
    echo "skipped: $*"
    exit 77
}

fail() {
    echo "check.sh: $*" >&2
    exit 1
}

for tool in cmake pkg-config nm readelf python3 "$cc"; do
    command -v "$tool" > /dev/null || skip "$tool is not installed"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Moved after the installation: no file of it may name where it was.
cmake --install "$build" --prefix "$work/first" > "$work/install.log"
mv "$work/first" "$work/prefix"
prefix=$work/prefix
for file in bash-completion/completions/loaderbench \
    zsh/site-functions/_loaderbench fish/vendor_completions.d/loaderbench.fish \
    doc/feedline/docs/transfer.md; do
    [[ -s $prefix/share/$file ]] || fail "share/$file is not installed"
done
if grep -rIl -e "$work/first" -e "$build" -e "$source" "$prefix"; then
    fail "these files name the folders they were made in"
fi

pc=$(find "$prefix" -name feedline.pc)
[[ -n $pc ]] || fail "feedline.pc was not installed"
libdir=$(dirname "$(dirname "$pc")")
headers=("$source"/include/feedline/*.h)
for file in "${headers[@]/#"$source"/"$prefix"}" \
    "$libdir/libfeedline.so" "$libdir/libfeedline.a"; do
    [[ -f $file ]] || fail "$file was not installed"
done
[[ $(find "$prefix/include" -type f | wc -l) -eq ${#headers[@]} ]] ||
    fail "more than the public headers were installed"

# Nothing but the public functions leaves the library.
exported=$(nm -D --defined-only "$libdir/libfeedline.so" |
    awk '$2 != "A" && $3 !~ /^feedline_/ { print $3 }')
[[ -z $exported ]] || fail "exported, but not public: $exported"

# A variable of the build's configuration.
cached() {
    sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

# All that runs, whatever it is called, is hardened as the build wants it.
if [[ $(cached FEEDLINE_HARDENING) == ON ]]; then
    how=()
    [[ $(cached CMAKE_BUILD_TYPE) != Debug ]] || how=(--no-fortify)
    python3 "$source/tests/install/check_hardened" "${how[@]}" "$prefix" ||
        fail "something is not hardened"
fi

programs=("$libdir/libfeedline.so")
[[ ! -x $prefix/bin/loaderbench ]] || programs+=("$prefix/bin/loaderbench")
python3 "$source/tests/install/check_sbom" \
    "$prefix/share/doc/feedline/feedline.cdx.json" "${programs[@]}" ||
    fail "the bill of materials is wrong"

export PKG_CONFIG_PATH=$libdir/pkgconfig
version=$(pkg-config --modversion feedline)

# Images: the tool's own, or a folder of P6 files where it is not built. The
# tool finds the library without help.
unset LD_LIBRARY_PATH
images=$work/images
tool=$prefix/bin/loaderbench
if [[ -x $tool ]]; then
    "$tool" gen "$images" --images 12 --classes 3 --quiet
    # And the library finds the program that decodes apart.
    "$tool" run "$images" --epochs 1 --isolate=decode > "$work/out" ||
        fail "loaderbench run --isolate=decode: $(cat "$work/out")"
else
    echo "loaderbench is not built: the programs are run without images"
fi

export LD_LIBRARY_PATH=$libdir

# Runs a minimal with a folder that is not there, and with images.
run_minimal() {
    local program=$1 status=0
    "$program" "$work/nowhere" 2> "$work/error" || status=$?
    [[ $status -eq 1 ]] || fail "$program with a bad folder: status $status"
    grep -q "nowhere: no such file or folder" "$work/error" ||
        fail "$program says: $(cat "$work/error")"
    status=0
    "$program" 2> "$work/error" || status=$?
    [[ $status -eq 2 ]] || fail "$program without a folder: status $status"
    grep -q "^usage: minimal FOLDER" "$work/error" ||
        fail "$program without a folder says: $(cat "$work/error")"
    "$program" --help | grep -q "^usage: minimal FOLDER" ||
        fail "$program --help"
    [[ -d $images ]] || return 0
    "$program" "$images" > "$work/out"
    grep -q '^class_002: mean [+-]' "$work/out" ||
        fail "$program printed: $(cat "$work/out")"
    grep -q 'images/s, waited' "$work/out" ||
        fail "$program printed: $(cat "$work/out")"
}

flags() {
    local text
    text=$(pkg-config "$@" feedline)
    read -r -a flags <<< "$text"
}

# An installed program that finds the library by itself.
mkdir "$work/c"
cp "$source/examples/minimal.c" "$work/c"
cd "$work"

flags --cflags --libs
"$cc" -std=c11 -Wall -Wextra -Werror c/minimal.c "${flags[@]}" -o shared
run_minimal ./shared
echo "pkg-config, shared: ok"

# Whole programs without any shared library show that nothing is missing in
# the list; distributions need not have the static ones.
flags --static --cflags --libs
if [[ -f $("$cc" -print-file-name=libjpeg.a) &&
    -f $("$cc" -print-file-name=libc.a) ]]; then
    "$cc" -std=c11 -static c/minimal.c "${flags[@]}" -o static
    (unset LD_LIBRARY_PATH && run_minimal ./static)
    echo "pkg-config, static: ok"
else
    echo "pkg-config, static: not checked, there is no libjpeg.a or libc.a"
fi

if command -v "$cxx" > /dev/null; then
    flags --cflags --libs
    "$cxx" -std=c++11 -Wall -Wextra -Wpedantic -Werror \
        "$source/tests/install/consumer.cpp" "${flags[@]}" -o consumer
    ./consumer | grep -q "^feedline $version, header $version\$" ||
        fail "the C++ program has another version than $version"
    echo "pkg-config, C++: ok"
else
    echo "pkg-config, C++: not checked, there is no $cxx"
fi

mkdir c/standalone
cp "$source/examples/standalone/CMakeLists.txt" c/standalone
for static in OFF ON; do
    cmake -S c/standalone -B "cmake-$static" -DEXAMPLE_STATIC=$static \
        -DCMAKE_PREFIX_PATH="$prefix" > cmake.log 2>&1 || {
        cat cmake.log >&2
        fail "find_package(feedline) with EXAMPLE_STATIC=$static"
    }
    cmake --build "cmake-$static" > cmake.log 2>&1 || {
        cat cmake.log >&2
        fail "building with EXAMPLE_STATIC=$static"
    }
    (unset LD_LIBRARY_PATH && run_minimal "cmake-$static/minimal")
    echo "CMake, static $static: ok"
done

# A version that is not there is refused, by both.
if pkg-config --exists "feedline > $version"; then
    fail "pkg-config promises more than version $version"
fi
mkdir newer
cat > newer/CMakeLists.txt << END
cmake_minimum_required(VERSION 3.16)
project(newer LANGUAGES NONE)
find_package(feedline 99.0 CONFIG REQUIRED)
END
if cmake -S newer -B newer/build -DCMAKE_PREFIX_PATH="$prefix" \
    > /dev/null 2>&1; then
    fail "find_package(feedline 99.0) found $version"
fi
echo "feedline $version installs and can be used"
