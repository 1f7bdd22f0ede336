#!/usr/bin/env python3
"""Makes Debian packages of an installation: mpi-lite, mpi-lite-dev and mpi-lite-doc.

    deb.py PREFIX FOLDER [LEVEL]

PREFIX is what `make install` wrote; the packages go to FOLDER. LEVEL is how hard xz tries, 0 to 9.
SOURCE_DATE_EPOCH is the date of all files, in seconds. DEBFULLNAME and DEBEMAIL name who makes the
packages. The same installation gives the same bytes.

Everything lies below /usr/lib/mpi-lite, so that no file takes the place of another MPI's. Programs
have names of their own in /usr/bin (mpirun.mpilite); mpirun and mpicc are alternatives, as those of
Debian's MPIs. Source: Debian Policy 4.6; deb(5), deb-control(5), update-alternatives(1).
"""

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path

from crates import notices
from wheel import CHECKOUT, LIST, is_elf, version

# Where an installation lies in a package, and what its programs are called outside of it.
PRIVATE = "usr/lib/mpi-lite"
SUFFIX = ".mpilite"
DOCUMENTS = "usr/share/doc/mpi-lite"
MANUAL = "usr/share/man/man1"
COMPLETIONS = "usr/share/bash-completion/completions"

# Debian's MPICH has 40 and Open MPI 50: the one with the highest number is taken.
PRIORITY = 20
# The first package of this version.
REVISION = "1"

# Wrappers that say that there is no Fortran; an installation has no pages for them.
FORTRAN = ("mpifort", "mpif90", "mpif77")

# What nobody reads who has only the packages.
LEFT_OUT_DOCUMENTS = ("laboratory", "notebook")

# The pages at the top of the source, to which others lead.
ROOT_DOCUMENTS = ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")

OVERRIDES = f"""\
# All that it has are jumps into libmpi_abi.so.1.
mpi-lite: library-not-linked-against-libc [{PRIVATE}/lib/libmpi.so.12]
"""

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
MAINTAINER = "{} <{}>".format(
    os.environ.get("DEBFULLNAME", "The mpi-lite authors"),
    os.environ.get("DEBEMAIL", "mpi-lite@packages.invalid"),
)


@dataclass
class Package:
    """A package, with further fields of its control file and the names that others offer too."""

    name: str
    section: str
    summary: str
    description: str
    fields: dict = field(default_factory=dict)
    is_independent: bool = False
    links: list = field(default_factory=list)


@dataclass
class Link:
    """A name that several packages offer, the group of all who do, and what it leads to for us.

    A slave is a name that follows the choice for another one."""

    path: str
    group: str
    target: str
    slaves: list = field(default_factory=list)


def ask(*words):
    if not shutil.which(words[0]):
        sys.exit(f"deb.py: {words[0]} is missing (packages dpkg and dpkg-dev)")
    return subprocess.check_output(words, text=True).strip()


ARCHITECTURE = ask("dpkg", "--print-architecture")
TRIPLET = ask("dpkg-architecture", "-qDEB_HOST_MULTIARCH")
PKGCONFIG = f"usr/lib/{TRIPLET}/pkgconfig"
INCLUDE = f"usr/include/{TRIPLET}"

RUNTIME = Package(
    "mpi-lite",
    "net",
    "small MPI library: mpirun and the libraries",
    """\
MPI programs are processes that send each other messages. mpi-lite starts them
and has the library that they call: the standard ABI of MPI 5.0, and MPICH's.
Ranks of one machine share memory; between machines they speak a reliable
protocol over UDP. If a job hangs, mpirun says why.
.
The libraries lie in a folder of their own. mpirun is an alternative beside
those of other MPIs.""",
    {"Recommends": "openssh-client", "Suggests": "mpi-lite-dev, mpi-lite-doc"},
)
DEVELOPMENT = Package(
    "mpi-lite-dev",
    "libdevel",
    "small MPI library: compiler wrappers and header",
    """\
mpicc and mpicxx compile and link MPI programs in C and C++ with mpi-lite. The
package has the header, the static library and files for pkg-config too, and
mpi-packets, which shows the packets of a job.
.
mpicc is an alternative beside those of other MPIs.""",
    {"Recommends": "gcc, libc6-dev", "Suggests": "g++, mpi-lite-doc"},
)
PAGES = Package(
    "mpi-lite-doc",
    "doc",
    "small MPI library: guide and reference",
    """\
The guide to mpi-lite, and pages with all settings, counters, transports and
functions of MPI. The library names these pages in its messages.""",
    is_independent=True,
)


