//! MPICH's constants: each is mapped to the standard's and back. `constants.tsv` has them all; a
//! test compares.

use core::ffi::c_int;

use crate::abi;
use crate::missing::FIRST_FUNCTION;

/// The address that stands for `MPI_IN_PLACE`.
pub const IN_PLACE: usize = usize::MAX;

/// The address that stands for `MPI_BUFFER_AUTOMATIC`.
const BUFFER_AUTOMATIC: usize = usize::MAX - 1;

/// The address that stands for `MPI_STATUS_IGNORE` and for `MPI_STATUSES_IGNORE`.
pub const STATUS_IGNORE: usize = 1;

/// The largest code of MPI's own.
pub const ERR_LASTCODE: c_int = 0x3fff_ffff;

/// The address of a buffer in the standard's interface. What is in place there is the address of an
/// empty buffer of some languages here.
#[inline(always)]
pub fn standard_address(address: usize) -> usize {
    match address {
        IN_PLACE => abi::MPI_IN_PLACE,
        abi::MPI_IN_PLACE => 0,
        _ => address,
    }
}

/// The address of the room for buffered sends in the standard's interface.
pub fn standard_room(address: usize) -> usize {
    match address {
        BUFFER_AUTOMATIC => abi::MPI_BUFFER_AUTOMATIC,
        _ => address,
    }
}

/// The address of the room for buffered sends in MPICH's interface.
pub fn room_of(address: usize) -> usize {
    match address {
        abi::MPI_BUFFER_AUTOMATIC => BUFFER_AUTOMATIC,
        _ => address,
    }
}

/// Bytes of a text that `function` lays down, with its zero.
pub fn text_limit(function: &str) -> usize {
    match function {
        "MPI_Get_processor_name" => 128,
        "MPI_Open_port" | "MPI_Lookup_name" => 256,
        "MPI_Info_get_nthkey" => 255,
        _ => usize::MAX,
    }
}

