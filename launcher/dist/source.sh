#!/bin/sh
# Makes the source archive: the files that git tracks, the crates that Cargo.lock names, and the
# configuration that makes cargo take these. It builds without a network.
#   source.sh FOLDER [LEVEL]
# LEVEL is how hard gzip tries, 1 to 9. SOURCE_DATE_EPOCH is the date of all files, in seconds; CARGO
# is cargo. The same tree gives the same bytes.
set -eu
folder=$1
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)
name=mpi-lite-$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# An unpacked archive has its crates and no git: it makes itself again.
listed() {
    if [ -e .git ]; then
        git ls-files -z
    else
        find . -path ./target -prune -o \( -path ./vendor -o -path ./.cargo \) -prune -o \
            -name __pycache__ -prune -o ! -type d -print0
    fi
}
mkdir "$work/$name"
listed | tar --create --null --files-from=- | tar --extract --directory="$work/$name"

if [ -d vendor ]; then
    cp -R vendor .cargo "$work/$name"
else
    mkdir "$work/$name/.cargo"
    (cd "$work/$name" && "${CARGO:-cargo}" vendor --locked --versioned-dirs vendor \
        >.cargo/config.toml 2>"$work/said") || { cat "$work/said" >&2; exit 1; }
    # Cargo wants the manifests of crates that only Windows uses. What it compiles there is half of
    # the archive.
    vendor=$work/$name/vendor
    find "$vendor" \( -path "$vendor/winapi*" -o -path "$vendor/windows*" \) -type f \
        ! -name Cargo.toml ! -name .cargo-checksum.json ! -name build.rs ! -path '*/src/lib.rs' \
        ! -iname '*licen*' -delete
fi

mkdir -p "$folder"
LC_ALL=C tar --create --directory="$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
    --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r-w,a-s,a+X --format=posix \
    --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime "$name" |
    gzip -n "-${2:-9}" >"$folder/$name.tar.gz"
echo "$folder/$name.tar.gz"
