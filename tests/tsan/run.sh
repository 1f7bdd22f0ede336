#!/bin/sh
# Runs the tests of threads under ThreadSanitizer, which sees what two threads touch with nothing
# between that orders it: unit tests of the engine, and C programs that several threads of each rank
# run, with the library and all that it is made of built for it.

cargo=${CARGO:-cargo}
folder=${CARGO_TARGET_DIR:-target}/tsan
host=$(rustc -vV | sed -n 's/^host: //p')
library=$folder/library/$host/release/libmpi_abi.a

$cargo +nightly --version >/dev/null 2>&1 || {
    echo "tsan: the nightly toolchain is missing: rustup toolchain install nightly --profile minimal" >&2
    exit 1
}
root=$(rustc +nightly --print sysroot)
[ -d "$root/lib/rustlib/src" ] || rustup +nightly component add rust-src || exit 1
runtime=$(find "$root/lib/rustlib" -name '*_rt.tsan.a')
mkdir -p "$folder"

RUSTFLAGS="-Zsanitizer=thread" $cargo +nightly test -Zbuild-std --target "$host" \
    --target-dir "$folder/tests" --package mpi-lite --lib -- \
    engine::waiting::lead_tests engine::waiting::lock_tests engine::tasks::tests \
    >"$folder/log" 2>&1 || {
    cat "$folder/log" >&2
    exit 1
}
grep "^test result" "$folder/log"
grep -q "^running [1-9]" "$folder/log" || {
    echo "tsan: no unit test has these names" >&2
    exit 1
}

# The runtime is linked to the programs.
RUSTFLAGS="-Zsanitizer=thread -Zexternal-clangrt" CARGO_PROFILE_RELEASE_LTO=off \
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 $cargo +nightly build -Zbuild-std=std,panic_abort \
    --target "$host" --target-dir "$folder/library" --release --package mpi-capi || exit 1

build() { # source
    program=$folder/$(basename "$1" .c)
    gcc -fsanitize=thread -g -O1 -I include -c "$1" -o "$program.o" &&
        gcc "$program.o" -Wl,--whole-archive "$runtime" -Wl,--no-whole-archive "$library" \
            -lm -ldl -lpthread -lrt -lstdc++ -rdynamic -o "$program"
}

run() { # program ranks transport
    TSAN_OPTIONS="exitcode=66 second_deadlock_stack=1" timeout 300 \
        "${MPILITE_PREFIX:?}/bin/mpirun" --transport "$3" -n "$2" "$1" >"$folder/log" 2>&1
}

build tests/tsan/race.c || exit 1
run "$program" 1 shm
grep -q "WARNING: ThreadSanitizer: data race" "$folder/log" || {
    echo "tsan: it does not see a race inside MPI_Pack; $folder/log has what it says" >&2
    exit 1
}

for source in tests/c/environment/threads*.c tests/c/collective/computing.c; do
    build "$source" || exit 1
    for ranks in 2 3; do
        for transport in shm rmpp; do
            run "$program" $ranks $transport || {
                echo "tsan: $source, $ranks ranks over $transport: exit status $?" >&2
                grep -v '^ *$' "$folder/log" | head -n 60 >&2
                exit 1
            }
        done
        echo "tsan: $source, $ranks ranks: ok"
    done
done