def owner(place):
    """The package of a file of the installation, or None: debug information, and pages, which
    come from the source."""
    name = Path(place).name
    if ".debug" in place.split("/") or place.startswith("share/doc/"):
        return None
    if re.match(r"mpi(run|exec)\b", name) or re.search(r"\.so\.\d+$", name):
        return RUNTIME
    return DEVELOPMENT


class Tree:
    """The files of a package, before they are packed."""

    def __init__(self, root):
        self.root = root

    def path(self, place):
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, place, text, mode=0o644):
        path = self.path(place)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)

    def write_packed(self, place, text):
        data = text if isinstance(text, bytes) else text.encode()
        self.write(place, gzip.compress(data, mtime=0))

    def link(self, place, target):
        """A link; from one folder of the package to another it is relative."""
        path = self.path(place)
        path.symlink_to(os.path.relpath(f"/{target}", f"/{Path(place).parent}"))

    def files(self):
        """Places of all files and links, sorted."""
        paths = (path for path in self.root.rglob("*") if path.is_symlink() or path.is_file())
        places = (path.relative_to(self.root) for path in paths)
        return sorted(place for place in places if place.parts[0] != "DEBIAN")


def absolute(text):
    """A file for pkg-config that other folders may have a link to."""
    return re.sub(r"^prefix=.*", f"prefix=/{PRIVATE}", text, count=1)


def outside(program):
    """What a program is called in /usr/bin. No other MPI has an mpi-packets."""
    return program if program == "mpi-packets" else program + SUFFIX


def page(name):
    """The manual page of a program, as it is called outside."""
    return f"{MANUAL}/{outside(name)}.1.gz"


def put_manual(tree, path):
    if path.is_symlink():
        tree.link(page(path.stem), page(path.resolve().stem))
    else:
        tree.write_packed(page(path.stem), path.read_bytes())


def put(tree, prefix, place):
    """One file of the installation, and its names outside of the private folder."""
    path, name = prefix / place, Path(place).name
    if place.startswith("share/man/"):
        put_manual(tree, path)
        return
    if path.is_symlink():
        tree.path(f"{PRIVATE}/{place}").symlink_to(os.readlink(path))
    else:
        data = path.read_bytes()
        is_program = path.parent.name == "bin"
        tree.write(f"{PRIVATE}/{place}", data, 0o755 if is_program else 0o644)
    if path.parent.name == "bin":
        tree.link(f"usr/bin/{outside(name)}", f"{PRIVATE}/{place}")
    elif path.parent.name == "completions":
        names = f"mpirun{SUFFIX} mpiexec{SUFFIX}"
        text = re.sub(r"mpirun mpiexec$", names, path.read_text(), flags=re.MULTILINE)
        tree.write(f"{COMPLETIONS}/{name}{SUFFIX}", text)
    elif place.startswith("lib/pkgconfig/"):
        own = name if name.startswith("mpi-lite-") else name.replace("mpi-", "mpilite-")
        tree.write(f"{PKGCONFIG}/{own}", absolute(path.read_text()))


def put_documents(tree):
    """The pages and the guide, where messages of the library say that they are."""
    for path in sorted((CHECKOUT / "docs").rglob("*")):
        place = path.relative_to(CHECKOUT / "docs")
        if path.is_file() and not place.parts[0].startswith(LEFT_OUT_DOCUMENTS):
            up = b"../" * len(place.parts)
            text = path.read_bytes()
            for name in ROOT_DOCUMENTS:
                own = up[3:] + name.encode()
                text = text.replace(b"](" + up + name.encode(), b"](" + own)
            tree.write(f"{DOCUMENTS}/{place}", text)
    for name in ROOT_DOCUMENTS:
        text = (CHECKOUT / name).read_bytes().replace(b"](docs/", b"](")
        tree.write(f"{DOCUMENTS}/{name}", text)


