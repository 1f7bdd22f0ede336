#!/bin/sh
# Checks what `make dist` left in FOLDER: it is made again with the same bytes; the checksums are
# right; lintian finds no errors; the source archive builds without a network, and a program runs with it.
#   check.sh FOLDER
# SOURCE_DATE_EPOCH and CARGO are as `make dist` sets them.
set -eu
folder=$(realpath "$1")
cd "$(dirname "$0")/../.."
checkout=$(pwd -P)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

(cd "$folder" && sha256sum --check --strict --quiet SHA256SUMS)

# Built again, not only packed. Another mask, language and time zone must change nothing.
"${CARGO:-cargo}" clean --quiet --release --package mpi-capi --package mpi-lite
"${CARGO:-cargo}" clean --quiet --profile tools --package launcher --package wrappers
(umask 077 && LC_ALL=C TZ=Pacific/Chatham make --no-print-directory dist DIST="$work/again") >/dev/null
cmp "$folder/SHA256SUMS" "$work/again/SHA256SUMS"
echo "dist-check: made twice, the same bytes"

lintian --version >/dev/null 2>&1 || { echo "dist-check: lintian is missing" >&2; exit 1; }
# No bug of Debian asks for these packages.
lintian --allow-root --fail-on error --suppress-tags initial-upload-closes-no-bugs "$folder"/*.deb
echo "dist-check: lintian finds no errors"

tar -C "$work" -xzf "$folder"/mpi-lite-*.tar.gz
# No network at all where the system lets us have that; cargo is offline in any case, and has no
# crates but those of the archive.
alone=
if unshare --user --map-root-user --net true 2>/dev/null; then
    alone='unshare --user --map-root-user --net'
fi
mkdir "$work/cargo"
# shellcheck disable=SC2086 # a list of words is meant
(cd "$work"/mpi-lite-* && env -u CARGO_TARGET_DIR CARGO_HOME="$work/cargo" \
    $alone make --no-print-directory install PREFIX="$work/prefix" CARGO="${CARGO:-cargo} --frozen")
"$work/prefix/bin/mpicc" "$checkout/tests/c/tools/hello.c" -o "$work/hello"
"$work/prefix/bin/mpirun" -n 2 "$work/hello"
echo "dist-check: the archive builds without a network"
