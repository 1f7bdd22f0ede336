//! What is read from a wire form is what was written, and no other bytes do harm.
//!
//! `MPILITE_SEED=n` replays the random datatypes of the seed that a failed test prints.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use super::tests::any_datatype;
use super::*;

/// Runs `test` with values that depend on a seed, which is printed.
fn on_random<S: Strategy>(values: &S, test: impl Fn(S::Value)) {
    let seed = std::env::var("MPILITE_SEED").map(|seed| seed.parse().unwrap());
    let any_seed = || any::<u64>().new_tree(&mut TestRunner::default());
    let seed = seed.unwrap_or_else(|_| any_seed().unwrap().current());
    println!("replay it with MPILITE_SEED={seed}");
    let rng = TestRng::from_seed(RngAlgorithm::XorShift, &[seed.to_le_bytes(); 2].concat());
    let config = ProptestConfig {
        failure_persistence: None,
        ..Default::default()
    };
    let outcome = TestRunner::new_with_rng(config, rng).run(values, |value| {
        test(value);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

fn form(datatype: &Datatype) -> Vec<u8> {
    let mut bytes = Vec::new();
    datatype.write(&mut bytes);
    bytes
}

/// Reads a form that is right, with bytes behind it.
fn read(form: &[u8]) -> Datatype {
    let bytes = [form, &[7; 3]].concat();
    let (datatype, len) = Datatype::read(&bytes).unwrap();
    assert_eq!(len, form.len());
    datatype
}

fn refused(bytes: &[u8]) -> (usize, &'static str) {
    let malformed = Datatype::read(bytes).unwrap_err();
    (malformed.at, malformed.why)
}

/// Sizes, bounds, alignment, and what the elements are.
fn measures(datatype: &Datatype) -> impl PartialEq + std::fmt::Debug + use<> {
    let byte = Block {
        displacement: 0,
        count: 1,
        datatype: Basic::Byte.into(),
    };
    let it = Block {
        datatype: datatype.clone(),
        ..byte.clone()
    };
    let beside = Datatype::structure(vec![byte, it]).map(|both| both.extent());
    let bounds = [
        datatype.lower_bound(),
        datatype.extent(),
        datatype.true_lower_bound(),
        datatype.true_extent(),
    ];
    let elements: Vec<_> = (0..40).map(|bytes| datatype.elements(bytes)).collect();
    (
        (datatype.size(), bounds, beside, elements),
        (datatype.reduction_base(), datatype.is_contiguous()),
    )
}

/// Packs and unpacks `count` elements of both.
fn check_packing(one: &Datatype, other: &Datatype, count: u64) {
    let [one, other] = [one, other].map(|it| Buffer::scratch(count, it).unwrap());
    let len = one.bytes().unwrap() as usize;
    let message: Vec<u8> = (0..len).map(|x| (x % 250 + 1) as u8).collect();
    for buffer in [&one, &other] {
        assert_eq!(buffer.unpack(&message), len);
    }
    assert_eq!(one.pack(), other.pack());
    let [one, other] = [&one, &other].map(|it| it.occupied().unwrap());
    one.view(|one| other.view(|other| assert_eq!(one, other)));
}

#[test]
fn a_datatype_that_is_read_is_the_one_that_was_written() {
    let datatypes = (any_datatype(), any_datatype(), 0u64..3, 0i64..9);
    on_random(&datatypes, |(one, other, count, at)| {
        let block = |displacement, count, datatype: &Datatype| Block {
            displacement,
            count,
            datatype: datatype.clone(),
        };
        // A structure whose bounds the program has not given, and one with equal members.
        let (one, other) = (one.0, other.0);
        let blocks = vec![
            block(at, count, &one),
            block(0, 1, &other),
            block(9, 2, &one),
        ];
        let all = Datatype::structure(blocks).unwrap();
        for datatype in [one, other, all] {
            let form = form(&datatype);
            let read = read(&form);
            assert_eq!(measures(&read), measures(&datatype));
            assert!(read.is_committed());
            for count in 0..3 {
                check_packing(&datatype, &read, count);
            }
            assert_eq!(self::form(&read), form);
        }
    });
}

#[test]
fn each_predefined_datatype_takes_two_bytes() {
    for basic in Basic::ALL {
        let form = form(&(*basic).into());
        assert_eq!(form, [0, *basic as u8]);
        assert!(read(&form).is_same(&(*basic).into()));
    }
}

/// The table of the format, byte by byte.
#[test]
fn forms_are_as_the_table_says() {
    let byte: Datatype = Basic::Byte.into();
    let (number, entry) = (Basic::Byte as u8, Basic::ALL.len() as u8);
    let row = byte.contiguous(300).unwrap();
    assert_eq!(form(&row), [1, 0, number, 0xac, 2]);
    let plane = row.hvector(5, 1, -400).unwrap();
    let expected = [2, 0, number, 0xac, 2, 1, entry, 5, 1, 0x9f, 6];
    assert_eq!(form(&plane), expected);
    let some = byte.hindexed(&[(1, 8), (2, 5)]).unwrap();
    assert_eq!(form(&some), [1, 2, number, 2, 1, 16, 2, 5]);
    let resized = byte.resized(-1, 4).unwrap();
    assert_eq!(form(&resized), [1, 8, 1, 8, number, 1]);
    let block = |displacement, datatype: &Datatype| Block {
        displacement,
        count: 1,
        datatype: datatype.clone(),
    };
    let both = Datatype::structure(vec![block(0, &byte), block(4, &row)]).unwrap();
    let expected = [2, 0, number, 0xac, 2, 7, 2, number, 1, 0, entry, 1, 8];
    assert_eq!(form(&both), expected);
}

#[test]
fn a_member_of_several_is_written_once() {
    let mut datatype: Datatype = Basic::Char.into();
    for _ in 0..40 {
        let half = |displacement| Block {
            displacement,
            count: 1,
            datatype: datatype.clone(),
        };
        let gap = Block {
            datatype: Basic::Char.into(),
            ..half(2 * datatype.extent())
        };
        datatype = Datatype::structure(vec![half(0), half(datatype.extent()), gap]).unwrap();
    }
    let form = form(&datatype);
    assert!(form.len() < 40 * 40, "{} bytes", form.len());
    assert_eq!(measures(&read(&form)), measures(&datatype));
}

#[test]
fn the_deepest_nesting_and_the_farthest_places_are_read() {
    let mut deep: Datatype = Basic::Int.into();
    while let Ok(deeper) = deep.contiguous(1) {
        deep = deeper;
    }
    let mut form = form(&deep);
    assert_eq!(measures(&read(&form)), measures(&deep));
    // One more.
    let (entries, item) = (512u64, Basic::ALL.len() as u64 + 511);
    assert_eq!(form[..2], [0x80, 4]);
    assert_eq!(entries, 4 << 7);
    form[0] = 0x81;
    let at = form.len();
    form.push(0);
    wire::put(&mut form, item);
    form.push(1);
    let why = "datatypes are nested more than 512 deep";
    assert_eq!(refused(&form), (at, why));

    let far = [(1, i64::MAX - 9), (1, i64::MAX - 1), (0, i64::MIN), (1, 0)];
    let far = Datatype::from(Basic::Byte).hindexed(&far).unwrap();
    assert_eq!(measures(&read(&self::form(&far))), measures(&far));
}

#[test]
fn an_error_says_what_is_wrong_and_where() {
    let (byte, entry) = (Basic::Byte as u8, Basic::ALL.len() as u8);
    let long = [0xff; 10];
    let much = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    let early = "the bytes end too early";
    let absent = "there is no such datatype before it";
    let large = "the datatype would be larger than the address space";
    let table: &[(&[&[u8]], usize, &str)] = &[
        (&[&[]], 0, early),
        (&[&[1, 0, byte]], 3, early),
        (&[&[0, 0x84]], 2, early),
        (&[&[0, entry]], 1, absent),
        (&[&[1, 0, entry, 1]], 2, absent),
        (&[&[2, 0, byte, 2, 0, entry + 1, 1]], 5, absent),
        (&[&[1, 0, byte], &long], 3, "a number has more than 64 bits"),
        (&[&[1, 0, byte], &much], 1, large),
        (&[&[1, 16, byte, 1]], 1, "there is no such kind of entry"),
        (&[&[1, 12, byte, 1]], 1, "there is no such kind of entry"),
        (&[&[1, 1, byte], &much, &[1, 2]], 1, large),
        (&[&[1, 1, byte, 3, 1], &much], 1, large),
        (
            &[&[1, 2, byte], &much],
            3,
            "there are more blocks than bytes",
        ),
        (
            &[&[1, 3, 2, byte, 1]],
            2,
            "there are more blocks than bytes",
        ),
        (
            &[&[1, 8, 2, 0xfe], &much[1..], &[byte, 1]],
            1,
            "the bounds leave the address space",
        ),
    ];
    for (number, (parts, at, why)) in table.iter().enumerate() {
        assert_eq!(refused(&parts.concat()), (*at, *why), "line {number}");
    }
    let error = Datatype::read(&[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "the wire form of a datatype is wrong at byte 0: the bytes end too early"
    );
}

/// Reads any bytes. What they mean, if anything, is written and read again as the same.
fn check_any(bytes: &[u8]) -> bool {
    let Ok((datatype, len)) = Datatype::read(bytes) else {
        return false;
    };
    assert!(len <= bytes.len());
    let form = form(&datatype);
    let again = read(&form);
    assert_eq!(measures(&again), measures(&datatype), "{bytes:?}");
    assert_eq!(self::form(&again), form, "{bytes:?}");
    true
}

#[test]
fn changed_forms_are_refused_or_read_as_something_else() {
    let changes = proptest::collection::vec((any::<u16>(), any::<u8>(), 0..4u8), 1..6);
    let forms = (any_datatype(), changes);
    on_random(&forms, |((datatype, _), changes)| {
        let mut bytes = form(&datatype);
        for (at, byte, how) in changes {
            let at = usize::from(at) % bytes.len();
            match how {
                0 => bytes[at] = byte,
                1 => bytes[at] ^= 1 << (byte % 8),
                2 => bytes.insert(at, byte),
                _ => bytes.truncate(at.max(1)),
            }
        }
        check_any(&bytes);
    });
}

#[test]
fn any_bytes_are_refused_or_read() {
    // Small numbers, so that many of them are read.
    let small = prop_oneof![4 => 0..9u8, 2 => 60..70u8, 1 => any::<u8>()];
    let some = (0..4u8, proptest::collection::vec(small, 0..40));
    let read = std::cell::Cell::new(0);
    on_random(&some, |(entries, bytes)| {
        let bytes = [&[entries], &bytes[..]].concat();
        read.set(read.get() + usize::from(check_any(&bytes)));
    });
    assert!(read.get() > 0);
}
