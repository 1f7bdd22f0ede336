//! Datatypes against a type map written out in full, as the standard defines it.
//! Source: MPI 5.0, 5.1 (type map, lb, ub, extent) and 5.1.2 (constructors).

use proptest::prelude::*;

use super::*;
use crate::error::Cause;
use crate::memory::{Origin, Span};

/// The type map: `(displacement, bytes)` of every machine value, in order; and the bounds.
#[derive(Clone, Debug)]
pub(super) struct Naive {
    map: Vec<(i64, u64)>,
    bounds: Option<(i64, i64)>,
}

impl Naive {
    fn of(basic: Basic) -> Self {
        let map = match basic.machine().pair() {
            None => vec![(0, basic.size())],
            Some((a, b, at)) => vec![(0, a.size()), (at as i64, b.size())],
        };
        let bounds = Some((0, basic.extent()));
        Self { map, bounds }
    }

    fn extent(&self) -> i64 {
        self.bounds.map_or(0, |(lower, upper)| upper - lower)
    }

    /// Copies at all of the displacements.
    fn at(parts: &[(i64, &Self)]) -> Self {
        let moved = |(by, part): &(i64, &Self)| {
            let by = *by;
            part.map
                .iter()
                .map(move |&(at, len)| (at + by, len))
                .collect::<Vec<_>>()
        };
        let bounds = parts
            .iter()
            .filter_map(|(by, part)| part.bounds.map(|(lower, upper)| (lower + by, upper + by)));
        Self {
            map: parts.iter().flat_map(moved).collect(),
            bounds: bounds.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
        }
    }

    fn blocks(blocks: &[(u64, i64, &Self)]) -> Self {
        let mut parts = Vec::new();
        for &(count, at, item) in blocks {
            parts.extend((0..count as i64).map(|j| (at + j * item.extent(), item)));
        }
        Self::at(&parts)
    }

    fn true_bounds(&self) -> (i64, i64) {
        let first = self.map.iter().map(|&(at, _)| at).min().unwrap_or(0);
        let end = self
            .map
            .iter()
            .map(|&(at, len)| at + len as i64)
            .max()
            .unwrap_or(0);
        (first, end)
    }

    fn size(&self) -> u64 {
        self.map.iter().map(|&(_, len)| len).sum()
    }

    fn elements(&self, mut bytes: u64) -> Option<u64> {
        let mut sum = 0;
        while bytes > 0 {
            for &(_, len) in &self.map {
                match bytes {
                    0 => break,
                    _ if bytes < len => return None,
                    _ => bytes -= len,
                }
                sum += 1;
            }
        }
        Some(sum)
    }
}

pub(super) type Both = (Datatype, Naive);

fn leaf() -> impl Strategy<Value = Both> {
    let some = [
        Basic::Byte,
        Basic::Short,
        Basic::Int,
        Basic::Double,
        Basic::ShortInt,
        Basic::DoubleInt,
        Basic::LongDouble,
    ];
    proptest::sample::select(some.to_vec()).prop_map(|basic| (basic.into(), Naive::of(basic)))
}

fn vector((item, naive): Both, count: u64, length: u64, stride: i64) -> Both {
    let blocks: Vec<_> = (0..count as i64)
        .map(|i| (length, i * stride * naive.extent(), &naive))
        .collect();
    (
        item.vector(count, length, stride).unwrap(),
        Naive::blocks(&blocks),
    )
}

fn hindexed((item, naive): Both, blocks: &[(u64, i64)]) -> Both {
    let parts: Vec<_> = blocks
        .iter()
        .map(|&(count, at)| (count, at, &naive))
        .collect();
    (item.hindexed(blocks).unwrap(), Naive::blocks(&parts))
}

/// A structure with given bounds, so that no padding is added.
fn structure(a: Both, b: Both, at: (i64, i64), count: (u64, u64)) -> Both {
    let block = |displacement, count, item: &Both| Block {
        displacement,
        count,
        datatype: item.0.clone(),
    };
    let blocks = vec![block(at.0, count.0, &a), block(at.1, count.1, &b)];
    let mut naive = Naive::blocks(&[(count.0, at.0, &a.1), (count.1, at.1, &b.1)]);
    naive.bounds = Some((-3, 50));
    (
        Datatype::structure(blocks)
            .unwrap()
            .resized(-3, 53)
            .unwrap(),
        naive,
    )
}

fn resized((item, mut naive): Both, lower: i64, extent: i64) -> Both {
    naive.bounds = Some((lower, lower + extent));
    (item.resized(lower, extent).unwrap(), naive)
}

