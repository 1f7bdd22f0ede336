#!/bin/sh
# The cargo that cargo-mutants calls for `make mutants`: a mutant meets the unit tests and the tests
# named in QUICK_TESTS first, which catch most, and all the others only if it passes. So most mutants
# need a few programs built instead of all. REAL_CARGO is cargo itself.

[ "$1 $2" = "nextest run" ] || exec "$REAL_CARGO" "$@"

# Calls cargo with the given arguments without the tests that are not quick.
quick() {
    count=$#
    while [ "$count" -gt 0 ]; do
        argument=$1
        shift
        count=$((count - 1))
        case $argument in
        --test=*) case " $QUICK_TESTS " in *" ${argument#--test=} "*) ;; *) continue ;; esac ;;
        esac
        set -- "$@" "$argument"
    done
    "$REAL_CARGO" "$@"
}

quick "$@" || exit
case " $* " in
*" --no-run "*) exit 0 ;; # cargo-mutants builds first, apart
esac
exec "$REAL_CARGO" "$@"
