//! Every operator on every datatype against plain loops.

use super::*;

const OPS: [Op; 12] = [
    Op::Max,
    Op::Min,
    Op::Sum,
    Op::Prod,
    Op::Land,
    Op::Band,
    Op::Lor,
    Op::Bor,
    Op::Lxor,
    Op::Bxor,
    Op::Minloc,
    Op::Maxloc,
];

/// What MPI 5.0, 6.9.2 says, and our extension of it, written down a second time: operator by
/// family.
fn is_defined(op: &Op, family: Family) -> bool {
    let letters = match op {
        Op::Max | Op::Min => "IHFRM",
        Op::Sum | Op::Prod => "IHFRMC",
        Op::Land | Op::Lor | Op::Lxor => "IHML",
        Op::Band | Op::Bor | Op::Bxor => "IHFMB",
        _ => "P",
    };
    let letter = match family {
        Family::Integer => 'I',
        Family::FortranInteger => 'F',
        Family::Floating => 'R',
        Family::Logical => 'L',
        Family::Complex => 'C',
        Family::Byte => 'B',
        Family::MultiLanguage => 'M',
        Family::Pair => 'P',
        Family::Character => 'H',
        Family::Opaque => '-',
    };
    letters.contains(letter)
}

/// `count` elements of `basic`, some below zero and some that are no numbers.
fn pattern(basic: Basic, count: usize, seed: u8) -> Vec<u8> {
    let bytes = count * basic.size() as usize;
    let next = |at: usize| (at as u8).wrapping_mul(167).wrapping_add(seed);
    (0..bytes).map(next).collect()
}

#[test]
fn long_runs_are_combined_as_their_elements_are() {
    for name in [
        "MPI_DOUBLE",
        "MPI_FLOAT",
        "MPI_INT64_T",
        "MPI_INT32_T",
        "MPI_UINT64_T",
    ] {
        let basic = Basic::named(name).expect("a datatype");
        let datatype = Datatype::Basic(basic);
        let size = basic.size() as usize;
        for op in [Op::Sum, Op::Max, Op::Min, Op::Prod] {
            for count in (0..70).chain([500]) {
                let (a, b) = (pattern(basic, count, 7), pattern(basic, count, 99));
                let mut long = b.clone();
                op.apply(&a, &mut long, count as u64, &datatype).unwrap();
                let mut single = b;
                let pairs = a.chunks_exact(size).zip(single.chunks_exact_mut(size));
                for (a, b) in pairs {
                    op.apply(a, b, 1, &datatype).unwrap();
                }
                assert_eq!(long, single, "{op:?} of {count} {name}");
            }
        }
    }
}

#[test]
fn floats_of_two_bytes_are_rounded_once() {
    let halves = |values: [f32; 3]| -> Vec<u8> {
        let halves = values.map(|value| f16::from_f32(value).to_ne_bytes());
        halves.concat()
    };
    // Numbers of 11 bits: 2049 is none, and 60000 + 60000 is too large.
    let (incoming, inout) = (halves([1.0, 0.5, 60000.0]), halves([2048.0, 0.25, 60000.0]));
    for (op, expected) in [
        (Op::Sum, [2048.0, 0.75, f32::INFINITY]),
        (Op::Prod, [2048.0, 0.125, f32::INFINITY]),
        (Op::Max, [2048.0, 0.5, 60000.0]),
        (Op::Min, [1.0, 0.25, 60000.0]),
    ] {
        let mut inout = inout.clone();
        let datatype = Datatype::Basic(Basic::Real2);
        op.apply(&incoming, &mut inout, 3, &datatype).unwrap();
        assert_eq!(inout, halves(expected), "{}", op.name());
    }
}

#[test]
fn an_operator_takes_the_datatypes_it_is_defined_for_and_no_others() {
    for op in &OPS {
        for &basic in Basic::ALL {
            let datatype = Datatype::Basic(basic);
            let room = basic.extent() as usize;
            let (incoming, mut inout) = (vec![0; room], vec![0; room]);
            let expected = is_defined(op, basic.family());
            let what = format!("{} on {}", op.name(), basic.name());
            assert_eq!(op.check(&datatype).is_ok(), expected, "{what}");
            let applied = op.apply(&incoming, &mut inout, 1, &datatype);
            assert_eq!(applied.is_ok(), expected, "{what}");
        }
    }
}

