#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The kernels that the tests run as C are CUDA, too: nvcc takes them without a
# warning, and ptxas says what registers they need.
#
#     compile_kernels.sh SOURCE_FOLDER
set -eu
PATH=$PATH:/usr/local/cuda/bin
if ! command -v nvcc >/dev/null; then
    echo "skipped: no nvcc in PATH or /usr/local/cuda/bin"
    exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for part in coefficients pixels; do
    nvcc -O3 -arch=sm_75 -cubin -Werror all-warnings -Xptxas -v -I "$1" \
        -o "$out/$part.cubin" "$1/decode/device/device_$part.cu" 2>&1 |
        grep -v "Compile time\|bytes gmem" || true
    test -s "$out/$part.cubin"
done
