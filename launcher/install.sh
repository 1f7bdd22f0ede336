#!/bin/sh
# Installs what `make build` left to DESTDIR and PREFIX, or removes it from there.
#   install.sh check | install | uninstall
# BUILT (where the library is), TOOLS (mpirun, mpicc) and PREFIX are environment variables, DESTDIR
# too if it is set. DEBUG=no leaves out the debug information, which otherwise lies in .debug beside
# each program, where gdb looks for it.
#
# Contract: bin, include/mpi.h, lib/libmpi_abi.{so.1,so,a}, lib/libmpi{,ch}.so.12 for programs that
# were built for MPICH, include/mpich/mpi.h to build such programs, lib/pkgconfig, share/man,
# completions of shells, lib/mpilite/{libmpi,mpich}/libmpi.so, which lead to the libraries where
# somebody says -lmpi to mpicc, and share/doc/mpilite, which messages of the library name.
# installed.txt in there has a line for each file: a fingerprint of what was installed, and the
# place below PREFIX.
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
list=$root/share/doc/mpilite/installed.txt

refuse() {
    echo "make $action: $1" >&2
    exit 1
}

if [ "$(realpath -m "$root")" = "$checkout" ]; then
    [ "$action" = check ] && action=install
    refuse "PREFIX=$PREFIX is the source folder; name another one, such as PREFIX=$HOME/mpi"
fi

# One word that tells an installed file or link from any other.
fingerprint() { # place below the root
    if [ -L "$root/$1" ]; then
        echo "link:$(readlink "$root/$1")"
    elif [ -f "$root/$1" ]; then
        sha256sum <"$root/$1" | cut -d ' ' -f 1
    else
        echo none
    fi
}

record() { # place below the root
    echo "$(fingerprint "$1") $1" >>"$list"
}

place() { # mode, file, place below the root
    install -D -m "$1" "$2" "$root/$3"
    record "$3"
}

link() { # place of the target, names beside it
    target=$1
    shift
    for name; do
        ln -sfn "$(basename "$target")" "$root/$(dirname "$target")/$name"
        record "$(dirname "$target")/$name"
    done
}

# A file without debug information, which goes to .debug and is found through a link in the file.
place_stripped() { # file, place below the root
    file=$work/$(basename "$2")
    objcopy --strip-unneeded "$1" "$file"
    if [ "${DEBUG:-yes}" != no ]; then
        objcopy --only-keep-debug "$1" "$file.debug"
        objcopy --add-gnu-debuglink="$file.debug" "$file"
        place 644 "$file.debug" "$(dirname "$2")/.debug/$(basename "$2").debug"
    fi
    place 755 "$file" "$2"
}

# How the sections of the static library become few: thousands of headers and names are megabytes.
sections='SECTIONS
{
    .text 0 : { *(.text .text.*) }
    .rodata 0 : { *(.rodata .rodata.*) }
    .data.rel.ro 0 : { *(.data.rel.ro .data.rel.ro.*) }
    .data 0 : { *(.data .data.*) }
    .bss 0 : { *(.bss .bss.*) }
    .gcc_except_table 0 : { *(.gcc_except_table .gcc_except_table.*) }
    .eh_frame 0 : { KEEP(*(.eh_frame)) }
}'

# One object with what the functions of MPI need, and their names as the only ones that are seen
# outside. A tool's own MPI_X must win over the library's when both are linked statically. The
# compiler's bitcode is of no use to a linker, and binutils with a plugin of another LLVM stumble
# over it. Calls inside of the object are settled: their relocations are most of a megabyte.
place_archive() { # shared and static library in BUILT, place below the root
    nm -D --defined-only "$BUILT/$1" | sed -n 's/.* \(P\{0,1\}MPI_[A-Za-z0-9_]*\)$/-u \1/p' \
        >"$work/names"
    echo "$sections" >"$work/sections"
    "$(command -v ld.bfd || echo ld)" -r --gc-sections --strip-debug -T "$work/sections" \
        -o "$work/whole.o" "@$work/names" "$BUILT/$2"
    objcopy --wildcard --keep-global-symbol='MPI_*' --keep-global-symbol='PMPI_*' \
        --weaken-symbol='MPI_*' --strip-unneeded \
        --remove-section=.llvmbc --remove-section=.llvmcmd "$work/whole.o" "$work/open.o"
    "$TOOLS/settle" "$work/open.o"
    objcopy --strip-unneeded --remove-section=.comment "$work/open.o" "$work/mpi_abi.o"
    ar rcs "$work/libmpi_abi.a" "$work/mpi_abi.o"
    place 644 "$work/libmpi_abi.a" "$3"
}