#[test]
fn the_error_names_operator_and_datatype() {
    let error = Op::Band.check(&Basic::Double.into()).unwrap_err();
    assert_eq!(error.to_string(), "MPI_BAND is not defined for MPI_DOUBLE");
    let derived = Datatype::Basic(Basic::Int).contiguous(2).unwrap();
    let error = Op::Sum.check(&derived).unwrap_err();
    assert_eq!(
        error.to_string(),
        "MPI_SUM is not defined for a derived datatype"
    );
}

/// The result of an integer operator in 128 bits, to be cut to the type's width.
fn naive(op: &Op, a: i128, b: i128) -> i128 {
    match op {
        Op::Max => a.max(b),
        Op::Min => a.min(b),
        Op::Sum => a.wrapping_add(b),
        Op::Prod => a.wrapping_mul(b),
        Op::Land => i128::from(a != 0 && b != 0),
        Op::Lor => i128::from(a != 0 || b != 0),
        Op::Lxor => i128::from((a != 0) != (b != 0)),
        Op::Band => a & b,
        Op::Bor => a | b,
        Op::Bxor => a ^ b,
        _ => unreachable!(),
    }
}

/// Interesting values and their neighbours, of all widths.
fn samples() -> Vec<i128> {
    let edges = [
        0,
        1,
        0x7f,
        0xff,
        0x7fff,
        0xffff,
        0x7fff_ffff,
        0xffff_ffff,
        i64::MAX as i128,
    ];
    let near = |edge: i128| [edge - 1, edge, edge + 1, -edge, 3 * edge + 5];
    edges.into_iter().flat_map(near).collect()
}

macro_rules! check_integers {
    ($($basic:ident $type:ident;)*) => {$({
        let datatype = Datatype::Basic(Basic::$basic);
        for op in OPS.iter().filter(|op| op.check(&datatype).is_ok()) {
            let values: Vec<$type> = samples().iter().map(|&x| x as $type).collect();
            for shift in 0..values.len() {
                let mut right = values.clone();
                right.rotate_left(shift);
                let incoming: Vec<u8> = values.iter().flat_map(|x| x.to_ne_bytes()).collect();
                // One byte off, so that no alignment can be assumed.
                let mut room = vec![0];
                room.extend(right.iter().flat_map(|x| x.to_ne_bytes()));
                let count = values.len() as u64;
                op.apply(&incoming, &mut room[1..], count, &datatype).unwrap();
                let expected = values.iter().zip(&right).flat_map(|(&a, &b)| {
                    (naive(op, a as i128, b as i128) as $type).to_ne_bytes()
                });
                assert!(room[1..].iter().copied().eq(expected), "{} {shift}", op.name());
            }
        }
    })*};
}

#[test]
fn integers_are_reduced_as_in_c() {
    check_integers! {
        SignedChar i8; UnsignedChar u8; Int8 i8; Uint8 u8; Byte u8; CBool u8;
        Short i16; UnsignedShort u16; Int16 i16; Uint16 u16;
        Int i32; Unsigned u32; Int32 i32; Uint32 u32; FortranInteger i32; FortranLogical i32;
        Long i64; UnsignedLong u64; LongLong i64; UnsignedLongLong u64; Int64 i64; Uint64 u64;
        Aint i64; Offset i64; Count i64; Integer8 i64; Logical1 i8;
    }
}

fn reduce<T: Scalar>(op: &Op, basic: Basic, left: &[T], right: &[T]) -> Vec<T> {
    let bytes = |values: &[T]| {
        let mut out = vec![0; values.len() * T::SIZE];
        for (value, at) in values.iter().zip(out.chunks_exact_mut(T::SIZE)) {
            value.store(at);
        }
        out
    };
    let (incoming, mut inout) = (bytes(left), bytes(right));
    let count = inout.len() as u64 / basic.extent() as u64;
    op.apply(&incoming, &mut inout, count, &basic.into())
        .unwrap();
    inout.chunks_exact(T::SIZE).map(T::load).collect()
}

