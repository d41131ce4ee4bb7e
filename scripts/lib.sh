# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the scripts share: Debian packages, and building out of tree. Sourced.

# The repository, wherever the script was called from.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)

# The only list of packages. Debian 12 names.
packages_build=(cmake ninja-build gcc libc6-dev pkg-config
    libjpeg62-turbo-dev libpng-dev libwebp-dev liburing-dev libxxhash-dev
    libjansson-dev scdoc)
packages_test=("${packages_build[@]}" libcmocka-dev python3 python3-pil
    python3-numpy python3-pytest)
# Only .ci/run uses this one; here because there is one list.
# shellcheck disable=SC2034
packages_ci=("${packages_test[@]}" g++ clang-14 lld clang-format-14 valgrind
    mmdebstrap shellcheck codespell git chromium tmux black pyflakes3 python3-venv
    python3-torch python3-torchvision libopenmpi-dev mpich slurmctld slurmd
    slurm-client munge nginx-light spin meson)

say() {
    printf '%s\n' "$*"
}

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# For what a machine lacks; ctest calls a test with this status skipped.
skip() {
    say "skipped: $*"
    exit 77
}

# Installs what is missing of the packages named, and says so.
need_packages() {
    local package missing=() sudo=()
    if ! command -v dpkg > /dev/null; then
        say "This is no Debian: what is needed is what Debian calls $*"
        return
    fi
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${Status}' "$package" 2> /dev/null) == \
            *' installed' ]] || missing+=("$package")
    done
    if [[ ${#missing[@]} -eq 0 ]]; then
        return
    fi
    if [[ $(id -u) -ne 0 ]]; then
        command -v sudo > /dev/null ||
            fail "needs these packages, and neither root nor sudo is" \
                "at hand to install them: ${missing[*]}"
        sudo=(sudo)
    fi
    say "Installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    local install=("${sudo[@]}" apt-get install -y -q
        --no-install-recommends "${missing[@]}")
    # The lists of packages may be absent or old: then they are fetched.
    if ! "${install[@]}" > /dev/null 2>&1; then
        "${sudo[@]}" apt-get update -q > /dev/null ||
            fail "apt-get update did not work; missing: ${missing[*]}"
        "${install[@]}" > /dev/null ||
            fail "these packages could not be installed: ${missing[*]}"
    fi
}

# build DIR [cmake argument...]: configure and build everything. FEEDLINE_CMAKE
# names further arguments for cmake.
build() {
    local dir=$1
    shift
    configure "$dir" "$@"
    cmake --build "$dir" -j "$jobs"
}

configure() {
    local dir=$1 more=()
    shift
    read -r -a more <<< "${FEEDLINE_CMAKE-}"
    cmake -S "$root" -B "$dir" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        "$@" "${more[@]}" > "$dir.log" 2>&1 || {
        cat "$dir.log" >&2
        fail "cmake could not configure $dir"
    }
    rm -f "$dir.log"
}

# build_program TARGET [cmake argument...]: one program, in build/, and what the
# compiler said only if that fails.
build_program() {
    local target=$1 dir=$root/build
    shift
    need_packages "${packages_build[@]}"
    mkdir -p "$dir"
    if [[ $# -gt 0 || ! -f $dir/build.ninja ]]; then
        say "Building in build/"
        configure "$dir" "$@"
    fi
    cmake --build "$dir" -j "$jobs" --target "$target" > \
        "$dir/$target.log" || {
        cat "$dir/$target.log" >&2
        fail "the build failed"
    }
}

# make_venv DIR LOCK [argument for pip...]: Python's packages of a lock, made anew
# when that changes: no file that PyPI gives for it has another hash. One process
# at a time: whoever comes second finds it made.
make_venv() {
    local dir=$1 lock=$2
    shift 2
    mkdir -p "$(dirname "$dir")"
    (
        flock 9
        ! cmp -s "$lock" "$dir/made_from" || exit 0
        rm -rf "$dir"
        python3=/usr/bin/python3 # the distribution's, for which LOCK is
        [[ -x $python3 ]] || python3=python3
        "$python3" -m venv "$dir" &&
            "$dir/bin/python" -m pip install --quiet --require-hashes \
                --disable-pip-version-check "$@" -r "$lock" &&
            cp "$lock" "$dir/made_from"
    ) 9> "$dir.lock"
}

# What was skipped, and why, out of the log of the last ctest of a build.
say_skipped() {
    awk '/ Test: / { sub(/^.* Test: /, ""); name = $0 }
        /^skipped: / { sub(/^skipped: /, ""); n[$0]++
            names[$0] = names[$0] "\n    " name }
        END { for (reason in n)
            printf "skipped %d: %s%s\n", n[reason], reason, names[reason] }' \
        "$1/Testing/Temporary/LastTest.log"
}

# The text of file $2 between the marks of page $1, "<!-- table: begin -->" and "...
# end -->", to standard output.
page_with() {
    local page=$1 mark begin='<!-- table: begin -->' end='<!-- table: end -->'
    for mark in "$begin" "$end"; do
        grep -qxF -e "$mark" "$page" || fail "$page has no line '$mark'"
    done
    awk -v begin="$begin" -v end="$end" -v tables="$2" '
        $0 == end { inside = 0 }
        !inside { print }
        $0 == begin {
            inside = 1
            while ((getline line < tables) > 0)
                print line
        }' "$page"
}
