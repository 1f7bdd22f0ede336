# Runs the words of the command line in namespaces that vanish with this shell, whatever ends it:
# its processes, its network, its loss. The variables:
#
#   BENCH_NETWORK   own: a loopback of BENCH_MTU bytes and nothing else; outer: the machine's
#   BENCH_PACKETS   wire: the interface cuts nothing and joins nothing, as a wire would
#   BENCH_LOSS      the part of the packets of BENCH_PROTOCOL that is lost, such as 0.01
#   BENCH_LIMIT_S   seconds after which the words are ended (exit code 124)
#   BENCH_CUT_S     cuts the network for so long once BENCH_READY exists; makes BENCH_STOP and heals
#   BENCH_STRAYS    program and words that send stray packets meanwhile
set -e

prepare_network() {
    mount -t sysfs sysfs /sys
    ip link set lo up mtu "$BENCH_MTU"
    if [ "$BENCH_PACKETS" = wire ]; then
        ethtool -K lo tso off gso off gro off tx-udp-segmentation off >/dev/null
    fi
    if [ -n "$BENCH_LOSS" ]; then
        iptables -A INPUT -i lo -p "$BENCH_PROTOCOL" -m statistic --mode random \
            --probability "$BENCH_LOSS" -j DROP
    fi
}

cut_and_heal() {
    while ! [ -e "$BENCH_READY" ]; do
        kill -0 "$job"
        sleep 0.02
    done
    sleep 0.2
    iptables -A INPUT -i lo -p "$BENCH_PROTOCOL" -j DROP
    sleep "$BENCH_CUT_S"
    : >"$BENCH_STOP"
    iptables -D INPUT -i lo -p "$BENCH_PROTOCOL" -j DROP
    echo "healed: $(date +%s.%N)"
}

if [ "$BENCH_NETWORK" = own ]; then
    prepare_network
fi
if [ -n "$BENCH_STRAYS" ]; then
    # shellcheck disable=SC2086 # a list of words is meant
    $BENCH_STRAYS &
    strays=$!
fi
timeout --kill-after=1 "$BENCH_LIMIT_S" "$@" &
job=$!
if [ -n "$BENCH_CUT_S" ]; then
    cut_and_heal
fi
code=0
wait "$job" || code=$?
if [ -n "$BENCH_STRAYS" ]; then
    kill "$strays" 2>/dev/null || true
    wait "$strays" || true
fi
exit "$code"