#[test]
fn floating_point_numbers_are_reduced_as_in_c() {
    let (a, b) = ([1.5, -2.0, f64::MAX, 0.1], [2.5, -3.0, f64::MAX, 0.2]);
    for basic in [Basic::Double, Basic::DoublePrecision, Basic::Real8] {
        assert_eq!(
            reduce(&Op::Sum, basic, &a, &b),
            [4.0, -5.0, f64::INFINITY, 0.1 + 0.2]
        );
        assert_eq!(
            reduce(&Op::Prod, basic, &a, &b),
            [3.75, 6.0, f64::INFINITY, 0.1 * 0.2]
        );
        assert_eq!(reduce(&Op::Max, basic, &a, &b), [2.5, -2.0, f64::MAX, 0.2]);
        assert_eq!(reduce(&Op::Min, basic, &a, &b), [1.5, -3.0, f64::MAX, 0.1]);
    }
    let (a, b) = ([1.5f32, -2.0], [2.5f32, -3.0]);
    assert_eq!(reduce(&Op::Sum, Basic::Float, &a, &b), [4.0, -5.0]);
    assert_eq!(reduce(&Op::Min, Basic::FortranReal, &a, &b), [1.5, -3.0]);
}

#[test]
fn complex_numbers_are_added_and_multiplied() {
    // (1 + 2i) (3 - i) = 5 + 5i
    let (a, b) = ([1.0, 2.0], [3.0, -1.0]);
    assert_eq!(reduce(&Op::Prod, Basic::CDoubleComplex, &a, &b), [5.0, 5.0]);
    assert_eq!(reduce(&Op::Sum, Basic::DoubleComplex, &a, &b), [4.0, 1.0]);
    let (a, b) = ([1.0f32, 2.0], [3.0f32, -1.0]);
    assert_eq!(reduce(&Op::Prod, Basic::CFloatComplex, &a, &b), [5.0, 5.0]);
}

/// Pairs as C lays them out, with their padding.
fn pair_bytes(value: &[u8], index: i32, index_at: usize, extent: usize) -> Vec<u8> {
    let mut out = vec![0xee; extent];
    out[..value.len()].copy_from_slice(value);
    out[index_at..index_at + 4].copy_from_slice(&index.to_ne_bytes());
    out
}

macro_rules! check_pairs {
    ($($basic:ident $type:ident $index_at:literal $extent:literal;)*) => {$({
        let one = |value: i8, index| {
            pair_bytes(&(value as $type).to_ne_bytes(), index, $index_at, $extent)
        };
        let datatype = Datatype::Basic(Basic::$basic);
        let run = |op: &Op, a: &[u8], b: &[u8]| {
            let mut inout = b.to_vec();
            op.apply(a, &mut inout, 2, &datatype).unwrap();
            inout
        };
        let (a, b) = ([one(5, 2), one(-3, 7)].concat(), [one(5, 1), one(4, 9)].concat());
        let greatest = [one(5, 1), one(4, 9)].concat();
        let least = [one(5, 1), one(-3, 7)].concat();
        assert_eq!(run(&Op::Maxloc, &a, &b), greatest, "{}", datatype.name());
        assert_eq!(run(&Op::Maxloc, &b, &a), greatest, "{}", datatype.name());
        assert_eq!(run(&Op::Minloc, &a, &b), least, "{}", datatype.name());
        assert_eq!(run(&Op::Minloc, &b, &a), least, "{}", datatype.name());
    })*};
}

#[test]
fn the_location_of_equal_values_is_the_lower_one() {
    check_pairs! {
        FloatInt f32 4 8; DoubleInt f64 8 16; LongInt i64 8 16; TwoInt i32 4 8;
        ShortInt i16 4 8; TwoInteger i32 4 8;
    }
    let (a, b) = ([2.0, 9.0], [2.0, 3.0]);
    assert_eq!(
        reduce(&Op::Maxloc, Basic::TwoDoublePrecision, &a, &b),
        [2.0, 3.0]
    );
    let (a, b) = ([1.0f32, 9.0], [2.0f32, 3.0]);
    assert_eq!(reduce(&Op::Minloc, Basic::TwoReal, &a, &b), [1.0, 9.0]);
}

#[test]
fn the_programs_operator_sees_the_incoming_data_on_the_left() {
    let function = |a: &[u8], b: &mut [u8], count: u64, _: &Datatype| {
        for (a, b) in a.iter().zip(b).take(count as usize) {
            *b += 10 * a;
        }
    };
    let op = Op::User(UserOp::on_slices(function, false));
    let mut inout = [3, 4];
    op.apply(&[1, 2], &mut inout, 2, &Basic::Byte.into())
        .unwrap();
    assert_eq!(inout, [13, 24]);
    assert!(!op.is_commutative());
}
