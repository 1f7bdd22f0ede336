#!/usr/bin/env python3
"""Writes what the installed programs and libraries consist of, as CycloneDX 1.5.

    sbom.py FOLDER

A component for each crate that they are built of, on Linux: name, version, licence, package URL,
and the SHA-256 of its archive, which Cargo.lock has; and which crate uses which. Crates that tests
and build scripts alone use are none of them. SOURCE_DATE_EPOCH is the date, in seconds; CARGO is
cargo. The same tree gives the same bytes. Source: CycloneDX 1.5; package URL specification, cargo.
"""

import json
import os
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path

from crates import INSTALLED, checksums, graph, metadata
from wheel import version

def reference(package):
    """The name of a component. Our own crates are in no registry and have no package URL."""
    name = f"{package['name']}@{package['version']}"
    return name if package["source"] is None else f"pkg:cargo/{name}"


def component(package, digests):
    """A crate. Old ones write `A/B` for `A OR B`."""
    result = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "licenses": [{"expression": package["license"].replace("/", " OR ")}],
    }
    if package["source"] is not None:
        digest = digests[package["name"], package["version"]]
        result["purl"] = reference(package)
        result["hashes"] = [{"alg": "SHA-256", "content": digest}]
    return result


def bill():
    data = metadata()
    packages = {package["id"]: package for package in data["packages"]}
    uses = graph(data)
    digests = checksums()
    own = {
        "type": "application",
        "bom-ref": "mpi-lite",
        "name": "mpi-lite",
        "version": version(),
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
    }
    components = [component(packages[identity], digests) for identity in uses]
    roots = [it for it in packages.values() if it["name"] in INSTALLED]
    relations = [{"ref": "mpi-lite", "dependsOn": sorted(map(reference, roots))}]
    for identity, used in uses.items():
        targets = sorted({reference(packages[it]) for it in used})
        relations.append({"ref": reference(packages[identity]), "dependsOn": targets})
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    date = datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": date, "component": own},
        "components": sorted(components, key=lambda it: it["bom-ref"]),
        "dependencies": sorted(relations, key=lambda it: it["ref"]),
    }


def write(folder):
    """The number of a bill follows from what it says."""
    content = bill()
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"mpi-lite-{version()}.cdx.json"
    text = json.dumps({**content, "serialNumber": f"urn:uuid:{number}"}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: sbom.py FOLDER")
    print(write(Path(sys.argv[1])))