# libmpi.so for the linker, in a folder of its own: in lib it would be in the way of other MPIs.
place_namesake() { # folder below lib/mpilite, library in lib
    mkdir -p "$root/lib/mpilite/$1"
    ln -sfn "../../$2" "$root/lib/mpilite/$1/libmpi.so"
    record "lib/mpilite/$1/libmpi.so"
}

place_everything() {
    place_stripped "$TOOLS/mpirun" bin/mpirun
    link bin/mpirun mpiexec
    place_stripped "$TOOLS/mpicc" bin/mpicc
    link bin/mpicc mpicxx mpic++ mpiCC mpifort mpif90 mpif77 mpi-packets
    place 644 include/mpi.h include/mpi.h
    place 644 include/mpich/mpi.h include/mpich/mpi.h
    place_stripped "$BUILT/libmpi_abi.so" lib/libmpi_abi.so.1
    link lib/libmpi_abi.so.1 libmpi_abi.so
    objcopy --strip-unneeded "$BUILT/libmpi.so.12" "$work/libmpi.so.12"
    place 755 "$work/libmpi.so.12" lib/libmpi.so.12
    link lib/libmpi.so.12 libmpich.so.12
    place_namesake libmpi libmpi_abi.so.1
    place_namesake mpich libmpi.so.12
    place_archive libmpi_abi.so libmpi_abi.a lib/libmpi_abi.a
    for file in launcher/pkgconfig/*.pc; do
        place 644 "$file" "lib/pkgconfig/$(basename "$file")"
    done
    for file in launcher/pkgconfig/compat/*.pc; do
        place 644 "$file" "lib/mpilite/compat/pkgconfig/$(basename "$file")"
    done
    for page in coverage settings counters transports packets; do
        place 644 "docs/$page.md" "share/doc/mpilite/$page.md"
    done
    place 644 docs/rmpp.lua share/doc/mpilite/rmpp.lua
    place 644 launcher/share/mpirun.1 share/man/man1/mpirun.1
    link share/man/man1/mpirun.1 mpiexec.1
    place 644 launcher/share/mpicc.1 share/man/man1/mpicc.1
    link share/man/man1/mpicc.1 mpicxx.1 mpic++.1 mpiCC.1
    place 644 launcher/share/mpi-packets.1 share/man/man1/mpi-packets.1
    place 644 launcher/share/mpirun.bash share/bash-completion/completions/mpirun
    link share/bash-completion/completions/mpirun mpiexec
}

# Removes what the list names, unless something else is there by now, and the list.
remove_listed() {
    while read -r print place; do
        if [ "$(fingerprint "$place")" = "$print" ]; then
            rm -f "$root/$place"
        elif [ -e "$root/$place" ]; then
            echo "make $action: $root/$place is no longer what was installed; it stays" >&2
        fi
    done <"$list"
    rm -f "$list"
}

# Removes the folders of these files that are empty now, each with those above it up to the root.
remove_empty_folders() { # places below the root, one a line
    echo "$1" | sort -ru | while read -r place; do
        (cd "$root" && rmdir -p "$(dirname "$place")") 2>/dev/null || true
    done
    rmdir "$root" 2>/dev/null || true
}

case $action in
    check) ;;
    install)
        for file in "$BUILT/libmpi_abi.a" "$BUILT/libmpi.so.12" "$TOOLS/mpirun"; do
            [ -f "$file" ] || refuse "$file is not built; run make build first"
        done
        work=$(mktemp -d)
        trap 'rm -rf "$work"' EXIT
        # Nothing of another version stays beside the files of this one.
        places=$(cut -d ' ' -f 2 "$list" 2>/dev/null) || true
        [ ! -f "$list" ] || remove_listed 2>/dev/null
        mkdir -p "$(dirname "$list")"
        place_everything
        remove_empty_folders "$places"
        ;;
    uninstall)
        [ -f "$list" ] || refuse "no mpi-lite is installed in $root"
        places=$(cut -d ' ' -f 2 "$list")
        remove_listed
        remove_empty_folders "$places"
        ;;
esac
