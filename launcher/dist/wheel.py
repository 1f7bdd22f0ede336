#!/usr/bin/env python3
"""Makes a wheel of an installation: a file that pip puts into an environment.

    wheel.py PREFIX FOLDER

PREFIX is what `make install` wrote. The wheel goes to FOLDER. It has what programs need to be
compiled and run, without the static library and debug information. A wheel holds no links: programs
with several names become scripts, names of a library for the linker become linker scripts, other
links copies. The same installation gives the same bytes. Source: PyPA, binary distribution format;
PEP 600 (tags).
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from crates import CHECKOUT, notices

NAME = "mpi_lite"
LIST = "share/doc/mpilite/installed.txt"
LEFT_OUT = "lib/libmpi_abi.a"

# What every Linux system has. Source: PEP 600, PEP 599.
USUAL_LIBRARIES = {
    "libc.so.6",
    "libm.so.6",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}

CLASSIFIERS = (
    "Development Status :: 3 - Alpha",
    "Intended Audience :: Developers",
    "Intended Audience :: Education",
    "Intended Audience :: Science/Research",
    "Operating System :: POSIX :: Linux",
    "Programming Language :: C",
    "Programming Language :: Rust",
    "Topic :: Scientific/Engineering",
    "Topic :: System :: Distributed Computing",
)

# Calls a program by another name. mpicc takes it in place of a link's; to mpirun both are the same.
SCRIPT = """#!/bin/sh
own=$(readlink -f "$0")
exec "${{own%/*}}/{program}" {words}"$@"
"""


def version():
    """The version in the workspace's manifest."""
    text = (CHECKOUT / "Cargo.toml").read_text(encoding="utf-8")
    return re.search(r'^version = "(.+)"$', text, re.MULTILINE)[1]


def is_elf(data):
    return data.startswith(b"\x7fELF")


def places(prefix):
    """The files of an installation that go into the wheel, and no others below its prefix."""
    for line in sorted((prefix / LIST).read_text(encoding="utf-8").splitlines()):
        place = line.split(" ", 1)[1]
        if place != LEFT_OUT and ".debug" not in place.split("/"):
            yield place


def tag(prefix):
    """The platform's tag: the oldest glibc that has all symbols. Refuses unusual libraries."""
    newest = (2, 17)
    paths = [prefix / place for place in places(prefix)]
    own = {path.name for path in paths}
    for path in paths:
        if path.is_symlink() or not is_elf(path.read_bytes()):
            continue
        text = subprocess.check_output(["objdump", "-p", "-T", path], text=True)
        needed = set(re.findall(r"^ +NEEDED +(\S+)$", text, re.MULTILINE))
        unusual = needed - USUAL_LIBRARIES - own
        if unusual:
            sys.exit(f"wheel.py: {path} needs {', '.join(sorted(unusual))}")
        for symbol in re.findall(r"\bGLIBC_(\d+)\.(\d+)", text):
            newest = max(newest, tuple(map(int, symbol)))
    machine = os.uname().machine
    return f"manylinux_{newest[0]}_{newest[1]}_{machine}"


def linked(path):
    """What stands in the wheel in the place of a link."""
    target = path.resolve()
    data = target.read_bytes()
    if path.suffix == ".so":
        return f"INPUT({target.name})\n".encode()
    if path.parent.name == "bin" and is_elf(data):
        words = f"--called-as={path.name} " if target.name == "mpicc" else ""
        return SCRIPT.format(program=target.name, words=words).encode()
    return data


def installed(prefix):
    """Place, bytes and mode of each file."""
    for place in sorted(places(prefix)):
        path = prefix / place
        data = linked(path) if path.is_symlink() else path.read_bytes()
        is_program = path.parent.name == "bin" or is_elf(data)
        yield place, data, 0o755 if is_program else 0o644


def lone_folders(places):
    """Folders whose files all lie deeper. pip removes a folder that is left empty if it removes a
    file of it; so each of these gets an empty one."""
    folders = {str(Path(place).parent) for place in places}
    above = {str(folder) for place in folders for folder in Path(place).parents}
    return sorted(above - folders - {"."})


def metadata():
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {NAME.replace('_', '-')}",
        f"Version: {version()}",
        "Summary: A small MPI library: mpirun, mpicc and the MPI standard ABI",
        "License-Expression: MIT OR Apache-2.0",
        "License-File: LICENSE-APACHE",
        "License-File: LICENSE-MIT",
        "License-File: crates.txt",
        "Keywords: MPI,message passing,HPC,RMPP",
        *(f"Classifier: {classifier}" for classifier in CLASSIFIERS),
        "Description-Content-Type: text/markdown",
        "",
        (CHECKOUT / "README.md").read_text(encoding="utf-8"),
    ]
    return "\n".join(lines).encode()


def write(prefix, folder):
    stem = f"{NAME}-{version()}"
    platform = tag(prefix)
    info = f"{stem}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: mpi-lite\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n"
    files = [(f"{stem}.data/data/{place}", data, mode) for place, data, mode in installed(prefix)]
    lone = lone_folders(place for place, _, _ in installed(prefix))
    files += [(f"{stem}.data/data/{folder}/.{NAME}", b"", 0o644) for folder in lone]
    files.append((f"{info}/METADATA", metadata(), 0o644))
    files.append((f"{info}/WHEEL", wheel.encode(), 0o644))
    for name in ("LICENSE-APACHE", "LICENSE-MIT"):
        files.append((f"{info}/licenses/{name}", (CHECKOUT / name).read_bytes(), 0o644))
    files.append((f"{info}/licenses/crates.txt", notices().encode(), 0o644))
    record = ""
    for place, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{place},sha256={digest},{len(data)}\n"
    files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode(), 0o644))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}-py3-none-{platform}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, data, mode in files:
            entry = zipfile.ZipInfo(place, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, data)
    return path


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: wheel.py PREFIX FOLDER")
    print(write(Path(sys.argv[1]).resolve(), Path(sys.argv[2])))
