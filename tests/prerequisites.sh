#!/bin/sh
# Looks for the programs that the tests use; installs what is missing where it may (root on a
# Debian-like system), else says which packages are needed and for what. Tests whose program is
# missing fail; none is skipped.

missing=
packages=

need() { # program, package, what for
    if ! command -v "$1" >/dev/null 2>&1 && ! [ -x "/usr/sbin/$1" ]; then
        missing="$missing
  $1 (package $2): $3"
        packages="$packages $2"
    fi
}

look() {
    missing=
    packages=
    need cc gcc "mpicc calls it"
    need c++ g++ "mpicxx calls it"
    need nm binutils "the test of exported names"
    need readelf binutils "the test of the soname"
    need objcopy binutils "the installation"
    need addr2line binutils "the test of the debug information"
    need man man-db "the test of the manual pages"
    need cmake cmake "the test that CMake's FindMPI accepts the installation"
    need pkg-config pkg-config "the test of the .pc files"
    need ssh openssh-client "jobs on several hosts"
    need sshd openssh-server "the test of jobs on several hosts"
    need ip iproute2 "the test under packet loss"
    need iptables iptables "the test under packet loss"
    need unshare util-linux "the test under packet loss"
    need setpriv util-linux "the test that mpirun writes no core file"
    need python3 python3 "the test of a program in Python that hangs"
    need mpicc.mpich libmpich-dev "the test that mpirun starts programs of MPICH"
    need mpiexec.hydra mpich "the test that mpirun starts programs of MPICH"
    need ethtool ethtool "the networks of the comparisons"
    need tshark tshark "the test of the dissector for Wireshark"
    need valgrind valgrind "the count of instructions and the search for wrong memory"
}

look
if [ -n "$missing" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing these packages as root:$packages (any other user gets a list instead)"
    # shellcheck disable=SC2086 # a list of words is meant
    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive \
        apt-get -qq install --no-install-recommends $packages; } >/dev/null 2>&1
    look
fi
if [ -n "$missing" ]; then
    echo "these programs are missing, and the tests that need them will fail:$missing"
fi
