#!/bin/sh
# Builds mpi4py against an installation of ours, once: `sh tests/mpi4py.sh PREFIX FOLDER` makes
# FOLDER/bin/python, which imports it. Needs PyPI, `venv` and Python's headers.

prefix=$1
folder=$2
version=4.1.2

# The import calls MPI_Init: it shows that the module and the library fit.
[ "$(cat "$folder/prefix" 2>/dev/null)" = "$prefix" ] && "$folder/bin/python" -c "import mpi4py; assert mpi4py.__version__ == '$version'
from mpi4py import MPI" >/dev/null 2>&1 && exit 0
echo "building mpi4py $version for the tests, once: a few minutes"
rm -rf "${folder:?}"
python3 -m venv "$folder" &&
    # The cache may have one that was built with another installation.
    MPICC="$prefix/bin/mpicc" "$folder/bin/pip" install --quiet --no-binary=mpi4py \
        --no-cache-dir --disable-pip-version-check "mpi4py==$version" &&
    "$folder/bin/python" -c "from mpi4py import MPI" &&
    echo "$prefix" >"$folder/prefix"
