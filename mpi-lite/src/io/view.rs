//! A view: which bytes of a file a process sees, and in which order.
//!
//! From its displacement on, a view repeats its filetype without end. The bytes of data in it are
//! counted from 0. Everything here deals in these data bytes and in places of the file, both in
//! bytes.
//!
//! Source: MPI 5.0, 14.3.

use crate::data::{Buffer, Datatype, each_run};
use crate::error::{Cause, Result};
use crate::memory::Span;

/// Which bytes of a file a process sees. The sizes of its datatypes are those in the file.
#[derive(Clone, Debug)]
pub struct View {
    displacement: u64,
    /// Bytes of an etype in the file.
    unit: u64,
    filetype: Datatype,
    tile: Tile,
    /// Bytes from one tile to the next.
    extent: u64,
    order: Order,
}

/// How the bytes of a view lie in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One run without gaps.
    Dense,
    /// With gaps; each byte behind the one before.
    Ascending,
    /// Otherwise: some bytes are seen twice, or tiles reach into each other.
    Mixed,
}

/// The runs of one tile: place in the tile, and data bytes before.
#[derive(Clone, Debug)]
enum Tile {
    /// Runs of equal length at equal distances.
    Even {
        first: u64,
        step: u64,
        len: u64,
        count: u64,
    },
    Listed {
        runs: Vec<(u64, u64)>,
        size: u64,
    },
}

/// A run of bytes of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first byte.
    pub at: u64,
    /// How many.
    pub len: u64,
}

impl Region {
    /// The byte behind it.
    #[must_use]
    pub fn end(self) -> u64 {
        self.at + self.len
    }
}

impl View {
    /// The file as bytes, from the first one on.
    #[must_use]
    pub fn of_bytes() -> Self {
        let byte = Datatype::from(crate::data::Basic::Byte);
        Self::new(0, &byte, &byte, true).expect("bytes are a view of any file")
    }

    /// The view that repeats `filetype` from byte `displacement` on, in units of `etype`. `writes`:
    /// the file may be written.
    ///
    /// # Errors
    /// `Datatype` or `Argument`: a displacement of the filetype is negative or less than one before
    /// it, or the filetype is not made of etypes; in a file that may be written, two of its bytes
    /// are the same.
    ///
    /// Source: MPI 5.0, 14.3.
    pub fn new(
        displacement: u64,
        etype: &Datatype,
        filetype: &Datatype,
        writes: bool,
    ) -> Result<Self> {
        let unit = etype.size();
        if !filetype.size().is_multiple_of(unit.max(1)) {
            let why = "the filetype is not made of whole etypes";
            return Err(Cause::Argument(why).into());
        }
        let (tile, overlaps) = Tile::of(filetype)?;
        let extent = u64::try_from(filetype.extent()).map_err(|_| {
            Cause::Datatype("the extent of the filetype is negative: its tiles go backwards")
        })?;
        if overlaps && writes {
            let why = "two bytes of the filetype are the same byte of the file, which may be \
                       written: that is allowed only with MPI_MODE_RDONLY";
            return Err(Cause::Datatype(why).into());
        }
        let reach = tile.reach();
        let reaches_over = matches!(&tile, Tile::Even { count: 1, len, .. } if *len > extent);
        if reaches_over && extent > 0 && writes {
            let why = "the extent of the filetype is less than its data: its tiles overlap, and \
                       the file may be written";
            return Err(Cause::Datatype(why).into());
        }
        let is_repeatable = extent > 0 && reach.len <= extent;
        let order = match &tile {
            _ if overlaps || (!is_repeatable && tile.size() > 0) => Order::Mixed,
            Tile::Even { count: 1, len, .. } if *len == extent => Order::Dense,
            _ => Order::Ascending,
        };
        Ok(Self {
            displacement,
            unit: unit.max(1),
            filetype: filetype.clone(),
            tile,
            extent,
            order,
        })
    }

