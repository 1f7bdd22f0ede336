#!/bin/sh
# What the tests in tests/tests/tidy.rs cannot check of our dependencies: known vulnerabilities. That
# needs cargo-deny and its database, a repository on GitHub. Nothing is installed for it.

deny="${CARGO:-cargo} deny --log-level error"
if ! $deny --version >/dev/null 2>&1; then
    echo "known vulnerabilities NOT checked: cargo-deny is missing (cargo install --locked cargo-deny)"
    exit 0
fi
$deny check bans licenses sources || exit 1
if $deny fetch db >/dev/null 2>&1; then
    $deny check --disable-fetch advisories || exit 1
else
    echo "known vulnerabilities NOT checked:" \
        "the database, https://github.com/RustSec/advisory-db, cannot be had here"
fi
