//! Sending the programs to the other hosts (`--preload`), in pieces and before the ranks start.
//!
//! No more is on the way to a host than it has read lately, so that the signs of life do not wait
//! behind it for long.

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde_bytes::ByteBuf;

use crate::failure::{Failure, printable};
use crate::wire::Order;

/// The longest program, in bytes.
const FILE_MAX: u64 = 512 << 20;

/// The bytes of a piece, far fewer than a frame may have.
const PIECE: usize = 64 << 10;

/// How many bytes of orders may wait for a host before it gets another piece.
pub const BACKLOG: usize = 256 << 10;

/// A program that is sent.
#[derive(Debug)]
struct Sent {
    number: u32,
    path: PathBuf,
    file: File,
}

/// How far a node has got.
#[derive(Debug, Default)]
struct Course {
    /// The programs that it still needs, by their places.
    needs: VecDeque<usize>,
    /// How much of the first one was sent.
    offset: u64,
}

/// The programs on their way to the other hosts.
#[derive(Debug, Default)]
pub struct Preload {
    programs: Vec<Sent>,
    /// By node.
    courses: Vec<Course>,
}

impl Preload {
    /// Opens `programs`, each with its number in the job. `needs` has for each node the numbers of
    /// those that it shall get.
    ///
    /// # Errors
    ///
    /// A failure that names a program that cannot be read or is too long.
    pub fn new(programs: &[(u32, &Path)], needs: &[Vec<u32>]) -> Result<Preload, Failure> {
        let mut sent = Vec::new();
        for (number, path) in programs {
            if needs.iter().flatten().any(|needed| needed == number) {
                sent.push(open(*number, path)?);
            }
        }
        let place = |number: &u32| sent.iter().position(|it| it.number == *number);
        let course = |needs: &Vec<u32>| Course {
            needs: needs.iter().filter_map(place).collect(),
            offset: 0,
        };
        let courses = needs.iter().map(course).collect();
        let programs = sent;
        Ok(Preload { programs, courses })
    }

    /// The next piece for a node, if there is one.
    ///
    /// # Errors
    ///
    /// A line about a program that cannot be read.
    pub fn piece(&mut self, node: usize) -> Option<Result<Order, String>> {
        let course = self.courses.get_mut(node)?;
        loop {
            let place = course.needs.front()?;
            let Sent { number, path, file } = &self.programs[*place];
            let mut bytes = vec![0; PIECE];
            match file.read_at(&mut bytes, course.offset) {
                Ok(0) => {
                    course.needs.pop_front();
                    course.offset = 0;
                }
                Ok(length) => {
                    bytes.truncate(length);
                    course.offset += length as u64;
                    return Some(Ok(Order::Piece {
                        program: *number,
                        bytes: ByteBuf::from(bytes),
                    }));
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let shown = printable(&path.to_string_lossy());
                    return Some(Err(format!("--preload: '{shown}' cannot be read: {error}")));
                }
            }
        }
    }

    /// Returns true if every node has been sent everything.
    pub fn is_done(&self) -> bool {
        self.courses.iter().all(|course| course.needs.is_empty())
    }
}

fn open(number: u32, path: &Path) -> Result<Sent, Failure> {
    let shown = printable(&path.to_string_lossy());
    let fail = |error| Failure::launch(format!("--preload: '{shown}' cannot be read: {error}"));
    let file = File::open(path).map_err(fail)?;
    let bytes = file.metadata().map_err(fail)?.len();
    if bytes > FILE_MAX {
        return Err(Failure::launch(format!(
            "--preload: '{shown}' has {} MiB, but at most {} MiB are sent: copy it to the hosts",
            bytes >> 20,
            FILE_MAX >> 20
        )));
    }
    Ok(Sent {
        number,
        path: path.to_path_buf(),
        file,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_gets_the_programs_that_it_needs_in_pieces() {
        let own = std::env::current_exe().unwrap();
        let programs = [(0, Path::new("/nowhere/p")), (4, own.as_path())];
        let mut preload = Preload::new(&programs, &[vec![], vec![4]]).unwrap();
        assert!(preload.piece(0).is_none() && !preload.is_done());
        let mut got = Vec::new();
        while let Some(piece) = preload.piece(1) {
            let Order::Piece { program: 4, bytes } = piece.unwrap() else {
                panic!("another order");
            };
            got.extend_from_slice(&bytes);
        }
        assert!(preload.is_done() && got == std::fs::read(own).unwrap());
    }

    #[test]
    fn a_program_that_is_too_long_is_refused_with_both_sizes() {
        let name = format!("mpilite-preload-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // A hole: it takes no room.
        File::create(&path)
            .unwrap()
            .set_len(FILE_MAX + (1 << 20))
            .unwrap();
        let failure = Preload::new(&[(0, &path)], &[vec![0]]).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(
            failure.text.contains("has 513 MiB, but at most 512 MiB"),
            "{failure}"
        );
    }
}
