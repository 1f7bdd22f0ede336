//! The functions and source lines of the addresses in an ELF file.

use std::borrow::Cow;
use std::path::Path;

use addr2line::gimli::{
    DW_LANG_Fortran03, DW_LANG_Fortran08, DW_LANG_Fortran18, DW_LANG_Fortran77, DW_LANG_Fortran90,
    DW_LANG_Fortran95, DwLang, DwarfSections, EndianSlice, RunTimeEndian, SectionId,
};
use addr2line::{Context, demangle_auto};
use object::elf::{FileHeader64, SHN_UNDEF, STT_FUNC, STT_GNU_IFUNC};
use object::read::elf::{Sym, SymbolTable};
use object::{Endianness, Object, ObjectSection};

use super::debug_file::{Content, Elf, common, open, separate};

/// The most debug information that is read from a file, in bytes, uncompressed.
const DEBUG_MAX: u64 = 512 << 20;

/// The longest name of a function or of a file that is reported, in bytes.
const NAME_MAX: usize = 256;

/// The languages in whose programs [`as_in_fortran`] makes names readable.
const FORTRAN: [DwLang; 6] = [
    DW_LANG_Fortran77,
    DW_LANG_Fortran90,
    DW_LANG_Fortran95,
    DW_LANG_Fortran03,
    DW_LANG_Fortran08,
    DW_LANG_Fortran18,
];

/// What a file says about a return address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The function, and how far behind its start the address is: 0 in an inlined function, which
    /// has no start of its own.
    pub(super) function: Option<(String, u64)>,
    /// `solver.c:41`; empty without debug information.
    pub(super) line: String,
}

type Sections<'a> = DwarfSections<Cow<'a, [u8]>>;
type Lines<'a> = Context<EndianSlice<'a, RunTimeEndian>>;

/// Looks up return addresses in a file, and passes on what it says about each, until `take` returns
/// false. Returns `None` if the file cannot be read.
pub(super) fn look_up(
    path: &Path,
    offsets: &[u64],
    mut take: impl FnMut(u64, Place) -> bool,
) -> Option<()> {
    let content = open(path)?;
    let own = Elf::parse(&content).ok()?;
    let separate = separate(path, &own);
    let (path, debug) = match &separate {
        Some((path, content)) => (path.as_path(), &Elf::parse(content).ok()?),
        None => (path, &own),
    };
    let common = common(path, debug);
    let common = common
        .as_ref()
        .and_then(|it| sections(&Elf::parse(it).ok()?));
    let sections = sections(debug);
    let lines = sections
        .as_ref()
        .and_then(|sections| lines(sections, common.as_ref(), own.endian()));
    for &offset in offsets {
        let symbol = symbol(&own, offset).or_else(|| symbol(debug, offset));
        if !take(offset, place(lines.as_ref(), symbol, offset)) {
            break;
        }
    }
    Some(())
}

/// The debug information that lines and functions need.
fn sections<'a>(elf: &Elf<'a>) -> Option<Sections<'a>> {
    let mut left = DEBUG_MAX;
    DwarfSections::load(|id| {
        let is_needed = !matches!(
            id,
            SectionId::DebugLoc
                | SectionId::DebugLocLists
                | SectionId::DebugMacinfo
                | SectionId::DebugMacro
                | SectionId::DebugNames
        );
        match elf.section_by_name(id.name()) {
            Some(section) if is_needed => data(&section, &mut left).ok_or(()),
            _ => Ok(Cow::Borrowed(&[][..])),
        }
    })
    .ok()
}

/// The content of a section, if there is that much `left`.
fn data<'a>(section: &impl ObjectSection<'a>, left: &mut u64) -> Option<Cow<'a, [u8]>> {
    let range = section.compressed_file_range().ok()?;
    let longest = range.uncompressed_size.max(range.compressed_size);
    *left = left.checked_sub(longest)?;
    section.uncompressed_data().ok()
}

fn lines<'a>(
    sections: &'a Sections,
    common: Option<&'a Sections>,
    endian: Endianness,
) -> Option<Lines<'a>> {
    let endian = match endian {
        Endianness::Little => RunTimeEndian::Little,
        Endianness::Big => RunTimeEndian::Big,
    };
    let slice = |data: &'a Cow<[u8]>| EndianSlice::new(data, endian);
    let dwarf = sections.borrow_with_sup(common, slice);
    Context::from_dwarf(dwarf).ok()
}

