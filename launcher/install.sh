#!/bin/sh
# Installs what `make build` left in BUILT to DESTDIR and PREFIX, or removes it from there.
#   install.sh check | install | uninstall
# BUILT and PREFIX are environment variables, DESTDIR too if it is set. DEBUG=no leaves out the
# debug information, which otherwise lies in .debug beside each program, where gdb looks for it.
#
# Contract: bin, include/mpi.h, lib/libmpi_abi.{so.1,so,a}, lib/pkgconfig, share/man, completions
# of shells, and share/doc/mpilite, which messages of the library name.
set -eu
action=$1
cd "$(dirname "$0")/.."
checkout=$(pwd -P)

case $PREFIX in
    '~'/*) PREFIX=$HOME/${PREFIX#'~/'} ;;
    /*) ;;
    *) PREFIX=$checkout/$PREFIX ;;
esac
root=${DESTDIR:-}$PREFIX

refuse() {
    echo "make $action: $1" >&2
    exit 1
}

if [ "$root" -ef "$checkout" ]; then
    [ "$action" = check ] && action=install
    refuse "PREFIX=$PREFIX is the source folder; name another one, such as PREFIX=$HOME/mpi"
fi

# Each of these four does one thing, or removes what it does.
place() { # mode, file, place below the root
    if [ "$action" = install ]; then
        install -D -m "$1" "$2" "$root/$3"
    else
        rm -f "$root/$3"
    fi
    folders="$folders
$(dirname "$3")"
}

link() { # place of the target, names beside it
    target=$1
    shift
    for name; do
        if [ "$action" = install ]; then
            ln -sf "$(basename "$target")" "$root/$(dirname "$target")/$name"
        else
            rm -f "$root/$(dirname "$target")/$name"
        fi
    done
}

# A file without debug information, which goes to .debug and is found through a link in the file.
place_stripped() { # name in BUILT, place below the root
    debug=$(dirname "$2")/.debug/$(basename "$2").debug
    file=$work/$(basename "$2")
    if [ "$action" = install ]; then
        objcopy --only-keep-debug "$BUILT/$1" "$file.debug"
        objcopy --strip-debug "$BUILT/$1" "$file"
        [ "${DEBUG:-yes}" = no ] || objcopy --add-gnu-debuglink="$file.debug" "$file"
    fi
    place 755 "$file" "$2"
    if [ "$action" = install ] && [ "${DEBUG:-yes}" = no ]; then
        rm -f "$root/$debug"
    else
        place 644 "$file.debug" "$debug"
    fi
}

# A tool's own MPI_X must win over the library's when both are linked statically. The compiler's
# bitcode is of no use to a linker, and binutils with a plugin of another LLVM stumble over it.
place_archive() { # name in BUILT, place below the root
    [ "$action" = uninstall ] || objcopy --wildcard --weaken-symbol='MPI_*' --strip-debug \
        --remove-section=.llvmbc --remove-section=.llvmcmd "$BUILT/$1" "$work/$1"
    place 644 "$work/$1" "$2"
}

everything() {
    place_stripped mpirun bin/mpirun
    link bin/mpirun mpiexec
    place_stripped mpicc bin/mpicc
    link bin/mpicc mpicxx mpic++ mpiCC mpifort mpif90 mpif77
    place 644 include/mpi.h include/mpi.h
    place_stripped libmpi_abi.so lib/libmpi_abi.so.1
    link lib/libmpi_abi.so.1 libmpi_abi.so
    place_archive libmpi_abi.a lib/libmpi_abi.a
    for file in launcher/pkgconfig/*.pc; do
        place 644 "$file" "lib/pkgconfig/$(basename "$file")"
    done
    for file in launcher/pkgconfig/compat/*.pc; do
        place 644 "$file" "lib/mpilite/compat/pkgconfig/$(basename "$file")"
    done
    for page in coverage settings counters; do
        place 644 "docs/$page.md" "share/doc/mpilite/$page.md"
    done
    place 644 launcher/share/mpirun.1 share/man/man1/mpirun.1
    link share/man/man1/mpirun.1 mpiexec.1
    place 644 launcher/share/mpicc.1 share/man/man1/mpicc.1
    link share/man/man1/mpicc.1 mpicxx.1 mpic++.1 mpiCC.1
    place 644 launcher/share/mpirun.bash share/bash-completion/completions/mpirun
    link share/bash-completion/completions/mpirun mpiexec
}

# Removes the folders that are empty now, from the deepest up to the root.
remove_empty_folders() {
    echo "$folders" | sort -ru | while read -r folder; do
        [ -z "$folder" ] || (cd "$root" 2>/dev/null && rmdir -p "$folder" 2>/dev/null) || true
    done
    rmdir "$root" 2>/dev/null || true
}

folders=
work=
case $action in
    check) ;;
    install)
        work=$(mktemp -d)
        trap 'rm -rf "$work"' EXIT
        everything
        ;;
    uninstall)
        [ -f "$root/share/doc/mpilite/settings.md" ] || refuse "no mpi-lite is installed in $root"
        everything
        remove_empty_folders
        ;;
esac
