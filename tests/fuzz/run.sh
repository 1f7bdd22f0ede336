#!/bin/sh
# Fuzzes each target for FUZZ_SECONDS seconds, guided by coverage, and says what came of it. TARGETS
# chooses among them. New inputs stay below target/fuzz, so that the next run begins with them; a
# crash is there too, and belongs into a test.

cargo=${CARGO:-cargo}
seconds=${FUZZ_SECONDS:-100}
folder=target/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')

$cargo +nightly --version >/dev/null 2>&1 || {
    echo "fuzz: the nightly toolchain is missing: rustup toolchain install nightly --profile minimal" >&2
    exit 1
}
sh tests/tool.sh cargo-fuzz 0.13.2 || exit 1
$cargo +nightly fuzz build --fuzz-dir tests/fuzz --target-dir $folder || exit 1

targets=${TARGETS:-$($cargo +nightly fuzz list --fuzz-dir tests/fuzz)}
failed=
printf '%-16s %8s %12s %18s %12s\n' target seconds executions coverage "new inputs"
for target in $targets; do
    inputs=$folder/inputs/$target
    mkdir -p "$inputs" $folder/crashes
    cp -n tests/fuzz/seeds/"$target"/* "$inputs"/ 2>/dev/null
    log=$folder/$target.log
    $folder/"$host"/release/"$target" -max_total_time="$seconds" -max_len=4096 -timeout=25 \
        -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$folder/crashes/$target-" \
        "$inputs" >"$log" 2>&1 || failed="$failed $target"
    awk -v target="$target" '
        $2 == "INITED" && $3 == "cov:" { before = $4 }
        $3 == "cov:" { after = $4 }
        /^stat::number_of_executed_units/ { units = $2 }
        /^stat::new_units_added/ { added = $2 }
        /^Done / { seconds = $5 }
        END { printf "%-16s %8s %12d %9d -> %5d %12d\n", target, seconds, units, before, after, added }
    ' "$log"
done
for target in $failed; do
    echo "fuzz: $target failed; $folder/$target.log ends so:" >&2
    tail -n 40 "$folder/$target.log" >&2
done
[ -z "$failed" ]