/// The function that the symbol tables show around a return address, and how far behind its start
/// the address is.
fn symbol(elf: &Elf, offset: u64) -> Option<(String, u64)> {
    let tables = [elf.elf_symbol_table(), elf.elf_dynamic_symbol_table()];
    let (table, symbol) = tables
        .iter()
        .find_map(|table| Some((table, around(table, elf.endian(), offset.checked_sub(1)?)?)))?;
    let name = table.symbol_name(elf.endian(), symbol).ok()?;
    let name = demangle_auto(String::from_utf8_lossy(name), None);
    let start = symbol.st_value(elf.endian());
    (!name.is_empty()).then(|| (cut(name.into_owned()), offset - start))
}

/// The innermost function around an address.
fn around<'a>(
    table: &SymbolTable<'a, FileHeader64<Endianness>, &'a Content>,
    endian: Endianness,
    address: u64,
) -> Option<&'a <FileHeader64<Endianness> as object::read::elf::FileHeader>::Sym> {
    let holds = |symbol: &&_| {
        let distance = address.checked_sub(Sym::st_value(*symbol, endian));
        matches!(Sym::st_type(*symbol), STT_FUNC | STT_GNU_IFUNC)
            && Sym::st_shndx(*symbol, endian) != SHN_UNDEF
            && distance.is_some_and(|distance| distance < Sym::st_size(*symbol, endian))
    };
    table
        .iter()
        .filter(holds)
        .max_by_key(|symbol| symbol.st_value(endian))
}

/// Puts together what is known about a return address. The line of a call is in the source of an
/// inlined function, if the call is in one: so this one is named with it.
fn place(lines: Option<&Lines>, symbol: Option<(String, u64)>, offset: u64) -> Place {
    let place = lines.and_then(|lines| innermost(lines, offset.checked_sub(1)?, symbol.as_ref()));
    let Place { function, line } = place.unwrap_or_default();
    let function = function.or(symbol);
    Place { function, line }
}

/// What the debug information says about an address in a function.
fn innermost(lines: &Lines, address: u64, symbol: Option<&(String, u64)>) -> Option<Place> {
    let mut frames = lines.find_frames(address).skip_all_loads().ok()?;
    let frame = frames.next().ok()??;
    let is_inlined = matches!(frames.next(), Ok(Some(_)));
    let name = frame.function.and_then(|name| {
        let readable = name.demangle().ok()?.into_owned();
        Some(cut(match name.language {
            Some(language) if FORTRAN.contains(&language) => as_in_fortran(&readable),
            _ => readable,
        }))
    });
    let line = frame.location.and_then(|location| {
        let file = location.file?.rsplit('/').next()?.to_owned();
        Some(format!("{}:{}", cut(file), location.line?))
    });
    let into = symbol.filter(|_| !is_inlined).map_or(0, |symbol| symbol.1);
    Some(Place {
        function: name.map(|name| (name, into)),
        line: line.unwrap_or_default(),
    })
}

/// `solver::exchange` of `__solver_MOD_exchange`, and `exchange` of `exchange_`, as compilers of
/// Fortran make them.
fn as_in_fortran(name: &str) -> String {
    let in_module = name
        .strip_prefix("__")
        .and_then(|name| name.split_once("_MOD_"));
    match in_module {
        Some((module, procedure)) => format!("{module}::{procedure}"),
        None => name.trim_end_matches('_').to_owned(),
    }
}

fn cut(mut name: String) -> String {
    if let Some(end) = (0..=NAME_MAX).rfind(|&end| name.is_char_boundary(end)) {
        name.truncate(end);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_fortran_are_those_of_its_programs() {
        assert_eq!(as_in_fortran("__solver_MOD_exchange"), "solver::exchange");
        assert_eq!(as_in_fortran("exchange_"), "exchange");
        assert_eq!(as_in_fortran("MAIN__"), "MAIN");
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        assert_eq!(cut("ä".repeat(200)), "ä".repeat(128));
        assert_eq!(cut(format!("x{}", "ä".repeat(200))).len(), 255);
        assert_eq!(cut("main".to_owned()), "main");
    }
}
