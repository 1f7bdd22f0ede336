//! Programs of other MPIs: what `mpirun` cannot do with them, in words.

use std::path::Path;

use crate::failure::{Failure, NOT_EXECUTABLE, printable};
use crate::node::elf::{self, Mpi};

/// What the user asks of ranks, and a program of another MPI does not do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wishes {
    /// What asks for a seal, as `--secure`.
    pub seal: Option<String>,
    /// Options that such a program never sees.
    pub options: Vec<&'static str>,
}

/// Refuses a program whose binary interface no library of ours has, for a job of `size` ranks. A
/// single rank meets nobody. A failure names the program, the library and what to do.
pub fn check(program: &Path, shown: &str, size: usize) -> Result<(), Failure> {
    let linked = elf::mpi_of(program).filter(|(mpi, _)| size > 1 && *mpi == Mpi::OpenMpi);
    let Some((mpi, library)) = linked else {
        return Ok(());
    };
    let (shown, library, owner) = (printable(shown), printable(&library), mpi.name());
    Err(Failure::new(
        NOT_EXECUTABLE,
        format!(
            "program '{shown}' is linked with {owner} ({library}), and mpi-lite has the binary \
             interfaces of MPI 5.0 and of MPICH: start it with the mpirun of {owner}, or compile \
             it with the mpicc of mpi-lite"
        ),
    ))
}

/// The line about `who`, which has loaded this library and has not called our Init.
pub fn loaded(who: &str, library: &str) -> String {
    let owner = elf::owner(library).map_or("another MPI", Mpi::name);
    let library = printable(library);
    format!(
        "{who} has loaded {library} of {owner} and has not called MPI_Init of mpi-lite: for \
         {owner} each process of this job is rank 0 of 1; start it with the mpirun of {owner}, or \
         let it use mpi-lite (mpi4py: set MPI4PY_LIBMPI to lib/libmpi.so.12 of mpi-lite)"
    )
}

impl Wishes {
    /// The line that ends the job when `who` turns out to run a program of another MPI, if the user
    /// asks for what nobody may go without.
    pub fn refusal(&self, who: &str) -> Option<String> {
        let seal = self.seal.as_ref()?;
        Some(format!(
            "{who} runs a program of another MPI (it uses PMI), whose messages {seal} does not \
             protect; ending the job: compile it with the mpicc of mpi-lite, or ask for no seal"
        ))
    }

    /// The note that options have no effect on what `who` runs, if there are such.
    pub fn note(&self, who: &str) -> Option<String> {
        let (last, others) = self.options.split_last()?;
        let (options, do_nothing) = match others {
            [] => ((*last).to_string(), "does nothing"),
            others => (format!("{} and {last}", others.join(", ")), "do nothing"),
        };
        Some(format!(
            "note: {options} {do_nothing} here: {who} runs a program of another MPI (it uses PMI)"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_lists_what_has_no_effect() {
        let note = |options: &[&'static str]| {
            let options = options.to_vec();
            Wishes {
                seal: None,
                options,
            }
            .note("rank 0")
        };
        assert_eq!(note(&[]), None);
        let who = "rank 0 runs a program of another MPI (it uses PMI)";
        let one = format!("note: --net does nothing here: {who}");
        assert_eq!(note(&["--net"]), Some(one));
        let three = format!("note: --net, --stats and --packets do nothing here: {who}");
        assert_eq!(note(&["--net", "--stats", "--packets"]), Some(three));
    }
}
