# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What campaign and oss-fuzz/build.sh share. Sourced.

# fuzz_names FOLDER: the targets in it.
fuzz_names() {
    local file
    for file in "$1"/fuzz_*.c; do
        file=$(basename "$file" .c)
        [[ $file == fuzz_replay ]] || printf '%s\n' "${file#fuzz_}"
    done
}

# fuzz_dictionary FOLDER NAME: the file with the words that the target's input
# is made of; there may be none.
fuzz_dictionary() {
    local name=$2
    case $name in
    options | ini | pipeline) name=option ;;
    jpeg | packed | device | entries) name=image ;;
    profile | folder_index | report | coco) name=json ;;
    store_* | credentials) name=store ;;
    esac
    printf '%s/%s.dict' "$1" "$name"
}