def manual_slaves(names):
    return [Link(f"/{MANUAL}/{name}.1.gz", f"{name}.1.gz", f"/{page(name)}") for name in names]


def program(name):
    return Link(f"/usr/bin/{name}", name, f"/usr/bin/{outside(name)}")


def launcher_links():
    link = program("mpirun")
    link.slaves = [program("mpiexec"), *manual_slaves(["mpirun", "mpiexec"])]
    for name in ("mpirun", "mpiexec"):
        place = f"/{COMPLETIONS}/{name}"
        own = f"/{PRIVATE}/share/bash-completion/completions/{name}"
        link.slaves.append(Link(place, f"{name}.bash-completion", own))
    return [link]


def compiler_links():
    """mpicc with the other wrappers; the header's folder with the names for pkg-config.

    `libmpi.so` is none of them: a program that is linked by that name alone has no path to our
    library, and would not start."""
    wrapper = program("mpicc")
    wrapper.group = "mpi"
    others = ["mpicxx", "mpic++", "mpiCC", *FORTRAN]
    wrapper.slaves = [program(name) for name in others] + manual_slaves(["mpicc", *others])
    header = Link(f"/{INCLUDE}/mpi", f"mpi-{TRIPLET}", f"/{INCLUDE}/mpi-lite")
    for name, own in (("mpi", "mpilite"), ("mpi-c", "mpilite-c"), ("mpi-cxx", "mpilite-cxx")):
        place, target = f"/{PKGCONFIG}/{name}.pc", f"/{PKGCONFIG}/{own}.pc"
        header.slaves.append(Link(place, f"{name}.pc-{TRIPLET}", target))
    return [wrapper, header]


def scripts(links):
    """postinst and prerm."""
    install, remove = "", ""
    for link in links:
        words = f"{link.path} {link.group} {link.target} {PRIORITY}"
        install += f"        update-alternatives --install {words}"
        for slave in link.slaves:
            install += f" \\\n            --slave {slave.path} {slave.group} {slave.target}"
        install += "\n"
        remove += f"        update-alternatives --remove {link.group} {link.target}\n"
    script = '#!/bin/sh\nset -e\ncase "$1" in\n    {})\n{}        ;;\nesac\n'
    return (
        script.format("configure | abort-remove | abort-deconfigure", install),
        script.format("remove | deconfigure", remove),
    )


def copyright_text():
    """The machine-readable format. Debian has Apache's licence in /usr/share/common-licenses."""
    mit = (CHECKOUT / "LICENSE-MIT").read_text(encoding="utf-8")
    holder = re.search(r"^Copyright \(c\) (.+)$", mit, re.MULTILINE)[1]
    words = mit.split("\n\n", 2)[2].strip().split("\n")
    folded = "\n".join(f" {line}" if line else " ." for line in words)
    return f"""\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: mpi-lite
Comment: The programs and libraries are built of other works, too. Their
 licences are in /usr/share/doc/mpi-lite/crates.txt.gz.

Files: *
Copyright: {holder}
License: Expat or Apache-2.0

License: Expat
{folded}

License: Apache-2.0
 Licensed under the Apache License, Version 2.0. On Debian systems the complete
 text is in /usr/share/common-licenses/Apache-2.0.
"""


def changelog():
    return f"""\
mpi-lite ({version()}-{REVISION}) unstable; urgency=medium

  * Version {version()}: /usr/share/doc/mpi-lite/changelog.gz says what changed.

 -- {MAINTAINER}  {formatdate(EPOCH)}
"""


def put_legal(tree, package):
    folder = f"usr/share/doc/{package.name}"
    tree.write(f"{folder}/copyright", copyright_text())
    tree.write_packed(f"{folder}/changelog.Debian.gz", changelog())
    tree.write_packed(f"{folder}/changelog.gz", (CHECKOUT / "CHANGELOG.md").read_bytes())


def shared_libraries(work, package):
    """What the programs and libraries need of the system. `work` has debian/PACKAGE for each."""
    tree = Tree(work / "debian" / package.name)
    paths = [tree.root / place for place in tree.files()]
    programs = [path for path in paths if not path.is_symlink() and is_elf(path.read_bytes())]
    if not programs:
        return []
    own = work / "debian" / RUNTIME.name
    words = ["dpkg-shlibdeps", "-O", f"-l{own / PRIVATE / 'lib'}", f"-I{own}"]
    words += [f"-e{path}" for path in programs]
    text = subprocess.check_output(words, cwd=work, text=True)
    return re.findall(r"^shlibs:Depends=(.+)$", text, re.MULTILINE)


