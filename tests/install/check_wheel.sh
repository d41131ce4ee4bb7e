#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check_wheel.sh WHEEL [PYTHON...]: what a wheel brings and asks for, and that it
# works in an empty environment of each Python named (python3.9 and later as
# found, if none is): the README's example runs, and so does the tool. Where an
# interpreter has torch beside it (Debian's), the README's example of torch runs
# as well, from an environment that sees it.
set -euo pipefail

if [[ $# -lt 1 ]]; then
    echo "usage: check_wheel.sh WHEEL [PYTHON...]" >&2
    exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(dirname "$(dirname "$here")")
wheel=$(realpath "$1")
shift

fail() {
    echo "check_wheel.sh: $*" >&2
    exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ---- What is in it ----------------------------------------------------------

name=${wheel##*/}
[[ $name =~ ^feedline-[0-9.]+-py3-none-(many)?linux ]] ||
    fail "$name: not a wheel for every Python 3"
python3 -m zipfile -e "$wheel" "$work/wheel"
library=$work/wheel/feedline/lib/libfeedline.so
tool=$(find "$work/wheel" -path '*.data/scripts/loaderbench')
[[ -f $library ]] || fail "no feedline/lib/libfeedline.so in it"
[[ -n $tool ]] || fail "no loaderbench in it"
for file in py.typed __init__.py torch/__init__.py; do
    [[ -f $work/wheel/feedline/$file ]] || fail "no feedline/$file in it"
done
licences=$(find "$work"/wheel/feedline-*.dist-info/licenses -type f | wc -l)
[[ -f $(echo "$work"/wheel/feedline-*.dist-info/licenses/LICENSE) ]] ||
    fail "no licence in it"
# Of everything that is linked or compiled in, where Debian's packages were.
if [[ -f /usr/share/doc/libjpeg62-turbo-dev/copyright ]]; then
    for package in libjpeg62-turbo libpng zlib1g libwebp liburing \
        libjansson libxxhash; do
        [[ -s $(echo "$work"/wheel/feedline-*.dist-info/licenses/"$package"-dev.txt) ]] ||
            fail "no licence of $package in it"
    done
fi
if command -v scdoc > /dev/null; then
    for page in man1/loaderbench.1 man7/feedline-options.7; do
        [[ -s $(echo "$work"/wheel/feedline-*.data/data/share/man/"$page") ]] ||
            fail "no $page in it"
    done
fi
compiled=$(find "$work/wheel" -name '*.pyc' -o -name '__pycache__')
[[ -z $compiled ]] || fail "it has compiled files: $compiled"

# What a file asks of the system, but for libc's parts.
asks_for() {
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -Ev '^(libc|libm|libpthread|libdl|librt|ld-linux.*)\.so' || true
}

for file in "$library" "$tool"; do
    wants=$(asks_for "$file")
    [[ -z $wants ]] || fail "${file##*/} needs ${wants//$'\n'/ }"
done

# Nothing of libjpeg and the like can meet a namesake of another package.
exported=$(nm -D --defined-only "$library" |
    awk '$2 != "A" && $3 !~ /^feedline_/ { print $3 }')
[[ -z $exported ]] || fail "exported, but not public: $exported"
if readelf -d "$library" | grep -q TEXTREL; then
    fail "the library's code is changed when it is loaded"
fi
python3 "$source/tests/install/check_hardened" "$work/wheel" ||
    fail "something in it is not hardened"
"${CHECK_SBOM_PYTHON:-python3}" "$source/tests/install/check_sbom" \
    "$work"/wheel/feedline-*.dist-info/sboms/feedline.cdx.json \
    "$library" "$tool" || fail "the bill of materials is wrong"
echo "$name: $(stat -c %s "$wheel") bytes, $licences licences"

# ---- In an empty environment ------------------------------------------------

# The version of a Python, if it is one that the package is for.
supported() {
    "$1" -c 'import sys, venv, ensurepip
assert sys.version_info >= (3, 9)
print("%d.%d" % sys.version_info[:2])' 2> /dev/null
}

# One interpreter of each version, the distribution's own first.
find_pythons() {
    local -A seen=()
    local python version
    for python in /usr/bin/python3 $(compgen -c python3. | sort -u) \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3; do
        python=$(command -v "$python") || continue
        version=$(supported "$python") || continue
        [[ -n ${seen[$version]-} ]] && continue
        seen[$version]=1
        echo "$python"
    done
}

# The examples of the README run in a folder that has the images they name.
chmod +x "$tool" # unzipping forgot
"$tool" gen "$work/photos" --images 24 --classes 3 --quiet

run_examples() {
    local python=$1
    shift
    (cd "$work" && env -u FEEDLINE_LIBRARY -u PYTHONPATH "$python" \
        "$source/tests/python/markdown_examples.py" \
        "$source/README.md" "$@")
}

try_python() {
    local python=$1 venv=$work/venv
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --no-index --no-deps "$wheel"
    "$venv/bin/loaderbench" --version > "$work/version"
    grep -q "^loaderbench [0-9]" "$work/version" ||
        fail "$python: loaderbench says $(cat "$work/version")"
    "$venv/bin/loaderbench" run "$work/photos" --epochs 1 --isolate=decode \
        > "$work/out" || fail "$python: isolate=decode: $(cat "$work/out")"
    (cd "$work" && "$venv/bin/python" -c 'import feedline
data = feedline.Dataset.open("folder:photos")
train = feedline.Pipeline("train")
with feedline.Loader(data, train, epochs=1, isolate="decode") as loader:
    assert sum(len(batch.labels) for batch in loader) == 24') ||
        fail "$python: isolate=decode"
    run_examples "$venv/bin/python" --without torch,numpy > "$work/out" ||
        fail "$python: the README's example fails"
    echo "$("$venv/bin/python" --version): $(wc -l < "$work/out") lines" \
        "printed by the README's example"
    "$python" -c 'import torch, torchvision' 2> /dev/null || return 0
    "$python" -m venv --system-site-packages "$venv"
    run_examples "$venv/bin/python" --with torch > "$work/out" ||
        fail "$python: the README's example with torch fails"
    echo "$("$venv/bin/python" --version) with its torch:" \
        "$(wc -l < "$work/out") lines printed by the README's example"
}

pythons=("$@")
[[ ${#pythons[@]} -gt 0 ]] || mapfile -t pythons < <(find_pythons)
[[ ${#pythons[@]} -gt 0 ]] || fail "there is no Python 3.9 or later"
for python in "${pythons[@]}"; do
    try_python "$python"
done
