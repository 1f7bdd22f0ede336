#!/usr/bin/env python3
"""The crates that the installed programs and libraries are built of, on Linux.

    crates.py

prints their licences and the texts that these ask to be handed on. Crates that tests and build
scripts alone use are none of them. CARGO is cargo.
"""

import json
import os
import re
import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]

# The crates whose programs and libraries are installed.
INSTALLED = ("mpi-capi", "launcher", "wrappers")


def metadata():
    """What cargo says of the crates, for this machine's Linux."""
    machine = os.uname().machine
    words = [os.environ.get("CARGO", "cargo"), "metadata", "--format-version=1", "--locked"]
    words += ["--filter-platform", f"{machine}-unknown-linux-gnu"]
    words += ["--features", "mpi-capi/laboratory"]
    return json.loads(subprocess.check_output(words, cwd=CHECKOUT))


def checksums():
    """SHA-256 of the archive of each crate that is not ours, by name and version."""
    text = (CHECKOUT / "Cargo.lock").read_text(encoding="utf-8")
    entry = r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"'
    return {(name, number): digest for name, number, digest in re.findall(entry, text)}


def graph(data):
    """For each crate that is installed, or that one of these uses: those that it uses itself."""
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    names = {package["id"]: package["name"] for package in data["packages"]}
    waiting = [identity for identity in nodes if names[identity] in INSTALLED]
    found = {}
    while waiting:
        identity = waiting.pop()
        if identity in found:
            continue
        used = [
            dependency["pkg"]
            for dependency in nodes[identity]["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        ]
        found[identity] = used
        waiting += used
    return found


# What crates call the files with their licences and notices.
NOTICE = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)", re.IGNORECASE)


def notices():
    """A line with each crate's licence; each text of a licence, below the crates that have it."""
    data = metadata()
    packages = {package["id"]: package for package in data["packages"]}
    found = [packages[identity] for identity in graph(data)]
    others = [package for package in found if package["source"] is not None]
    lines, texts = ["Rust's standard library: MIT OR Apache-2.0\n"], {}
    for package in sorted(others, key=lambda it: (it["name"], it["version"])):
        name = f"{package['name']} {package['version']}"
        lines.append(f"{name}: {package['license']}\n")
        for path in sorted(Path(package["manifest_path"]).parent.iterdir()):
            if path.is_file() and NOTICE.match(path.name):
                text = path.read_text(encoding="utf-8", errors="replace").strip()
                texts.setdefault(text, []).append(name)
    bar = "-" * 80
    parts = [f"{bar}\n{', '.join(names)}\n{bar}\n\n{text}\n" for text, names in texts.items()]
    return "\n".join(["".join(lines), *parts])


if __name__ == "__main__":
    print(notices(), end="")
