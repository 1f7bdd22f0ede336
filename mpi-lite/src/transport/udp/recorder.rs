//! Records the datagrams of a rank in a file, for `mpirun --packets` and `--sequence`.
//!
//! Records are collected and written once for each system call that sends or asks: a rank that is
//! killed leaves nearly all of them. `crate::packets` says how they lie in the file.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use crate::clock::since_1970;
use crate::packets::{
    BODY_BYTES, BYTES_MOST, MAGIC_OF_LOSS, Preamble, RECORDS_MOST, RMPP, Record, Way,
    bytes_to_keep, packets,
};

/// The programs of a rank, one after the other, write a file each; so many at most.
const FILES_MOST: u32 = 1000;

/// Bytes that are collected before they are written, at the latest.
const COLLECTED_BYTES: usize = 1 << 18;

/// Who may read and write the file: the user alone.
const OF_USER: u32 = 0o600;

/// The open file of one rank.
pub(super) struct Recorder {
    file: File,
    protocol: u8,
    packet_bytes: u32,
    /// Records and bytes that may still come.
    left: (u64, u64),
    collected: Vec<u8>,
}

impl Recorder {
    /// Creates the file `<prefix>.<rank>.<number>` with the first number that is free.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn create(prefix: &Path, protocol: u8, preamble: &Preamble) -> io::Result<Self> {
        let mut error = io::ErrorKind::AlreadyExists.into();
        for number in 0..FILES_MOST {
            let mut name = prefix.as_os_str().to_owned();
            name.push(format!(".{}.{number}", preamble.rank));
            let opened = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(OF_USER)
                .open(&name);
            match opened {
                Ok(file) => return Self::begin(file, protocol, preamble),
                Err(other) => error = other,
            }
            if error.kind() != io::ErrorKind::AlreadyExists {
                break;
            }
        }
        Err(error)
    }

    fn begin(mut file: File, protocol: u8, preamble: &Preamble) -> io::Result<Self> {
        // mpirun reads it, whatever the umask of the rank takes away.
        file.set_permissions(Permissions::from_mode(OF_USER))?;
        file.write_all(&preamble.encode())?;
        Ok(Self {
            file,
            protocol,
            packet_bytes: preamble.packet_bytes,
            left: (RECORDS_MOST, BYTES_MOST),
            collected: Vec::new(),
        })
    }

    /// Notes a datagram to rank `to` whose packets have `bytes` bytes and begin with `kept`.
    pub(super) fn sent(&mut self, to: u32, bytes: usize, kept: Vec<u8>) {
        self.note(Way::Sent, to, bytes, kept);
    }

    /// Notes a datagram from rank `from` with these packets.
    pub(super) fn received(&mut self, from: u32, datagram: &[u8]) {
        let kept = &datagram[..bytes_to_keep(datagram, self.packet_bytes)];
        self.note(Way::Received, from, datagram.len(), kept.to_vec());
    }

    /// Notes a datagram from rank `from` whose body lies elsewhere.
    pub(super) fn received_in_place(&mut self, from: u32, datagram: &[u8]) {
        let packet = packets(datagram, datagram.len(), self.packet_bytes).next();
        let kept = &datagram[..packet.map_or(0, |packet| packet.body_at)];
        self.note(Way::Received, from, datagram.len(), kept.to_vec());
    }

    fn note(&mut self, way: Way, peer: u32, bytes: usize, kept: Vec<u8>) {
        if self.left.0 == 0 {
            return;
        }
        let mut kept = kept;
        if self.protocol != RMPP {
            kept.truncate(BODY_BYTES);
        }
        let before = self.collected.len();
        let mut record = Record {
            time: since_1970(),
            way,
            protocol: self.protocol,
            peer,
            bytes: bytes as u32,
            kept,
        };
        if self.left.0 == 1 || self.left.1 < record.kept.len() as u64 {
            // The last one: nothing is noted any more.
            record.way = Way::Limit;
            record.kept.clear();
            self.left = (1, BYTES_MOST);
        }
        record.append_to(&mut self.collected);
        let written = (self.collected.len() - before) as u64;
        self.left = (self.left.0 - 1, self.left.1.saturating_sub(written));
        if self.collected.len() >= COLLECTED_BYTES {
            self.write();
        }
    }

    /// Writes what was collected. If that fails nothing more is recorded, and the file says so at
    /// its beginning, where that needs no more room.
    pub(super) fn write(&mut self) {
        if self.collected.is_empty() {
            return;
        }
        if let Err(error) = self.file.write_all(&self.collected) {
            eprintln!("mpi-lite: the packets of this rank are recorded no longer: {error}");
            self.left.0 = 0;
            let _ = self.file.write_all_at(&MAGIC_OF_LOSS, 0);
        }
        self.collected.clear();
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.write();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preamble() -> Preamble {
        Preamble {
            has_loss: false,
            rank: 0,
            packet_bytes: 100,
            addresses: vec![
                "127.0.0.1:1".parse().unwrap(),
                "127.0.0.1:2".parse().unwrap(),
            ],
        }
    }

    fn records(path: &Path) -> Vec<Record> {
        let bytes = std::fs::read(path).unwrap();
        let mut from = &bytes[..];
        assert_eq!(Preamble::read(&mut from).unwrap(), preamble());
        std::iter::from_fn(|| Record::read(&mut from, 2)).collect()
    }

    #[test]
    fn each_program_of_a_rank_has_a_file_of_its_own_that_only_the_user_reads() {
        let folder = tempfile::tempdir().unwrap();
        // The next test starts this one with another umask.
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        let prefix = folder.path().join("p");
        for (number, byte) in [(0, 1), (1, 2)] {
            let mut recorder = Recorder::create(&prefix, RMPP, &preamble()).unwrap();
            recorder.sent(1, 500, vec![byte; 3]);
            drop(recorder);
            let path = folder.path().join(format!("p.0.{number}"));
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            let records = records(&path);
            assert_eq!(records.len(), 1);
            assert_eq!(
                (records[0].bytes, &records[0].kept[..]),
                (500, &[byte; 3][..])
            );
        }
    }

    #[test]
    fn the_umask_of_a_rank_does_not_hide_its_file_from_the_user() {
        let script = "umask 0477; exec \"$0\" only_the_user_reads";
        let mut again = std::process::Command::new("sh");
        again
            .args(["-c", script])
            .arg(std::env::current_exe().unwrap());
        let outcome = again.output().unwrap();
        let text = String::from_utf8_lossy(&outcome.stdout);
        assert!(outcome.status.success(), "{outcome:?}");
        assert!(text.contains("1 passed"), "{text}");
    }

    #[test]
    fn beyond_the_limit_the_file_says_that_more_followed() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::create(&folder.path().join("p"), RMPP, &preamble()).unwrap();
        recorder.left = (3, BYTES_MOST);
        for _ in 0..5 {
            recorder.received(1, &[9; 40]);
        }
        recorder.write();
        let ways: Vec<_> = records(&folder.path().join("p.0.0"))
            .iter()
            .map(|record| record.way)
            .collect();
        assert_eq!(ways, [Way::Received, Way::Received, Way::Limit]);
    }

    #[test]
    fn a_body_that_lies_elsewhere_is_not_kept() {
        let header = rmpp_core::Header {
            kind: rmpp_core::Kind::Rts,
            version: rmpp_core::VERSION,
            src: 1,
            msg_id: 1,
            len: 300,
            seq: 0,
            info1: 0,
            info2: 0,
            msg_num: 0,
            ack: 0,
            flags: rmpp_core::Flags::NONE,
        };
        let mut datagram = header.encode().to_vec();
        let header_bytes = datagram.len();
        datagram.extend([5; 100]);
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::create(&folder.path().join("p"), RMPP, &preamble()).unwrap();
        recorder.received_in_place(1, &datagram);
        recorder.received(1, &datagram);
        drop(recorder);
        let records = records(&folder.path().join("p.0.0"));
        assert_eq!(records[0].kept, datagram[..header_bytes]);
        assert_eq!(records[1].kept, datagram);
        assert_eq!(records[0].bytes, records[1].bytes);
    }
}