/// Makes two functions that are each other's inverse: from MPICH's interface to the standard's, and
/// back. What is not named is itself.
macro_rules! maps {
    ($($(#[$doc:meta])* $to:ident, $back:ident: $($own:literal = $standard:literal),*;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $to(value: c_int) -> c_int {
            #[cold]
            #[inline(never)]
            fn negative(value: c_int) -> c_int {
                match value {
                    $($own => $standard,)*
                    _ => value,
                }
            }
            if value < 0 { negative(value) } else { value }
        }

        $(#[$doc])*
        #[inline(always)]
        pub fn $back(value: c_int) -> c_int {
            #[cold]
            #[inline(never)]
            fn negative(value: c_int) -> c_int {
                match value {
                    $($standard => $own,)*
                    _ => value,
                }
            }
            if value < 0 { negative(value) } else { value }
        }
    )*};
}

// Both sides have the same numbers, so that a number without a meaning gets none.
maps! {
    /// A rank that a message goes to: `MPI_PROC_NULL`, and what means nothing.
    standard_rank, rank_of: -1 = -3, -3 = -1;
    /// The root of a collective: `MPI_PROC_NULL`, `MPI_ROOT`, and what means nothing.
    standard_root, root_of: -1 = -3, -3 = -4, -4 = -1;
    /// A rank that a message comes from: `MPI_PROC_NULL`, `MPI_ANY_SOURCE`, and what means nothing.
    standard_source, source_of: -1 = -3, -2 = -1, -3 = -2;
    /// A tag: `MPI_ANY_TAG`, and what means nothing.
    standard_tag, tag_of: -1 = -2, -2 = -1;
}

const _: () = assert!(
    abi::MPI_PROC_NULL == -3
        && abi::MPI_ROOT == -4
        && abi::MPI_ANY_SOURCE == -1
        && abi::MPI_ANY_TAG == -2,
    "the right side of the maps"
);

/// The error classes, by their number in the standard's interface.
const CLASSES: [u8; 63] = [
    0, 1, 2, 3, 4, 5, 6, 19, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 17, 20, 21, 53, 22, 46, 23,
    52, 24, 25, 26, 27, 29, 31, 30, 28, 32, 48, 47, 33, 34, 35, 36, 37, 38, 39, 40, 56, 49, 55, 57,
    50, 41, 51, 42, 43, 44, 45, 58, 76, 77, 75, 80, 81,
];

/// Those of the tool interface, from `MPI_T_ERR_CANNOT_INIT` on.
const TOOL_CLASSES: [u8; 18] = [
    61, 79, 60, 78, 59, 74, 62, 63, 67, 64, 73, 65, 66, 68, 69, 71, 70, 72,
];

const FIRST_TOOL_CLASS: c_int = abi::MPI_T_ERR_CANNOT_INIT;

/// How much larger the codes are that the program adds.
const ADDED: c_int = ERR_LASTCODE - abi::MPI_ERR_LASTCODE;

/// The lowest code of a callback that is passed on as it is. Other codes that mean nothing in
/// MPICH's interface have another highest bit in the standard's, so that they mean nothing there.
const LOWEST: c_int = -1 << 30;

/// MPICH's code for one of the standard's.
#[inline(always)]
pub fn code_of(code: c_int) -> c_int {
    if code == abi::MPI_SUCCESS {
        return code;
    }
    code_of_error(code)
}

#[cold]
#[inline(never)]
fn code_of_error(code: c_int) -> c_int {
    if code >= abi::MPI_ERR_LASTCODE {
        return code.wrapping_add(ADDED);
    }
    if code < LOWEST {
        return code ^ c_int::MIN;
    }
    let class = |classes: &[u8], first: c_int| {
        let place = usize::try_from(code.wrapping_sub(first)).ok()?;
        classes.get(place).map(|class| c_int::from(*class))
    };
    let found = class(&CLASSES, 0).or_else(|| class(&TOOL_CLASSES, FIRST_TOOL_CLASS));
    found.unwrap_or(code)
}

/// The standard's code for one of MPICH's.
pub fn standard_code(code: c_int) -> c_int {
    if code >= ERR_LASTCODE {
        return code - ADDED;
    }
    let place = |classes: &[u8]| -> Option<c_int> {
        let mut places = classes.iter().zip(0..);
        places
            .find(|(class, _)| c_int::from(**class) == code)
            .map(|(_, place)| place)
    };
    // Codes of functions without a body are the same in both interfaces.
    let is_the_same = code < 0 || (FIRST_FUNCTION..abi::MPI_ERR_LASTCODE).contains(&code);
    let without_meaning = if is_the_same { code } else { code ^ c_int::MIN };
    place(&CLASSES)
        .or_else(|| Some(FIRST_TOOL_CLASS + place(&TOOL_CLASSES)?))
        .unwrap_or(without_meaning)
}

#[test]
fn codes_of_callbacks_come_back_as_they_were() {
    let codes = (-200..100_000).chain([LOWEST, ERR_LASTCODE - 1, ERR_LASTCODE, 1 << 30]);
    for code in codes {
        assert_eq!(code_of(standard_code(code)), code);
    }
}

/// Numbers with a meaning: MPICH's, the standard's.
pub type Numbers = &'static [(c_int, c_int)];

/// What the standard's interface gets for a number without a meaning.
const NONE: c_int = c_int::MIN;

/// The standard's number for one of MPICH's.
#[inline(never)]
pub fn standard_number(numbers: Numbers, number: c_int) -> c_int {
    let found = numbers.iter().find(|(own, _)| *own == number);
    found.map_or(NONE, |(_, standard)| *standard)
}

/// Returns true for a number of MPICH's that has a meaning.
pub fn is_known(numbers: Numbers, number: c_int) -> bool {
    numbers.iter().any(|(own, _)| *own == number)
}

/// MPICH's number for one of the standard's.
#[inline(never)]
pub fn number_of(numbers: Numbers, number: c_int) -> c_int {
    let found = numbers.iter().find(|(_, standard)| *standard == number);
    found.map_or(number, |(own, _)| *own)
}

/// A bit that means nothing in the standard's sets.
const NO_BIT: c_int = 1 << 30;

/// The standard's set for one of MPICH's.
#[inline(never)]
pub fn standard_set(bits: Numbers, set: c_int) -> c_int {
    let known = bits.iter().fold(0, |known, (own, _)| known | own);
    let rest = if set & !known == 0 { 0 } else { NO_BIT };
    let given = bits.iter().filter(|(own, _)| set & own != 0);
    given.fold(rest, |made, (_, standard)| made | standard)
}

/// MPICH's set for one of the standard's.
#[inline(never)]
pub fn set_of(bits: Numbers, set: c_int) -> c_int {
    let given = bits.iter().filter(|(_, standard)| set & standard != 0);
    given.fold(0, |made, (own, _)| made | own)
}

/// The standard's number of a key: those of the program are the same in both interfaces.
pub fn standard_key(key: c_int) -> c_int {
    match standard_number(KEYS, key) {
        // The standard's own numbers are no keys here.
        NONE if number_of(KEYS, key) == key => key,
        standard => standard,
    }
}

/// The standard's size of a block of a distribution.
pub fn standard_distribution_arg(size: c_int) -> c_int {
    match standard_number(DISTRIBUTION_ARGS, size) {
        NONE => size,
        standard => standard,
    }
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $group:ident { $($name:ident = $own:literal;)* })*) => {
        $(
            $(#[$doc])*
            pub const $group: Numbers = &[$(($own, abi::$name)),*];
        )*

        /// All of them by name: MPICH's, the standard's.
        #[cfg(test)]
        pub const NAMED: &[(&str, c_int, c_int)] = &[$($(
            (stringify!($name), $own, abi::$name),
        )*)*];
    };
}

