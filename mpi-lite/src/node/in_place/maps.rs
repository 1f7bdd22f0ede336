//! What is mapped in this process. Source: `proc_pid_maps(5)`.

use core::ops::Range;
use std::io;

/// A file, by its device and its number there.
pub(super) type File = (String, u64);

/// The mappings of this process, by address.
#[derive(Debug)]
pub(super) struct Maps(Vec<Mapped>);

#[derive(Debug, PartialEq, Eq)]
struct Mapped {
    range: Range<usize>,
    /// It may be read and written, and is private.
    is_private: bool,
    is_code: bool,
    may: Permissions,
    file: File,
    /// Where in the file the range begins.
    offset: usize,
}

/// What a program may do with memory, as mmap(2) takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Permissions(pub(super) libc::c_int);

impl Permissions {
    pub(super) const ALL: Self = Self(libc::PROT_READ | libc::PROT_WRITE);

    fn parse(permissions: &str) -> Self {
        let all = [
            ('r', libc::PROT_READ),
            ('w', libc::PROT_WRITE),
            ('x', libc::PROT_EXEC),
        ];
        let given = all
            .iter()
            .filter(|(letter, _)| permissions.contains(*letter));
        Self(given.fold(libc::PROT_NONE, |all, (_, bit)| all | bit))
    }
}

/// Memory of these names is not replaced: stacks grow, and large pages and devices are special.
const SPECIAL: [&str; 5] = ["[stack", "[v", "/dev/", "/anon_hugepage", "/SYSV"];

impl Mapped {
    /// Parses a line: `start-end perms offset device inode name`.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        let (start, end) = (address(start)?, address(end)?);
        let permissions = words.next()?;
        let offset = address(words.next()?)?;
        let device = words.next()?.to_owned();
        let inode = words.next()?.parse().ok()?;
        let name = words.next().unwrap_or_default();
        let is_special = SPECIAL.iter().any(|special| name.starts_with(special));
        Some(Self {
            range: start..end,
            is_private: permissions.starts_with("rw-p") && !is_special,
            is_code: permissions.contains('x'),
            may: Permissions::parse(permissions),
            file: (device, inode),
            offset,
        })
    }

    fn overlap(&self, range: &Range<usize>) -> Range<usize> {
        self.range.start.max(range.start)..self.range.end.min(range.end)
    }
}

impl Maps {
    /// # Errors
    /// Those of the system; `EPERM` if the program has locked memory, which must stay what it is.
    pub(super) fn read_unlocked() -> io::Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:"));
        match locked.is_some_and(|kib| kib.trim() == "0 kB") {
            true => Self::read(),
            false => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
        }
    }

    pub(super) fn read() -> io::Result<Self> {
        let text = std::fs::read_to_string("/proc/self/maps")?;
        Ok(Self(text.lines().filter_map(Mapped::parse).collect()))
    }

    /// Returns true if a few more mappings are no trouble: a process has 65530 as a rule.
    pub(super) fn have_room(&self) -> bool {
        self.0.len() < 60_000
    }

    /// Returns true if a part is no file, or one of a program. Pages of others may have no bytes.
    fn is_there(&self, mapped: &Mapped) -> bool {
        let mut all = self.0.iter();
        mapped.file.1 == 0 || all.any(|other| other.is_code && other.file == mapped.file)
    }

    /// Returns true if all of the range is ordinary private memory.
    pub(super) fn are_private(&self, range: &Range<usize>) -> bool {
        let mut reached = range.start;
        let is_private = |mapped: &&Mapped| mapped.is_private && self.is_there(mapped);
        for mapped in self.0.iter().filter(is_private) {
            if mapped.range.contains(&reached) {
                reached = mapped.range.end;
            }
        }
        reached >= range.end
    }

    /// Which parts of `range` are parts of a file that lie in it at offsets that are their
    /// addresses, and what the program may do with each.
    pub(super) fn of_file(
        &self,
        range: &Range<usize>,
        file: &File,
    ) -> Vec<(Range<usize>, Permissions)> {
        let is_ours =
            |mapped: &&Mapped| mapped.file == *file && mapped.offset == mapped.range.start;
        let ours = self.0.iter().filter(is_ours);
        let parts = ours.map(|mapped| (mapped.overlap(range), mapped.may));
        parts.filter(|(part, _)| !part.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maps(text: &str) -> Maps {
        Maps(text.lines().filter_map(Mapped::parse).collect())
    }

    #[test]
    fn ordinary_memory_is_private_writable_and_without_a_hole() {
        let maps = maps(
            "0400-0800 r-xp 00001000 08:01 77 /usr/lib/a b.so\n\
             1000-3000 rw-p 00000000 00:00 0 [heap]\n\
             3000-4000 rw-p 00002000 08:01 77 /usr/lib/a b.so\n\
             4000-5000 r--p 00000000 00:00 0\n\
             6000-7000 rw-s 00000000 00:01 5 /memfd:mpi-lite (deleted)\n\
             7000-9000 rw-p 00000000 00:00 0 [stack]\n\
             a000-b000 rw-p 00000000 00:00 0\n\
             c000-d000 rw-p 00000000 08:01 78 /tmp/data\n",
        );
        for range in [0x1000..0x2000, 0x2000..0x4000, 0xa000..0xb000] {
            assert!(maps.are_private(&range), "{range:x?}");
        }
        for range in [
            0x0000..0x2000,
            0x3000..0x5000,
            0x5000..0x6000,
            0x6000..0x7000,
            0x8000..0x9000,
            0xa000..0xc000,
            0xc000..0xd000,
        ] {
            assert!(!maps.are_private(&range), "{range:x?}");
        }
    }

    #[test]
    fn pages_of_an_image_lie_in_it_where_their_addresses_are() {
        let maps = maps(
            "1000-3000 rw-s 00001000 00:01 5 /memfd:mpi-lite (deleted)\n\
             3000-4000 rw-p 00000000 00:00 0\n\
             4000-5000 r--s 00004000 00:01 5 /memfd:mpi-lite (deleted)\n\
             5000-6000 rw-s 00001000 00:01 5 /memfd:mpi-lite (deleted)\n\
             6000-7000 rw-s 00006000 00:01 6 /memfd:mpi-lite (deleted)\n",
        );
        let file = ("00:01".to_owned(), 5);
        let may_read = Permissions(libc::PROT_READ);
        let ours = maps.of_file(&(0x2000..0x7000), &file);
        assert_eq!(
            ours,
            [
                (0x2000..0x3000, Permissions::ALL),
                (0x4000..0x5000, may_read)
            ]
        );
    }
}
