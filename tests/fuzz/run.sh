#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/fuzz/run.sh BUILD SECONDS [NAME...]: runs the fuzzers of a build with
# FEEDLINE_FUZZ, one after the other, each for so long; all of them without a
# name. What they learn is kept in BUILD/corpus. Stops at the first finding, and
# says how to make it small and run it again.
set -euo pipefail

if [[ $# -lt 2 ]]; then
    printf 'Usage: %s BUILD SECONDS [NAME...]\n' "$0" >&2
    exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/fuzz/targets.sh
source "$here/targets.sh"
build=$(cd "$1" && pwd)
seconds=$2
shift 2
names=("$@")
[[ ${#names[@]} -gt 0 ]] || mapfile -t names < <(fuzz_names "$here")
# "max_len = 16384" to -max_len=16384.
mapfile -t limits < <(sed -n 's/^\([a-z_]*\) = /-\1=/p' "$here/fuzz.options")

for name in "${names[@]}"; do
    program=$build/tests/fuzz/fuzz_$name
    corpus=$build/corpus/$name
    findings=$build/findings/$name-
    mkdir -p "$corpus" "$build/findings"
    options=("${limits[@]}" -max_total_time="$seconds" -print_final_stats=1
        -artifact_prefix="$findings")
    words=$(fuzz_dictionary "$here" "$name")
    [[ ! -f $words ]] || options+=(-dict="$words")
    printf -- '--- %s\n' "$name"
    if ! nice -n 19 "$program" "${options[@]}" "$corpus" \
        "$here/seeds/$name" > "$build/findings/$name.log" 2>&1; then
        tail -n 40 "$build/findings/$name.log"
        printf 'Smaller: %s -minimize_crash=1 -max_total_time=60 FILE\n' \
            "$program"
        printf 'Again:   %s_replay FILE\n' "$program"
        exit 1
    fi
    grep -E '^(Done|stat::number_of_executed|stat::new_units)' \
        "$build/findings/$name.log"
done
