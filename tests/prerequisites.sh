#!/bin/sh
# Installs what the tests need beside Rust, where it can; names what is missing where it cannot.
#
#   gcc g++ objcopy nm   compile and look at C programs
#   pkg-config cmake     ask of the installation what build systems ask
#   sshd ssh ssh-keygen  two hosts on one machine
#   unshare ip iptables  a network that loses packets
set -u

missing() {
    for pair in gcc:gcc g++:g++ objcopy:binutils nm:binutils pkg-config:pkg-config cmake:cmake \
        sshd:openssh-server ssh:openssh-client ssh-keygen:openssh-client \
        unshare:util-linux ip:iproute2 iptables:iptables; do
        PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null 2>&1 || echo "$pair"
    done
}

wanted=$(missing)
[ -z "$wanted" ] && exit 0
packages=$(echo "$wanted" | sed 's/.*://' | sort -u | tr '\n' ' ')
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing for the tests: $packages"
    apt-get update -qq >/dev/null 2>&1
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages \
        >/dev/null 2>&1
fi
wanted=$(missing)
[ -z "$wanted" ] && exit 0
echo "the tests need programs that are not here: $(echo "$wanted" | sed 's/:.*//' | tr '\n' ' ')" >&2
echo "install them (Debian's packages: $packages) and run make test again" >&2
exit 1
