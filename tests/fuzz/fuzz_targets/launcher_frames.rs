//! What `mpirun` and its agent on another host say to each other: any bytes are messages or
//! refused.
#![no_main]

use launcher::wire::{Order, Report};
use libfuzzer_sys::fuzz_target;
use mpi_lite_fuzz::frames::{check, stream_of};

fuzz_target!(|input: &[u8]| {
    let Some((step, stream)) = stream_of(input) else {
        return;
    };
    check::<Order>(&stream, step);
    check::<Report>(&stream, step);
});