    /// Bytes of an etype.
    #[must_use]
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// How its bytes lie.
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
    }

    /// Returns true if there is no data in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tile.size() == 0
    }

    /// Bytes of a run, on average; of a view without gaps more than any access has.
    #[must_use]
    pub fn run_length(&self) -> u64 {
        match (self.order, &self.tile) {
            (Order::Dense, _) => u64::MAX,
            (_, Tile::Even { len, .. }) => *len,
            (_, Tile::Listed { runs, size }) => size / runs.len() as u64,
        }
    }

    /// Runs of a tile that have to be kept one by one.
    #[must_use]
    pub fn listed_runs(&self) -> u64 {
        match &self.tile {
            Tile::Even { .. } => 0,
            Tile::Listed { runs, .. } => runs.len() as u64,
        }
    }

    /// Appends what another process needs to have the same view.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.displacement.to_le_bytes());
        self.filetype.write(out);
    }

    /// The view that another process has written. Its unit is a byte.
    ///
    /// # Errors
    /// The bytes are none.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let garbled = || Cause::System("a process has sent a view that is none".into());
        let (displacement, form) = bytes.split_first_chunk().ok_or_else(garbled)?;
        let (filetype, _) = Datatype::read(form).map_err(|_| garbled())?;
        let byte = Datatype::from(crate::data::Basic::Byte);
        Self::new(u64::from_le_bytes(*displacement), &byte, &filetype, false)
    }

    /// Where data byte `data` lies, and how many follow it without a gap, itself included.
    ///
    /// # Errors
    /// `Argument`: it lies beyond what a file may have, or there is no data in the view.
    pub fn locate(&self, data: u64) -> Result<Region> {
        let size = self.tile.size();
        if size == 0 {
            return Err(Cause::Argument("there is no data in the view of the file").into());
        }
        let run = if self.order == Order::Dense {
            let at = self.tile.reach().at.checked_add(data);
            at.map(|at| Region { at, len: u64::MAX })
        } else {
            let (tile, within) = (data / size, data % size);
            let run = self.tile.locate(within);
            let at = tile.checked_mul(self.extent);
            at.and_then(|at| at.checked_add(run.at))
                .map(|at| Region { at, ..run })
        };
        let placed = run.and_then(|run| {
            let at = run.at.checked_add(self.displacement)?;
            (at <= i64::MAX as u64).then_some(Region { at, ..run })
        });
        placed.ok_or_else(|| Cause::Argument("the offset is beyond the end of any file").into())
    }

    /// How many data bytes lie before byte `at` of the file. The bytes of the view ascend.
    #[must_use]
    pub fn data_before(&self, at: u64) -> u64 {
        debug_assert_ne!(self.order, Order::Mixed, "its bytes have no order");
        let Some(within) = at.checked_sub(self.displacement) else {
            return 0;
        };
        let (reach, size) = (self.tile.reach(), self.tile.size());
        let Some(behind) = within.checked_sub(reach.at).filter(|_| size > 0) else {
            return 0;
        };
        let tile = behind / self.extent;
        tile * size + self.tile.data_before(within - tile * self.extent)
    }

    /// Calls `sink` with the runs of the `len` data bytes from `from` on, until it returns false.
    /// Returns true if it never did.
    ///
    /// # Errors
    /// As [`View::locate`].
    pub fn runs(
        &self,
        mut from: u64,
        len: u64,
        mut sink: impl FnMut(Region) -> bool,
    ) -> Result<bool> {
        let end = from.saturating_add(len);
        let mut pending: Option<Region> = None;
        while from < end {
            let run = self.locate(from)?;
            let len = run.len.min(end - from);
            from += len;
            pending = Some(match pending {
                Some(before) if before.end() == run.at => Region {
                    at: before.at,
                    len: before.len + len,
                },
                Some(before) => {
                    if !sink(before) {
                        return Ok(false);
                    }
                    Region { at: run.at, len }
                }
                None => Region { at: run.at, len },
            });
        }
        Ok(pending.is_none_or(sink))
    }

    /// Which of the `len` data bytes from `from` on lie in a range of the file: the first one, and
    /// how many. The bytes of the view ascend.
    #[must_use]
    pub fn within(&self, (from, len): (u64, u64), range: Region) -> Region {
        let clip = |at: u64| self.data_before(at).clamp(from, from + len);
        let (first, end) = (clip(range.at), clip(range.end()));
        Region {
            at: first,
            len: end - first,
        }
    }

    /// The range of the file from the first of the `len` data bytes from `from` on to the last one;
    /// of no bytes an empty one.
    ///
    /// # Errors
    /// As [`View::locate`].
    pub fn hull(&self, from: u64, len: u64) -> Result<Region> {
        if len == 0 {
            return Ok(Region { at: 0, len: 0 });
        }
        if self.order == Order::Mixed {
            let mut hull: Option<(u64, u64)> = None;
            self.runs(from, len, |run| {
                let (at, end) = hull.unwrap_or((run.at, run.end()));
                hull = Some((at.min(run.at), end.max(run.end())));
                true
            })?;
            let (at, end) = hull.expect("there is a run");
            return Ok(Region { at, len: end - at });
        }
        let (first, last) = (self.locate(from)?, self.locate(from + (len - 1))?);
        Ok(Region {
            at: first.at,
            len: last.at + 1 - first.at,
        })
    }

    /// The data bytes of the view up to `end`, in memory that holds the bytes of the file from `at`
    /// on: only those there may be touched.
    #[must_use]
    pub(crate) fn in_memory(&self, memory: Span, at: u64, end: u64) -> Buffer {
        let first = self.displacement.wrapping_sub(at).cast_signed();
        let tiles = end.div_ceil(self.tile.size().max(1));
        Buffer::at(memory.origin(0).moved(first), tiles, self.filetype.clone())
    }
}

