#!/bin/sh
# Mutation testing: changes one thing at a time in the protocol, and in mpi-lite's matching, requests
# and ring, and sees whether a test notices. A sample of about MUTANTS mutants, every n-th of all,
# beginning with the one that MUTANTS_SEED says; SHARD=k/m (k from 0) runs a part of the sample. A
# mutant is caught if one of its tests hangs for a minute; it counts as hanging if all its tests
# together have not ended after MUTANTS_TIMEOUT seconds. Each result is kept below target/mutants.

cargo=${CARGO:-cargo}
count=${MUTANTS:-300}
seed=${MUTANTS_SEED:-$(date +%s)}
shard=${SHARD:-0/1}
timeout=${MUTANTS_TIMEOUT:-300} # and the other tests are built meanwhile
folder=target/mutants
sh tests/tool.sh cargo-mutants 27.1.0 || exit 1
sh tests/tool.sh cargo-nextest 0.9.143 || exit 1

# Simulation in small: the first seeds are always the same, so that a mutant is found or not.
export RMPP_FIRST_SEED=0 RMPP_SEEDS=40 RMPP_FUZZ_SEED=1 RMPP_FUZZ_RUNS=20000 MPILITE_PROGRAMS=20
# What tests/mutants_cargo.sh wants to know.
export REAL_CARGO="$cargo" QUICK_TESTS="protocol matching"

engine=mpi-lite/src/engine
shm=mpi-lite/src/transport/shm
files_of() { # package
    case $1 in
    rmpp-core) echo "-f rmpp-core/src/**/*.rs -e **/survey.rs" ;;
    mpi-lite) echo "-f $engine/inbox/matching/*.rs -f $engine/requests/*.rs" \
        "-f $engine/lane/*.rs -e **/*tests.rs" \
        "-f $shm/ring.rs -f $shm/reply_slot.rs -f $shm/link.rs -f $shm/header.rs" ;;
    esac
}

# What shows nothing: texts for humans, and what only the simulator calls.
skipped='impl (fmt::)?(Debug|Display)|Hash for'

mkdir -p $folder
set -f # the patterns are cargo-mutants' own
# shellcheck disable=SC2046,SC2086 # lists of words are meant
all=$($cargo mutants --config tests/mutants.toml --list -E "$skipped" \
    $(files_of rmpp-core) $(files_of mpi-lite) | wc -l)
[ "$all" -gt 0 ] || exit 1
every=$((all / count))
[ "$every" -gt 0 ] || every=1
first=$((seed % every + every * ${shard%/*}))
parts=$((every * ${shard#*/}))
echo "mutants: $all in all; MUTANTS_SEED=$((seed % every)) MUTANTS=$count SHARD=$shard: every" \
    "${parts}th from ${first}"

: >$folder/caught
: >$folder/late
: >$folder/missed
: >$folder/unviable
run() { # package, feature and packages of its tests, test programs that each mutant must pass
    package=$1
    feature=$2
    tested=$3
    shift 3
    # shellcheck disable=SC2046 # a list of words is meant
    CARGO_TARGET_DIR=$PWD/$folder/build CARGO=$PWD/tests/mutants_cargo.sh \
        cargo-mutants mutants --config tests/mutants.toml \
        $(files_of "$package") -E "$skipped" --package "$package" \
        --test-package "$tested" --features "$feature" \
        --shard "$first/$parts" --sharding round-robin \
        --baseline skip --timeout "$timeout" --build-timeout 600 \
        --colors never \
        --cargo-test-arg=--max-fail=1:immediate \
        --cargo-test-arg=--config-file="$PWD/tests/nextest.toml" \
        --output "$folder/$package" --cargo-arg=--lib $(printf -- '--cargo-arg=--test=%s ' "$@")
    case $? in # 2: some were missed; 3: some ran out of time
    0 | 2 | 3) ;;
    *) echo "mutants: the run of $package broke off" && exit 1 ;;
    esac
    out=$folder/$package/mutants.out
    cat "$out/caught.txt" >>$folder/caught
    cat "$out/timeout.txt" >>$folder/late
    cat "$out/missed.txt" >>$folder/missed
    cat "$out/unviable.txt" >>$folder/unviable
}
run rmpp-core rmpp-core/simulated rmpp-core,rmpp-sim protocol sim
run mpi-lite mpi-lite/sim mpi-lite matching jobs allocation

caught=$(wc -l <$folder/caught)
late=$(wc -l <$folder/late)
missed=$(wc -l <$folder/missed)
[ $((caught + late + missed)) -gt 0 ] || { echo "mutants: none compiled"; exit 1; }
echo "mutants: $caught caught, $late that hang (or the machine is too busy), $missed missed," \
    "$(wc -l <$folder/unviable) do not compile"
# Those that docs/mutants.md names, without their line numbers, are known.
sed -e 's/:[0-9]*:[0-9]*: /: /' -e 's/|/\\|/g' $folder/missed | sort -u | while read -r mutant; do
    grep -qF "$mutant" docs/mutants.md || echo "not in docs/mutants.md: $mutant"
done >$folder/new
cat $folder/new
[ ! -s $folder/new ]
