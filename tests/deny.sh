#!/bin/sh
# What we depend on, by the rules of deny.toml: licences, sources and versions always; known
# vulnerabilities if their database (a repository on GitHub) can be had.

sh tests/tool.sh cargo-deny 0.20.2 || exit 1
deny="${CARGO:-cargo} deny --log-level error"
$deny check bans licenses sources || exit 1
if $deny fetch db >/dev/null 2>&1; then
    $deny check --disable-fetch advisories || exit 1
else
    echo "advisories NOT checked: their database, https://github.com/RustSec/advisory-db, cannot be had here"
fi