numbers! {
    /// Bits of `amode`.
    ACCESS_MODES {
        MPI_MODE_CREATE = 1;
        MPI_MODE_RDONLY = 2;
        MPI_MODE_WRONLY = 4;
        MPI_MODE_RDWR = 8;
        MPI_MODE_DELETE_ON_CLOSE = 16;
        MPI_MODE_UNIQUE_OPEN = 32;
        MPI_MODE_EXCL = 64;
        MPI_MODE_APPEND = 128;
        MPI_MODE_SEQUENTIAL = 256;
    }

    /// Bits of `assert`.
    ASSERTIONS {
        MPI_MODE_NOCHECK = 1024;
        MPI_MODE_NOSTORE = 2048;
        MPI_MODE_NOPUT = 4096;
        MPI_MODE_NOPRECEDE = 8192;
        MPI_MODE_NOSUCCEED = 16384;
    }

    /// Objects that variables of the tool interface belong to.
    BINDINGS {
        MPI_T_BIND_NO_OBJECT = 9700;
        MPI_T_BIND_MPI_COMM = 9701;
        MPI_T_BIND_MPI_DATATYPE = 9702;
        MPI_T_BIND_MPI_ERRHANDLER = 9703;
        MPI_T_BIND_MPI_FILE = 9704;
        MPI_T_BIND_MPI_GROUP = 9705;
        MPI_T_BIND_MPI_OP = 9706;
        MPI_T_BIND_MPI_REQUEST = 9707;
        MPI_T_BIND_MPI_WIN = 9708;
        MPI_T_BIND_MPI_MESSAGE = 9709;
        MPI_T_BIND_MPI_INFO = 9710;
        MPI_T_BIND_MPI_SESSION = 9711;
    }

    /// Constructors of datatypes.
    COMBINERS {
        MPI_COMBINER_NAMED = 1;
        MPI_COMBINER_DUP = 2;
        MPI_COMBINER_CONTIGUOUS = 3;
        MPI_COMBINER_VECTOR = 4;
        MPI_COMBINER_HVECTOR = 6;
        MPI_COMBINER_INDEXED = 7;
        MPI_COMBINER_HINDEXED = 9;
        MPI_COMBINER_INDEXED_BLOCK = 10;
        MPI_COMBINER_HINDEXED_BLOCK = 19;
        MPI_COMBINER_STRUCT = 12;
        MPI_COMBINER_SUBARRAY = 13;
        MPI_COMBINER_DARRAY = 14;
        MPI_COMBINER_F90_REAL = 15;
        MPI_COMBINER_F90_COMPLEX = 16;
        MPI_COMBINER_F90_INTEGER = 17;
        MPI_COMBINER_RESIZED = 18;
        MPI_COMBINER_VALUE_INDEX = 20;
    }

    /// Results of comparisons.
    COMPARED {
        MPI_IDENT = 0;
        MPI_CONGRUENT = 1;
        MPI_SIMILAR = 2;
        MPI_UNEQUAL = 3;
    }

    /// Distributions of a dimension.
    DISTRIBUTIONS {
        MPI_DISTRIBUTE_BLOCK = 121;
        MPI_DISTRIBUTE_CYCLIC = 122;
        MPI_DISTRIBUTE_NONE = 123;
    }

    /// The size of a block that the library chooses.
    DISTRIBUTION_ARGS {
        MPI_DISTRIBUTE_DFLT_DARG = -49767;
    }

    /// Keys of attributes; those of the program are the same in both interfaces.
    KEYS {
        MPI_KEYVAL_INVALID = 603979776;
        MPI_TAG_UB = 1681915905;
        MPI_IO = 1681915909;
        MPI_HOST = 1681915907;
        MPI_WTIME_IS_GLOBAL = 1681915911;
        MPI_APPNUM = 1681915917;
        MPI_LASTUSEDCODE = 1681915915;
        MPI_UNIVERSE_SIZE = 1681915913;
        MPI_WIN_BASE = 1711276033;
        MPI_WIN_DISP_UNIT = 1711276037;
        MPI_WIN_SIZE = 1711276035;
        MPI_WIN_CREATE_FLAVOR = 1711276039;
        MPI_WIN_MODEL = 1711276041;
    }

    /// Kinds of locks.
    LOCK_TYPES {
        MPI_LOCK_EXCLUSIVE = 234;
        MPI_LOCK_SHARED = 235;
    }

    /// Orders of dimensions.
    ORDERS {
        MPI_ORDER_C = 56;
        MPI_ORDER_FORTRAN = 57;
    }

    /// Classes of performance variables.
    PVAR_CLASSES {
        MPI_T_PVAR_CLASS_STATE = 240;
        MPI_T_PVAR_CLASS_LEVEL = 241;
        MPI_T_PVAR_CLASS_SIZE = 242;
        MPI_T_PVAR_CLASS_PERCENTAGE = 243;
        MPI_T_PVAR_CLASS_HIGHWATERMARK = 244;
        MPI_T_PVAR_CLASS_LOWWATERMARK = 245;
        MPI_T_PVAR_CLASS_COUNTER = 246;
        MPI_T_PVAR_CLASS_AGGREGATE = 247;
        MPI_T_PVAR_CLASS_TIMER = 248;
        MPI_T_PVAR_CLASS_GENERIC = 249;
    }

    /// What an event callback may do.
    SAFETIES {
        MPI_T_CB_REQUIRE_NONE = 0;
        MPI_T_CB_REQUIRE_MPI_RESTRICTED = 1;
        MPI_T_CB_REQUIRE_THREAD_SAFE = 2;
        MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE = 3;
    }

    /// Scopes of control variables.
    SCOPES {
        MPI_T_SCOPE_CONSTANT = 60438;
        MPI_T_SCOPE_READONLY = 60439;
        MPI_T_SCOPE_LOCAL = 60440;
        MPI_T_SCOPE_GROUP = 60441;
        MPI_T_SCOPE_GROUP_EQ = 60442;
        MPI_T_SCOPE_ALL = 60443;
        MPI_T_SCOPE_ALL_EQ = 60444;
    }

    /// Orders of a source's events.
    SOURCE_ORDERS {
        MPI_T_SOURCE_ORDERED = 0;
        MPI_T_SOURCE_UNORDERED = 1;
    }

    /// By what a communicator is split.
    SPLIT_TYPES {
        MPI_UNDEFINED = -32766;
        MPI_COMM_TYPE_SHARED = 1;
        MPI_COMM_TYPE_HW_GUIDED = 2;
        MPI_COMM_TYPE_HW_UNGUIDED = 3;
        MPI_COMM_TYPE_RESOURCE_GUIDED = 4;
    }

    /// Levels of thread support.
    THREAD_LEVELS {
        MPI_THREAD_SINGLE = 0;
        MPI_THREAD_FUNNELED = 1;
        MPI_THREAD_SERIALIZED = 2;
        MPI_THREAD_MULTIPLE = 3;
    }

    /// Kinds of topology.
    TOPOLOGIES {
        MPI_UNDEFINED = -32766;
        MPI_GRAPH = 1;
        MPI_CART = 2;
        MPI_DIST_GRAPH = 3;
    }

    /// Classes of datatypes of Fortran.
    TYPE_CLASSES {
        MPI_TYPECLASS_REAL = 1;
        MPI_TYPECLASS_INTEGER = 2;
        MPI_TYPECLASS_COMPLEX = 3;
    }

    /// For whom variables are.
    VERBOSITIES {
        MPI_T_VERBOSITY_USER_BASIC = 221;
        MPI_T_VERBOSITY_USER_DETAIL = 222;
        MPI_T_VERBOSITY_USER_ALL = 223;
        MPI_T_VERBOSITY_TUNER_BASIC = 224;
        MPI_T_VERBOSITY_TUNER_DETAIL = 225;
        MPI_T_VERBOSITY_TUNER_ALL = 226;
        MPI_T_VERBOSITY_MPIDEV_BASIC = 227;
        MPI_T_VERBOSITY_MPIDEV_DETAIL = 228;
        MPI_T_VERBOSITY_MPIDEV_ALL = 229;
    }

    /// From where places in a file are counted.
    WHENCES {
        MPI_SEEK_SET = 600;
        MPI_SEEK_CUR = 602;
        MPI_SEEK_END = 604;
    }
}
