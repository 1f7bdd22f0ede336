#!/bin/sh
# Looks for the programs that the tests use; installs what is missing where it may (root on a
# Debian-like system), else says which packages are needed and for what. Tests whose program is
# missing fail; none is skipped.
#
#     sh tests/prerequisites.sh               what `make test` needs
#     sh tests/prerequisites.sh schedulers    what `make test-schedulers` needs

what=$1
missing=
packages=

need() { # program, package, what for
    if ! command -v "$1" >/dev/null 2>&1 && ! [ -x "/usr/sbin/$1" ]; then
        miss "$@"
    fi
}

miss() { # what, package, what for
    missing="$missing
  $1 (package $2): $3"
    packages="$packages $2"
}

need_library() { # name below /usr/lib/ARCHITECTURE, package, what for
    for library in /usr/lib/*/"$1"; do
        [ -e "$library" ] || miss "$@"
        break
    done
}

need_python() { # what, package, what for, expression that is true if it is there
    python3 -c "import importlib.util, os, sysconfig; exit(not ($4))" >/dev/null 2>&1 ||
        miss "$1" "$2" "$3"
}

look_for_schedulers() {
    need cc gcc "mpicc calls it"
    need ip iproute2 "the networks of the nodes of a Slurm"
    need unshare util-linux "the nodes of a Slurm"
    need nsenter util-linux "the nodes of a Slurm"
    need slurmctld slurmctld "the tests with Slurm"
    need slurmd slurmd "the tests with Slurm"
    need srun slurm-client "the tests with Slurm"
    need mpicc.mpich libmpich-dev "the test that a program of MPICH runs there"
    need mpirun.openmpi openmpi-bin "the tests with Open MPI's mpirun"
    need_library libpmix.so.2 libpmix2 "srun --mpi=pmix, and Open MPI's mpirun"
    need_library libpmix.so libpmix-dev "srun --mpi=pmix opens it by this name"
    need python3 python3 "the test with mpi4py"
    need_python venv python3-venv "the test with mpi4py" \
        "importlib.util.find_spec('venv') and importlib.util.find_spec('ensurepip')"
    need_python Python.h python3-dev "the test with mpi4py" \
        "os.path.exists(sysconfig.get_path('include') + '/Python.h')"
}

look() {
    missing=
    packages=
    if [ "$what" = schedulers ]; then
        look_for_schedulers
        return
    fi
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
    need mpicc.mpich libmpich-dev "the test that mpirun starts programs of MPICH"
    need python3 python3 "a program in Python that hangs, and a server that speaks as Flux does"
    need_python venv python3-venv "the test of the wheel" \
        "importlib.util.find_spec('venv') and importlib.util.find_spec('ensurepip')"
    need dpkg-deb dpkg "the test of the packages for Debian"
    need dpkg-shlibdeps dpkg-dev "the test of the packages for Debian"
    need ethtool ethtool "the networks of the comparisons"
    need tshark tshark "the test of the dissector for Wireshark"
    need mpiexec.hydra mpich "the tests of programs that MPICH's mpiexec starts"
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
