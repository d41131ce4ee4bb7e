#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check.sh SOURCE BUILD: installs BUILD into a folder that is then moved, and looks
# at it: what is there, what the library exports, whether all of it is hardened,
# its bill of materials, and whether the tool runs from there.
set -euo pipefail

if [[ $# -ne 2 ]]; then
    echo "usage: check.sh SOURCE BUILD" >&2
    exit 2
fi
source=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)

skip() {
    echo "skipped: $*"
    exit 77
}

fail() {
    echo "check.sh: $*" >&2
    exit 1
}

for tool in cmake nm readelf python3; do
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

# The tool finds the library without help, and that the program that decodes
# apart.
unset LD_LIBRARY_PATH
tool=$prefix/bin/loaderbench
if [[ -x $tool ]]; then
    "$tool" gen "$work/images" --images 12 --classes 3 --quiet
    "$tool" run "$work/images" --epochs 1 --isolate=decode > "$work/out" ||
        fail "loaderbench run --isolate=decode: $(cat "$work/out")"
else
    echo "loaderbench is not built: nothing is run"
fi
echo "what is installed is as it should be"