pub(super) fn any_datatype() -> impl Strategy<Value = Both> {
    leaf().prop_recursive(3, 12, 2, |inner| {
        let block = || (0u64..4, -20i64..20);
        prop_oneof![
            (inner.clone(), 0u64..4, 0u64..4, -3i64..4).prop_map(|(i, c, l, s)| vector(i, c, l, s)),
            (inner.clone(), 0u64..5).prop_map(|(i, c)| vector(i, 1, c, 0)),
            (inner.clone(), proptest::collection::vec(block(), 0..4))
                .prop_map(|(i, blocks)| hindexed(i, &blocks)),
            (
                inner.clone(),
                inner.clone(),
                (-9i64..9, -9i64..9),
                (0u64..3, 0u64..3)
            )
                .prop_map(|(a, b, at, count)| structure(a, b, at, count)),
            (inner.clone(), -8i64..8, -16i64..40).prop_map(|(i, l, e)| resized(i, l, e)),
            inner.prop_map(|(i, naive)| (i.duplicate().unwrap(), naive)),
        ]
    })
}

/// Packs `count` elements, the first one at index `base` of `memory`, by the type map.
fn pack_naively(naive: &Naive, count: u64, memory: &[u8], base: i64) -> Vec<u8> {
    let mut out = Vec::new();
    for index in 0..count as i64 {
        for &(at, len) in &naive.map {
            let from = (base + index * naive.extent() + at) as usize;
            out.extend_from_slice(&memory[from..from + len as usize]);
        }
    }
    out
}

