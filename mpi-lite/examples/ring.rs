//! A token goes round all ranks: the Rust side of the library on one page.
//!
//! `mpirun -n 4 target/debug/examples/ring`

use mpi_lite::data::Buffer;
use mpi_lite::error::Result;
use mpi_lite::ids::{Dest, Mode, Source, TagSelector};
use mpi_lite::world::Process;

const ROUNDS: u32 = 1000;

fn main() -> Result<()> {
    let process = Process::init()?;
    let world = process.world();
    let (rank, size) = (world.rank().cast_signed(), world.size().cast_signed());
    let (next, last) = (
        Dest::Rank((rank + 1) % size),
        Source::Rank((rank + size - 1) % size),
    );
    let token = Buffer::zeroed(4)?;
    let value = || {
        let mut bytes = [0; 4];
        token.pack_into(&mut bytes);
        u32::from_be_bytes(bytes)
    };
    for round in 0..ROUNDS {
        if rank == 0 {
            token.unpack(&round.to_be_bytes());
            world.send(token.area()?, next, 7, Mode::Standard)?;
            world.recv(token.area()?, last, TagSelector::Tag(7))?;
            let laps = value() - round;
            assert_eq!(laps, world.size() - 1, "each other rank adds one");
        } else {
            world.recv(token.area()?, last, TagSelector::Tag(7))?;
            token.unpack(&(value() + 1).to_be_bytes());
            world.send(token.area()?, next, 7, Mode::Standard)?;
        }
    }
    if rank == 0 {
        println!("{ROUNDS} rounds through {size} ranks");
    }
    process.finalize("finalize", false)
}