def control(tree, package, libraries):
    """The fields in the order of deb-control(5)."""
    own = [f"mpi-lite (= {version()}-{REVISION})"] if package is DEVELOPMENT else []
    size = sum((tree.root / place).lstat().st_size + 1023 >> 10 for place in tree.files())
    values = {
        "Package": package.name,
        "Source": None if package is RUNTIME else "mpi-lite",
        "Version": f"{version()}-{REVISION}",
        "Architecture": "all" if package.is_independent else ARCHITECTURE,
        "Maintainer": MAINTAINER,
        "Installed-Size": size,
        "Depends": ", ".join(own + libraries),
        **package.fields,
        "Section": package.section,
        "Priority": "optional",
        "Description": package.summary,
    }
    text = "".join(f"{name}: {value}\n" for name, value in values.items() if value)
    return text + "".join(f" {line}\n" for line in package.description.splitlines())


def put_control(tree, package, libraries):
    tree.write("DEBIAN/control", control(tree, package, libraries))
    sums = ""
    for place in tree.files():
        path = tree.root / place
        if not path.is_symlink():
            sums += f"{hashlib.md5(path.read_bytes()).hexdigest()}  {place}\n"
    tree.write("DEBIAN/md5sums", sums)
    if package.links:
        for name, text in zip(("postinst", "prerm"), scripts(package.links)):
            tree.write(f"DEBIAN/{name}", text, 0o755)


def pack(tree, package, folder, level):
    """One archive. All that the packer could take from this machine is set."""
    for path in [tree.root, *tree.root.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
        os.utime(path, (EPOCH, EPOCH), follow_symlinks=False)
    architecture = "all" if package.is_independent else ARCHITECTURE
    path = folder / f"{package.name}_{version()}-{REVISION}_{architecture}.deb"
    words = ["dpkg-deb", "--root-owner-group", "-Zxz", f"-z{level}", "--threads-max=1"]
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(EPOCH)}
    subprocess.run(
        [*words, "--build", tree.root, path],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    return path


def write(prefix, folder, level):
    RUNTIME.links = launcher_links()
    DEVELOPMENT.links = compiler_links()
    packages = (RUNTIME, DEVELOPMENT, PAGES)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        trees = {package.name: Tree(work / "debian" / package.name) for package in packages}
        for tree in trees.values():
            (tree.root / "DEBIAN").mkdir(parents=True)
        for line in (prefix / LIST).read_text(encoding="utf-8").splitlines():
            place = line.split(" ", 1)[1]
            package = owner(place)
            if package:
                put(trees[package.name], prefix, place)
        for name in FORTRAN:
            trees[DEVELOPMENT.name].link(page(name), page("mpicc"))
        put_documents(trees[PAGES.name])
        # The page that a message names is there once mpi-lite-doc is installed.
        trees[RUNTIME.name].link(f"{PRIVATE}/share/doc/mpilite", DOCUMENTS)
        trees[RUNTIME.name].write("usr/share/lintian/overrides/mpi-lite", OVERRIDES)
        trees[RUNTIME.name].write_packed(f"{DOCUMENTS}/crates.txt.gz", notices())
        trees[DEVELOPMENT.name].link(f"{INCLUDE}/mpi-lite", f"{PRIVATE}/include")
        stanzas = [f"Package: {package.name}\nArchitecture: any\n" for package in packages]
        (work / "debian/control").write_text("\n".join(["Source: mpi-lite\n", *stanzas]))
        for package in packages:
            tree = trees[package.name]
            put_legal(tree, package)
            put_control(tree, package, shared_libraries(work, package))
            yield pack(tree, package, folder, level)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: deb.py PREFIX FOLDER [LEVEL]")
    level = sys.argv[3] if len(sys.argv) == 4 else "9"
    for path in write(Path(sys.argv[1]).resolve(), Path(sys.argv[2]), level):
        print(path)
