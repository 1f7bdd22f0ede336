//! `settle FILE`: the last step of the static library, for `launcher/install.sh`.
//!
//! An object of ours has one section of code, and a relocation of 24 bytes for each call in it: a
//! linker keeps them when it makes an object of objects. Most lead to a local symbol of the same
//! section. Their distance is known, whatever a program is linked with: it is written here, and
//! the relocation goes. A call through the table of addresses becomes a direct one, as every
//! linker would make it (System V ABI for x86-64, B.2). Objects of other machines stay as
//! they are. The file keeps its length; `objcopy` makes it short.

use std::process::ExitCode;

/// Sizes and places of ELF-64, in bytes: a section's header, a symbol, a relocation.
const SECTION: usize = 64;
const SYMBOL: usize = 24;
const RELOCATION: usize = 24;

/// Kinds of relocations (`R_X86_64_...`).
const PC32: u64 = 2;
const PLT32: u64 = 4;
const GOTPCRELX: u64 = 41;
const REX_GOTPCRELX: u64 = 42;

/// `STT_GNU_IFUNC`: what the symbol leads to is chosen when a program is loaded.
const IFUNC: usize = 10;

/// `SHT_RELA` and `SHT_PROGBITS`.
const RELA: usize = 4;
const PROGBITS: usize = 1;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: settle OBJECT");
        return ExitCode::from(2);
    };
    let settled = std::fs::read(&path).and_then(|mut object| {
        settle(&mut object).ok_or_else(|| std::io::Error::other("not a sound object"))?;
        std::fs::write(&path, object)
    });
    match settled {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("settle: {}: {error}", path.display());
            ExitCode::FAILURE
        }
    }
}

/// An unsigned number of `length` bytes at `offset`.
fn number(bytes: &[u8], offset: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(offset..offset.checked_add(length)?)?;
    let add = |sum: usize, byte: &u8| (sum << 8) | usize::from(*byte);
    Some(bytes.iter().rev().fold(0, add))
}

/// Where a section lies in the file, and what it belongs to.
struct Section {
    header: usize,
    kind: usize,
    start: usize,
    length: usize,
    link: usize,
    info: usize,
}

/// One relocation: the place in its section, the kind, the symbol, and what is added to it.
struct Relocation {
    place: usize,
    kind: u64,
    symbol: usize,
    addend: i64,
}

/// `None` if the file contradicts itself, or is cut off.
fn settle(object: &mut [u8]) -> Option<()> {
    let is_ours = object.starts_with(b"\x7fELF\x02\x01") && object.get(16..20)? == [1, 0, 62, 0];
    if !is_ours {
        return Some(());
    }
    let (table, count) = (number(object, 40, 8)?, number(object, 60, 2)?);
    let sections: Option<Vec<Section>> = (0..count)
        .map(|index| section(object, table + index * SECTION))
        .collect();
    let sections = sections?;
    for relocations in sections.iter().filter(|section| section.kind == RELA) {
        let code = sections.get(relocations.info)?;
        let symbols = sections.get(relocations.link)?;
        if code.kind == PROGBITS {
            settle_section(object, relocations, code, symbols)?;
        }
    }
    Some(())
}

fn section(object: &[u8], header: usize) -> Option<Section> {
    Some(Section {
        header,
        kind: number(object, header + 4, 4)?,
        start: number(object, header + 24, 8)?,
        length: number(object, header + 32, 8)?,
        link: number(object, header + 40, 4)?,
        info: number(object, header + 44, 4)?,
    })
}

/// Settles what can be, moves the other relocations together, and says how many there are.
fn settle_section(
    object: &mut [u8],
    relocations: &Section,
    code: &Section,
    symbols: &Section,
) -> Option<()> {
    let mut kept = relocations.start;
    for at in (relocations.start..relocations.start + relocations.length).step_by(RELOCATION) {
        let information = number(object, at + 8, 8)?;
        let relocation = Relocation {
            place: code.start + number(object, at, 8)?,
            kind: u64::try_from(information & 0xffff_ffff).ok()?,
            symbol: symbols.start + (information >> 32) * SYMBOL,
            addend: number(object, at + 16, 8)?.cast_signed().try_into().ok()?,
        };
        if !write_distance(object, &relocation, code, relocations.info)? {
            object.copy_within(at..at + RELOCATION, kept);
            kept += RELOCATION;
        }
    }
    let length = (kept - relocations.start).to_le_bytes();
    object
        .get_mut(relocations.header + 32..relocations.header + 40)?
        .copy_from_slice(&length);
    Some(())
}

/// Whether the relocation is settled: its symbol is local, and lies in the section itself.
fn write_distance(
    object: &mut [u8],
    relocation: &Relocation,
    code: &Section,
    index: usize,
) -> Option<bool> {
    let kind = number(object, relocation.symbol + 4, 1)?;
    let is_local = kind >> 4 == 0 && kind & 0xf != IFUNC;
    if !is_local || number(object, relocation.symbol + 6, 2)? != index {
        return Some(false);
    }
    let target = code.start + number(object, relocation.symbol + 8, 8)?;
    let place = relocation.place;
    let distance = target.cast_signed() as i64 + relocation.addend - place.cast_signed() as i64;
    let Ok(distance) = i32::try_from(distance) else {
        return Some(false);
    };
    let is_direct = match relocation.kind {
        PC32 | PLT32 => true,
        GOTPCRELX | REX_GOTPCRELX => make_direct(object, relocation)?,
        _ => false,
    };
    if is_direct {
        object
            .get_mut(place..place + 4)?
            .copy_from_slice(&distance.to_le_bytes());
    }
    Some(is_direct)
}

/// Makes an instruction that reads an address from the table one that names it: a call (with
/// a prefix that means nothing, for its length), or the load of an address.
fn make_direct(object: &mut [u8], relocation: &Relocation) -> Option<bool> {
    let instruction = object.get_mut(relocation.place - 2..relocation.place)?;
    let direct: [u8; 2] = match (&*instruction, relocation.kind) {
        ([0xff, 0x15], GOTPCRELX) => [0x67, 0xe8],
        (&[0x8b, register], _) if register & 0xc7 == 5 => [0x8d, register],
        _ => return Some(false),
    };
    let is_usual = relocation.addend == -4;
    if is_usual {
        instruction.copy_from_slice(&direct);
    }
    Some(is_usual)
}