/// The places of the data bytes, in order.
fn places(naive: &Naive, count: u64, base: i64) -> Vec<usize> {
    let mut out = Vec::new();
    for index in 0..count as i64 {
        for &(at, len) in &naive.map {
            let from = (base + index * naive.extent() + at) as usize;
            out.extend(from..from + len as usize);
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn bounds_and_sizes_are_those_of_the_type_map((datatype, naive) in any_datatype()) {
        let (lower, upper) = naive.bounds.unwrap_or((0, 0));
        prop_assert_eq!(datatype.size(), naive.size());
        prop_assert_eq!(datatype.extent(), upper - lower);
        if naive.size() > 0 {
            let (first, end) = naive.true_bounds();
            prop_assert_eq!(datatype.lower_bound(), lower);
            prop_assert_eq!(datatype.true_lower_bound(), first);
            prop_assert_eq!(datatype.true_extent(), end - first);
        }
    }

    #[test]
    fn basic_elements_are_counted_by_the_type_map((datatype, naive) in any_datatype()) {
        for bytes in (0..=3 * naive.size()).filter(|_| naive.size() > 0) {
            prop_assert_eq!(datatype.elements(bytes), naive.elements(bytes), "{} bytes", bytes);
        }
    }

    #[test]
    fn packing_follows_the_type_map((datatype, naive) in any_datatype(), count in 0u64..4) {
        let (first, len) = datatype.occupied(count).unwrap();
        let mut memory: Vec<u8> = (0..len).map(|x| (x * 7 + x / 256) as u8).collect();
        let packed = pack_naively(&naive, count, &memory, -first);
        let span = Span::of(&mut memory);
        let buffer = over(span, first, count, &datatype);
        prop_assert_eq!(buffer.bytes().unwrap(), packed.len() as u64);
        prop_assert_eq!(buffer.pack(), packed.clone());
        let mut half = vec![0; packed.len() / 2];
        prop_assert_eq!(buffer.pack_into(&mut half), half.len());
        prop_assert_eq!(&half[..], &packed[..half.len()]);
        for (from, most) in [(1, 5), (packed.len() / 3, 7), (packed.len() / 2, usize::MAX)] {
            let rest = &packed[from.min(packed.len())..];
            let rest = &rest[..rest.len().min(most)];
            let mut piece = vec![0; rest.len()];
            prop_assert_eq!(buffer.copy_out(from as u64, &mut piece[..]), rest.len());
            prop_assert_eq!(&piece[..], rest, "from byte {}", from);
        }
        if let Some(run) = buffer.contiguous() {
            let mut bytes = Vec::new();
            run.append_to(&mut bytes);
            prop_assert_eq!(bytes, packed);
        }
    }

    #[test]
    fn unpacking_follows_the_type_map_and_writes_nothing_else(
        (datatype, naive) in any_datatype(), count in 0u64..4, cut in 0usize..40,
    ) {
        let (first, len) = datatype.occupied(count).unwrap();
        let mut memory = vec![0u8; len];
        let places = places(&naive, count, -first);
        let message: Vec<u8> = (0..places.len()).map(|x| (x % 250 + 1) as u8).collect();
        let message = &message[..message.len().saturating_sub(cut)];
        let mut expected = vec![0u8; len];
        for (&place, &byte) in places.iter().zip(message) {
            expected[place] = byte;
        }
        let buffer = over(Span::of(&mut memory), first, count, &datatype);
        prop_assert_eq!(buffer.unpack(message), message.len());
        prop_assert_eq!(&memory, &expected);
        // The data unpacked in pieces.
        memory.fill(0);
        let buffer = over(Span::of(&mut memory), first, count, &datatype);
        for (number, piece) in message.chunks(5).enumerate() {
            let done = buffer.copy_in(number as u64 * 5, piece);
            prop_assert_eq!(done, piece.len());
        }
        prop_assert_eq!(memory, expected);
    }
}

/// A buffer whose first occupied byte is the first one of `span`.
fn over(span: Span, first: i64, count: u64, datatype: &Datatype) -> Buffer {
    Buffer::at(span.origin(first), count, datatype.clone())
}

fn int() -> Datatype {
    Basic::Int.into()
}

#[test]
fn a_dense_datatype_needs_no_packing() {
    let row = int().contiguous(5).unwrap();
    assert!(row.is_contiguous() && row.size() == 20);
    assert!(row.vector(3, 2, 2).unwrap().is_contiguous());
    assert!(int().hindexed(&[(2, 0), (1, 8)]).unwrap().is_contiguous());
    assert!(!int().vector(2, 1, 2).unwrap().is_contiguous());
    assert!(!int().hindexed(&[(1, 4), (1, 0)]).unwrap().is_contiguous());
    assert!(!int().resized(0, 8).unwrap().is_contiguous());
    assert!(!Datatype::Basic(Basic::DoubleInt).is_contiguous());
    assert!(Datatype::Basic(Basic::FloatInt).is_contiguous());
}

#[test]
fn a_structure_is_padded_as_a_compiler_does() {
    let block = |displacement, datatype| Block {
        displacement,
        count: 1,
        datatype,
    };
    let members = || vec![block(0, Basic::Double.into()), block(8, Basic::Char.into())];
    let padded = Datatype::structure(members()).unwrap();
    assert_eq!(
        (padded.extent(), padded.size(), padded.true_extent()),
        (16, 9, 9)
    );
    let mut bounded = members();
    bounded[1].datatype = bounded[1].datatype.resized(0, 1).unwrap();
    assert_eq!(Datatype::structure(bounded).unwrap().extent(), 9);
}

/// Source: MPI 5.0, 5.1.6: the rounding is over the datatypes of the type map.
#[test]
fn what_adds_no_entry_to_the_type_map_does_not_count() {
    let (long, char): (Datatype, Datatype) = (Basic::Long.into(), Basic::Char.into());
    let bounded = int().resized(0, 12).unwrap();
    let structure = |members: &[(i64, u64, &Datatype)]| {
        let block = |&(displacement, count, datatype): &(i64, u64, &Datatype)| Block {
            displacement,
            count,
            datatype: datatype.clone(),
        };
        Datatype::structure(members.iter().map(block).collect()).unwrap()
    };
    let of = |count, datatype: &Datatype| structure(&[(0, 1, &char), (8, count, datatype)]);
    let extent = |count, datatype: &Datatype| of(count, datatype).extent();
    assert_eq!(extent(0, &long), 1, "a block of length 0 has no alignment");
    let longs = [
        long.contiguous(0),
        long.vector(0, 3, 4),
        long.vector(3, 0, 4),
    ];
    for empty in longs.map(Result::unwrap) {
        assert_eq!(extent(1, &empty), 1, "an empty datatype has no alignment");
        assert_eq!(extent(2, &empty.duplicate().unwrap()), 1);
    }
    assert_eq!(extent(1, &of(0, &long)), 9, "neither has what contains it");
    assert_eq!(extent(1, &long), 16);
    // The bounds of a block of length 0 do not stop the padding.
    let padded = |count| structure(&[(0, count, &bounded), (0, 1, &long), (8, 1, &char)]).extent();
    assert_eq!((padded(0), padded(1)), (16, 12));
    assert_eq!(of(0, &long).reduction_base(), Some(Basic::Char));
}

#[test]
fn a_datatype_beyond_the_address_space_is_refused() {
    let huge = int().contiguous(1 << 60).unwrap();
    assert!(matches!(
        huge.contiguous(8).unwrap_err().cause(),
        Cause::Datatype(_)
    ));
    assert!(matches!(
        huge.bytes(8).unwrap_err().cause(),
        Cause::Count { count: 8, .. }
    ));
    assert!(matches!(
        int().vector(3, 1, i64::MAX).unwrap_err().cause(),
        Cause::Datatype(_)
    ));
    assert!(matches!(
        int().resized(i64::MAX, 1).unwrap_err().cause(),
        Cause::Datatype(_)
    ));
    let ends = [(1, i64::MIN / 2 - 8), (1, i64::MAX / 2)];
    assert!(matches!(
        int().hindexed(&ends).unwrap_err().cause(),
        Cause::Datatype(_)
    ));
    let mut deep = int();
    let refused = (0..1000).find_map(|_| match deep.contiguous(1) {
        Ok(deeper) => {
            deep = deeper;
            None
        }
        Err(error) => Some(error),
    });
    assert!(matches!(refused.unwrap().cause(), Cause::Datatype(_)));
}

#[test]
fn the_null_address_is_refused_unless_displacements_are_absolute() {
    let check = |count, datatype| Buffer::at(Origin::NULL, count, datatype).check();
    assert_eq!(check(1, int()), Err(Cause::NullBuffer.into()));
    assert_eq!(check(0, int()), Ok(0));
    assert_eq!(
        check(1, int().contiguous(2).unwrap()),
        Err(Cause::NullBuffer.into())
    );
    let mut value = 7i32.to_ne_bytes();
    let address = value.as_mut_ptr().expose_provenance() as i64;
    let absolute = int().hindexed(&[(1, address)]).unwrap();
    assert_eq!(check(1, absolute.clone()), Ok(4));
    assert_eq!(Buffer::at(Origin::NULL, 1, absolute).pack(), value);
}

#[test]
fn a_copy_that_does_not_fit_is_truncation() {
    let send = Buffer::scratch(3, &int()).unwrap();
    send.copy_in(8, &[9][..]);
    let strided = int().vector(3, 1, 2).unwrap();
    let recv = Buffer::scratch(1, &strided).unwrap();
    assert_eq!(recv.copy_from(&send), Ok(12));
    assert!(recv.occupied().unwrap().view(|bytes| bytes[16] == 9));
    let short = Buffer::scratch(2, &int()).unwrap();
    let error = short.copy_from(&send);
    assert_eq!(error, Err(Cause::Truncate { len: 12, room: 8 }.into()));
}

#[test]
fn the_elements_of_a_deep_datatype_are_counted_at_once() {
    let mut deep = int().vector(3, 1, 2).unwrap();
    while let Ok(deeper) = deep.contiguous(1) {
        deep = deeper;
    }
    assert_eq!(deep.elements(12 * 7 + 8), Some(3 * 7 + 2));
    assert_eq!(deep.elements(3), None);
}

#[test]
fn committing_is_seen_by_every_clone() {
    let datatype = int().contiguous(2).unwrap();
    let clone = datatype.clone();
    assert!(!clone.is_committed());
    datatype.commit();
    assert!(clone.is_committed() && clone.is_same(&datatype));
    assert!(clone.duplicate().unwrap().is_committed());
}
/// Elements that are runs of `(place, bytes)`, `step` bytes apart, and their type map.
fn runs_of(runs: &[(i64, u64)], step: i64) -> Both {
    let byte: Datatype = Basic::Byte.into();
    let blocks: Vec<_> = runs.iter().map(|&(at, len)| (len, at)).collect();
    let naive = Naive {
        map: runs.to_vec(),
        bounds: Some((0, step)),
    };
    let datatype = byte.hindexed(&blocks).unwrap().resized(0, step).unwrap();
    (datatype, naive)
}

/// Packs and unpacks the `bytes` bytes of data from byte `from` on, and compares with the type map;
/// bytes beside them stay as they are.
fn check_piece((datatype, naive): &Both, count: u64, (from, bytes): (usize, usize)) {
    let (first, len) = datatype.occupied(count).unwrap();
    let mut memory: Vec<u8> = (0..len).map(|x| (x * 7 + x / 256) as u8).collect();
    let places = &places(naive, count, -first)[from..from + bytes];
    let expected: Vec<u8> = places.iter().map(|&place| memory[place]).collect();
    let buffer = over(Span::of(&mut memory), first, count, datatype);
    let mut packed = vec![0xEE; bytes + 2];
    assert_eq!(buffer.copy_out(from as u64, &mut packed[1..=bytes]), bytes);
    assert_eq!(packed[1..=bytes], expected[..]);
    assert_eq!((packed[0], packed[bytes + 1]), (0xEE, 0xEE));

    let message: Vec<u8> = (0..bytes).map(|x| (x % 250 + 1) as u8).collect();
    let mut expected = vec![0; len];
    for (&place, &byte) in places.iter().zip(&message) {
        expected[place] = byte;
    }
    memory.fill(0);
    let buffer = over(Span::of(&mut memory), first, count, datatype);
    let done = buffer.copy_in(from as u64, &message[..]);
    assert_eq!((done, memory), (bytes, expected));
}

/// Pieces that begin and end at the borders of runs, beside them and in their middle.
fn check_pieces(both: &Both, count: u64) {
    let all = (both.0.size() * count) as usize;
    let size = both.0.size() as usize;
    let some = [
        0,
        1,
        size / 2,
        size - 1,
        size,
        size + 1,
        all / 2,
        all - 1,
        all,
    ];
    for from in some {
        for end in some.into_iter().filter(|&end| end >= from && end <= all) {
            check_piece(both, count, (from, end - from));
        }
    }
}

#[test]
fn runs_of_every_length_and_stride_follow_the_type_map() {
    let most = if cfg!(miri) { 20 } else { 130 };
    for len in (1..=most).chain([1023, 1024, 1025]) {
        let far = len as i64 + 3;
        for step in [far, -far, 2 * len as i64 + 1] {
            check_pieces(&runs_of(&[(0, len)], step), 5);
        }
        // Two equal runs in an element, in each order, and unequal ones.
        check_pieces(&runs_of(&[(0, len), (far, len)], 3 * far), 3);
        check_pieces(&runs_of(&[(far, len), (0, len)], -3 * far), 3);
        check_pieces(
            &runs_of(&[(1, len), (far + 5, 1), (far + 7, 9)], 2 * far + 30),
            3,
        );
    }
}

#[test]
fn the_runs_of_many_blocks_are_copied_from_any_byte_on() {
    let count = if cfg!(miri) { 12 } else { 100 };
    let runs: Vec<_> = (0..count)
        .map(|at| (at * 90, at as u64 * 7 % 80 + 1))
        .collect();
    let both = runs_of(&runs, count * 90);
    let all = 2 * both.0.size() as usize;
    for from in (0..all).step_by(all / 40) {
        for bytes in [1, 30, 200] {
            check_piece(&both, 2, (from, bytes.min(all - from)));
        }
    }
}

#[test]
fn vectors_in_vectors_follow_the_type_map() {
    // Short ones become lists of runs; those of 65 blocks do not.
    for inner in [2, 3, 64, 65] {
        let column = vector((int(), Naive::of(Basic::Int)), inner, 1, 2);
        check_pieces(&vector(column.clone(), 3, 1, 2), 1);
        check_pieces(&vector(column.clone(), 2, 2, -3), 2);
        check_pieces(&vector(vector(column, 2, 1, 2), 2, 1, 3), 1);
    }
}

#[test]
fn runs_at_absolute_addresses_may_lie_in_memory_of_their_own() {
    let mut memory = [vec![1u8; 3], vec![2; 70], vec![3; 9]];
    let blocks: Vec<_> = memory
        .iter_mut()
        .map(|part| {
            let address = part.as_mut_ptr().expose_provenance() as i64;
            (part.len() as u64, address)
        })
        .collect();
    let absolute = Datatype::from(Basic::Byte).hindexed(&blocks).unwrap();
    let buffer = Buffer::at(Origin::NULL, 1, absolute);
    assert_eq!(buffer.pack(), memory.concat());
    assert_eq!(buffer.unpack(&[7; 80]), 80);
    assert_eq!(memory.concat(), [vec![7; 80], vec![3; 2]].concat());
}

/// Found by the fuzzer: the displacement has no opposite.
#[test]
fn memory_of_our_own_holds_an_element_as_far_below_as_there_is() {
    let far = Datatype::Basic(Basic::Byte).hindexed(&[(1, i64::MIN)]);
    let buffer = Buffer::scratch(1, &far.unwrap()).unwrap();
    buffer.unpack(&[7]);
    assert_eq!(buffer.pack(), [7]);
}