impl Tile {
    /// The runs of an element, and whether two of them have a byte in common.
    fn of(filetype: &Datatype) -> Result<(Self, bool)> {
        let mut maker = Maker::default();
        let is_ascending = each_run(filetype, |at, len| maker.add(at, len));
        if !is_ascending {
            let why = match maker.is_negative {
                true => "a displacement of the filetype is negative",
                false => "the displacements of the filetype are not in ascending order",
            };
            return Err(Cause::Datatype(why).into());
        }
        let overlaps = maker.overlaps;
        Ok((maker.tile(), overlaps))
    }

    /// Bytes of data.
    fn size(&self) -> u64 {
        match self {
            Self::Even { len, count, .. } => len * count,
            Self::Listed { size, .. } => *size,
        }
    }

    /// From the first byte to the last one.
    fn reach(&self) -> Region {
        match self {
            Self::Even {
                first,
                step,
                len,
                count,
            } => Region {
                at: *first,
                len: step * count.saturating_sub(1) + len,
            },
            Self::Listed { runs, size } => {
                let (at, (last, before)) = (runs[0].0, runs[runs.len() - 1]);
                Region {
                    at,
                    len: last + (size - before) - at,
                }
            }
        }
    }

    /// Where data byte `data` lies in the tile, and how many follow in its run.
    fn locate(&self, data: u64) -> Region {
        match self {
            Self::Even {
                first, step, len, ..
            } => {
                let (run, within) = (data / len, data % len);
                Region {
                    at: first + run * step + within,
                    len: len - within,
                }
            }
            Self::Listed { runs, size } => {
                let run = runs.partition_point(|(_, before)| *before <= data) - 1;
                let (at, before) = runs[run];
                let end = runs.get(run + 1).map_or(*size, |(_, before)| *before);
                Region {
                    at: at + (data - before),
                    len: end - data,
                }
            }
        }
    }

    /// How many data bytes lie before byte `at` of the tile.
    fn data_before(&self, at: u64) -> u64 {
        match self {
            Self::Even {
                first,
                step,
                len,
                count,
            } => {
                let behind = at.saturating_sub(*first);
                let runs = behind.checked_div(*step).unwrap_or(0).min(*count);
                let rest = if runs < *count {
                    (behind - runs * step).min(*len)
                } else {
                    0
                };
                runs * len + rest
            }
            Self::Listed { runs, size } => {
                let run = runs.partition_point(|(start, _)| *start < at);
                let Some((start, before)) = run.checked_sub(1).map(|run| runs[run]) else {
                    return 0;
                };
                let end = runs.get(run).map_or(*size, |(_, before)| *before);
                (before + (at - start)).min(end)
            }
        }
    }
}

/// Collects the runs of a tile.
#[derive(Default)]
struct Maker {
    /// The run that the next one may continue: place and length.
    last: Option<(u64, u64)>,
    /// Those before it, as long as they are even: the first one, step, length and count.
    even: (u64, u64, u64, u64),
    /// Those before it, if they are not even: place, and data bytes before.
    listed: Vec<(u64, u64)>,
    /// Data bytes of those before it.
    size: u64,
    end: u64,
    overlaps: bool,
    is_negative: bool,
}

impl Maker {
    /// Adds a run. Returns false if it may not follow those before.
    fn add(&mut self, at: i64, len: u64) -> bool {
        let Ok(at) = u64::try_from(at) else {
            self.is_negative = true;
            return false;
        };
        match &mut self.last {
            Some((last, last_len)) if at == *last + *last_len => *last_len += len,
            Some((last, _)) if at < *last => return false,
            last => {
                if let Some(before) = last.replace((at, len)) {
                    self.overlaps |= at < self.end;
                    self.settle(before);
                }
            }
        }
        self.end = self.end.max(at + len);
        true
    }

    /// Nothing continues this run any more.
    fn settle(&mut self, (at, len): (u64, u64)) {
        let (first, step, each, count) = self.even;
        if self.listed.is_empty() {
            let step = if count == 1 { at - first } else { step };
            if count == 0 {
                self.even = (at, 0, len, 1);
            } else if len == each && at == first + step * count {
                self.even = (first, step, each, count + 1);
            } else {
                let even = (0..count).map(|number| (first + number * step, number * each));
                self.listed.extend(even);
            }
        }
        if !self.listed.is_empty() {
            self.listed.push((at, self.size));
        }
        self.size += len;
    }

    fn tile(mut self) -> Tile {
        if let Some(last) = self.last.take() {
            self.settle(last);
        }
        if self.listed.is_empty() {
            let (first, step, len, count) = self.even;
            return Tile::Even {
                first,
                step,
                len,
                count,
            };
        }
        let (runs, size) = (self.listed, self.size);
        Tile::Listed { runs, size }
    }
}
