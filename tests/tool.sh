#!/bin/sh
# Makes sure that cargo has a subcommand: tool.sh cargo-deny 0.20.2. Installs it from the registry if
# it is missing (any version does that is there already), and says what is missing if it cannot.

tool=$1
version=$2
if command -v "$tool" >/dev/null 2>&1; then
    exit 0
fi
echo "installing $tool $version (once; some minutes)"
# Without optimisation: these tools run for moments, or wait for others.
if ! ${CARGO:-cargo} install --quiet --locked --debug "$tool" --version "$version"; then
    echo "$tool is missing and cannot be installed here: cargo install --locked $tool" >&2
    exit 1
fi
if ! command -v "$tool" >/dev/null 2>&1; then
    echo "$tool is installed, but the folder of cargo's programs is not in PATH" >&2
    exit 1
fi
