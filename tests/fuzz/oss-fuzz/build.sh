#!/bin/bash -eu
# SPDX-License-Identifier: Apache-2.0
#
# OSS-Fuzz's build, run in the root of the tree: $CC, $CXX, $CFLAGS, $CXXFLAGS
# and $LIB_FUZZING_ENGINE make the fuzzers, which go to $OUT with their seeds,
# words and limits. They run on another machine, so all but the system's own
# libraries is linked in.
here=$PWD/tests/fuzz
# shellcheck source=tests/fuzz/targets.sh
source "$here/targets.sh"
build=${WORK:-/tmp}/feedline

more=()
if pkg-config --exists libsharpyuv; then # libwebp's own, from 1.3 on
    more+=(-DCMAKE_CXX_STANDARD_LIBRARIES="$(
        pkg-config --static --libs libsharpyuv)")
fi
cmake -S . -B "$build" -G Ninja -DFEEDLINE_FUZZ=ON \
    -DFEEDLINE_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" \
    -DFEEDLINE_STATIC_DEPENDENCIES=ON -DFEEDLINE_CUDA=OFF "${more[@]}"
cmake --build "$build" --target fuzzers -j "$(nproc)"

for name in $(fuzz_names "$here"); do
    cp "$build/tests/fuzz/fuzz_$name" "$OUT/"
    cp "$here/fuzz.options" "$OUT/fuzz_$name.options"
    words=$(fuzz_dictionary "$here" "$name")
    [[ ! -f $words ]] || cp "$words" "$OUT/fuzz_$name.dict"
    rm -f "$OUT/fuzz_${name}_seed_corpus.zip"
    (cd "$here/seeds/$name" && zip -q -r "$OUT/fuzz_${name}_seed_corpus.zip" .)
done
