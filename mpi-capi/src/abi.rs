//! The constants of the MPI 5.0 standard ABI under their C names.
//!
//! `include/mpi.h` defines the same constants; a test prints every one of them from C and compares.
//! The values are the standard's (MPI 5.0, chapter 20 and annex A): they are part of the binary
//! interface and never change.

use core::ffi::c_int;

/// A handle as C holds it: an opaque pointer whose small values are the predefined objects.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle(pub usize);

/// Handles from 1 to this one are the standard's; a handle made by us is never among them.
pub const LAST_RESERVED_HANDLE: usize = 4095;

const _: () = assert!(
    size_of::<Handle>() == 8,
    "handles are 64 bits wide in this library"
);

/// The name of a predefined object. Handles of different kinds never share a value, apart from
/// zero: the null handles of the tool interface have it, and so has what a program forgot to set.
pub fn name_of(handle: Handle) -> Option<&'static str> {
    if handle.0 == 0 {
        return None;
    }
    let number = handle.0 as i64;
    predefined()
        .find(|constant| constant.value == number)
        .map(|constant| constant.name)
}

/// C's float of two bytes, for which MPICH's binary interface has a name and the standard's none:
/// programs of the standard's do not know this value.
pub const MPIX_C_FLOAT16: Handle = Handle(0x2ff);

/// The handles of all predefined objects.
pub fn predefined() -> impl Iterator<Item = Constant> {
    let of_mpich = Constant {
        name: "MPIX_C_FLOAT16",
        value: MPIX_C_FLOAT16.0 as i64,
        is_handle: true,
    };
    let of_the_standard = CONSTANTS.iter().filter(|constant| constant.is_handle);
    of_the_standard.copied().chain([of_mpich])
}

/// One constant, for the tables that compare and name constants.
#[derive(Debug, Clone, Copy)]
pub struct Constant {
    /// The C name.
    pub name: &'static str,
    /// The value; of a handle or an address the pointer as a number.
    pub value: i64,
    /// True if it is a handle.
    pub is_handle: bool,
}

macro_rules! constants {
    ($($name:ident: $kind:tt = $value:expr;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`")]
            pub const $name: $kind = constants!(@value $kind $value);
        )*

        /// Every constant, in the order of the standard's tables.
        pub static CONSTANTS: &[Constant] = &[$(Constant {
            name: stringify!($name),
            value: constants!(@number $kind $name),
            is_handle: constants!(@is_handle $kind),
        }),*];
    };
    (@number Handle $name:ident) => { $name.0 as i64 };
    (@number $kind:tt $name:ident) => { $name as i64 };
    (@value Handle $value:expr) => { Handle($value) };
    (@value $kind:tt $value:expr) => { $value };
    (@is_handle Handle) => { true };
    (@is_handle $kind:tt) => { false };
}

constants! {
    // Error classes. MPI 5.0, 9.4; those of the tool interface: 15.3.10.
    MPI_SUCCESS: c_int = 0;
    MPI_ERR_BUFFER: c_int = 1;
    MPI_ERR_COUNT: c_int = 2;
    MPI_ERR_TYPE: c_int = 3;
    MPI_ERR_TAG: c_int = 4;
    MPI_ERR_COMM: c_int = 5;
    MPI_ERR_RANK: c_int = 6;
    MPI_ERR_REQUEST: c_int = 7;
    MPI_ERR_ROOT: c_int = 8;
    MPI_ERR_GROUP: c_int = 9;
    MPI_ERR_OP: c_int = 10;
    MPI_ERR_TOPOLOGY: c_int = 11;
    MPI_ERR_DIMS: c_int = 12;
    MPI_ERR_ARG: c_int = 13;
    MPI_ERR_UNKNOWN: c_int = 14;
    MPI_ERR_TRUNCATE: c_int = 15;
    MPI_ERR_OTHER: c_int = 16;
    MPI_ERR_INTERN: c_int = 17;
    MPI_ERR_PENDING: c_int = 18;
    MPI_ERR_IN_STATUS: c_int = 19;
    MPI_ERR_ACCESS: c_int = 20;
    MPI_ERR_AMODE: c_int = 21;
    MPI_ERR_ASSERT: c_int = 22;
    MPI_ERR_BAD_FILE: c_int = 23;
    MPI_ERR_BASE: c_int = 24;
    MPI_ERR_CONVERSION: c_int = 25;
    MPI_ERR_DISP: c_int = 26;
    MPI_ERR_DUP_DATAREP: c_int = 27;
    MPI_ERR_FILE_EXISTS: c_int = 28;
    MPI_ERR_FILE_IN_USE: c_int = 29;
    MPI_ERR_FILE: c_int = 30;
    MPI_ERR_INFO_KEY: c_int = 31;
    MPI_ERR_INFO_NOKEY: c_int = 32;
    MPI_ERR_INFO_VALUE: c_int = 33;
    MPI_ERR_INFO: c_int = 34;
    MPI_ERR_IO: c_int = 35;
    MPI_ERR_KEYVAL: c_int = 36;
    MPI_ERR_LOCKTYPE: c_int = 37;
    MPI_ERR_NAME: c_int = 38;
    MPI_ERR_NO_MEM: c_int = 39;
    MPI_ERR_NOT_SAME: c_int = 40;
    MPI_ERR_NO_SPACE: c_int = 41;
    MPI_ERR_NO_SUCH_FILE: c_int = 42;
    MPI_ERR_PORT: c_int = 43;
    MPI_ERR_QUOTA: c_int = 44;
    MPI_ERR_READ_ONLY: c_int = 45;
    MPI_ERR_RMA_ATTACH: c_int = 46;
    MPI_ERR_RMA_CONFLICT: c_int = 47;
    MPI_ERR_RMA_RANGE: c_int = 48;
    MPI_ERR_RMA_SHARED: c_int = 49;
    MPI_ERR_RMA_SYNC: c_int = 50;
    MPI_ERR_SERVICE: c_int = 51;
    MPI_ERR_SIZE: c_int = 52;
    MPI_ERR_SPAWN: c_int = 53;
    MPI_ERR_UNSUPPORTED_DATAREP: c_int = 54;
    MPI_ERR_UNSUPPORTED_OPERATION: c_int = 55;
    MPI_ERR_WIN: c_int = 56;
    MPI_ERR_RMA_FLAVOR: c_int = 57;
    MPI_ERR_PROC_ABORTED: c_int = 58;
    MPI_ERR_VALUE_TOO_LARGE: c_int = 59;
    MPI_ERR_SESSION: c_int = 60;
    MPI_ERR_ERRHANDLER: c_int = 61;
    MPI_ERR_ABI: c_int = 62;
    MPI_T_ERR_CANNOT_INIT: c_int = 1001;
    MPI_T_ERR_NOT_ACCESSIBLE: c_int = 1002;
    MPI_T_ERR_NOT_INITIALIZED: c_int = 1003;
    MPI_T_ERR_NOT_SUPPORTED: c_int = 1004;
    MPI_T_ERR_MEMORY: c_int = 1005;
    MPI_T_ERR_INVALID: c_int = 1006;
    MPI_T_ERR_INVALID_INDEX: c_int = 1007;
    MPI_T_ERR_INVALID_ITEM: c_int = 1008;
    MPI_T_ERR_INVALID_SESSION: c_int = 1009;
    MPI_T_ERR_INVALID_HANDLE: c_int = 1010;
    MPI_T_ERR_INVALID_NAME: c_int = 1011;
    MPI_T_ERR_OUT_OF_HANDLES: c_int = 1012;
    MPI_T_ERR_OUT_OF_SESSIONS: c_int = 1013;
    MPI_T_ERR_CVAR_SET_NOT_NOW: c_int = 1014;
    MPI_T_ERR_CVAR_SET_NEVER: c_int = 1015;
    MPI_T_ERR_PVAR_NO_WRITE: c_int = 1016;
    MPI_T_ERR_PVAR_NO_STARTSTOP: c_int = 1017;
    MPI_T_ERR_PVAR_NO_ATOMIC: c_int = 1018;
    MPI_ERR_LASTCODE: c_int = 16383;

    // Addresses with a meaning. MPI 5.0, 2.5.4.
    MPI_BOTTOM: usize = 0;
    MPI_IN_PLACE: usize = 1;
    MPI_BUFFER_AUTOMATIC: usize = 2;

    // Ignored and empty arguments. MPI 5.0, 3.2.6, 8.5.4, 11.8.
    MPI_ARGVS_NULL: usize = 0;
    MPI_ARGV_NULL: usize = 0;
    MPI_ERRCODES_IGNORE: usize = 0;
    MPI_STATUSES_IGNORE: usize = 0;
    MPI_STATUS_IGNORE: usize = 0;
    MPI_UNWEIGHTED: usize = 10;
    MPI_WEIGHTS_EMPTY: usize = 11;

    // Longest strings, with the terminating zero.
    MPI_MAX_DATAREP_STRING: c_int = 128;
    MPI_MAX_ERROR_STRING: c_int = 512;
    MPI_MAX_INFO_KEY: c_int = 256;
    MPI_MAX_INFO_VAL: c_int = 1024;
    MPI_MAX_LIBRARY_VERSION_STRING: c_int = 8192;
    MPI_MAX_OBJECT_NAME: c_int = 128;
    MPI_MAX_PORT_NAME: c_int = 1024;
    MPI_MAX_PROCESSOR_NAME: c_int = 256;
    MPI_MAX_STRINGTAG_LEN: c_int = 1024;
    MPI_MAX_PSET_NAME_LEN: c_int = 1024;

    // Modes of opening a file and assertions of one-sided calls.
    MPI_MODE_APPEND: c_int = 1;
    MPI_MODE_CREATE: c_int = 2;
    MPI_MODE_DELETE_ON_CLOSE: c_int = 4;
    MPI_MODE_EXCL: c_int = 8;
    MPI_MODE_RDONLY: c_int = 16;
    MPI_MODE_RDWR: c_int = 32;
    MPI_MODE_SEQUENTIAL: c_int = 64;
    MPI_MODE_UNIQUE_OPEN: c_int = 128;
    MPI_MODE_WRONLY: c_int = 256;
    MPI_MODE_NOCHECK: c_int = 1024;
    MPI_MODE_NOPRECEDE: c_int = 2048;
    MPI_MODE_NOPUT: c_int = 4096;
    MPI_MODE_NOSTORE: c_int = 8192;
    MPI_MODE_NOSUCCEED: c_int = 16384;

    // Ranks, tags and sizes with a meaning.
    MPI_ANY_SOURCE: c_int = -1;
    MPI_ANY_TAG: c_int = -2;
    MPI_PROC_NULL: c_int = -3;
    MPI_ROOT: c_int = -4;
    MPI_UNDEFINED: c_int = -32766;
    MPI_BSEND_OVERHEAD: c_int = 512;

    // Thread levels. MPI 5.0, 11.6.
    MPI_THREAD_SINGLE: c_int = 0;
    MPI_THREAD_FUNNELED: c_int = 1024;
    MPI_THREAD_SERIALIZED: c_int = 2048;
    MPI_THREAD_MULTIPLE: c_int = 4096;

    // Array orders and distributions. MPI 5.0, 5.1.3, 5.1.4.
    MPI_ORDER_C: c_int = 12;
    MPI_ORDER_FORTRAN: c_int = 15;
    MPI_DISTRIBUTE_NONE: c_int = 16;
    MPI_DISTRIBUTE_BLOCK: c_int = 17;
    MPI_DISTRIBUTE_CYCLIC: c_int = 18;
    MPI_DISTRIBUTE_DFLT_DARG: c_int = 19;

    // Combiners. MPI 5.0, 5.1.13.
    MPI_COMBINER_NAMED: c_int = 101;
    MPI_COMBINER_DUP: c_int = 102;
    MPI_COMBINER_CONTIGUOUS: c_int = 103;
    MPI_COMBINER_VECTOR: c_int = 104;
    MPI_COMBINER_HVECTOR: c_int = 105;
    MPI_COMBINER_INDEXED: c_int = 106;
    MPI_COMBINER_HINDEXED: c_int = 107;
    MPI_COMBINER_INDEXED_BLOCK: c_int = 108;
    MPI_COMBINER_HINDEXED_BLOCK: c_int = 109;
    MPI_COMBINER_STRUCT: c_int = 110;
    MPI_COMBINER_SUBARRAY: c_int = 111;
    MPI_COMBINER_DARRAY: c_int = 112;
    MPI_COMBINER_F90_REAL: c_int = 113;
    MPI_COMBINER_F90_COMPLEX: c_int = 114;
    MPI_COMBINER_F90_INTEGER: c_int = 115;
    MPI_COMBINER_RESIZED: c_int = 116;
    MPI_COMBINER_VALUE_INDEX: c_int = 117;

    // Type classes. MPI 5.0, 19.1.9.
    MPI_TYPECLASS_INTEGER: c_int = 192;
    MPI_TYPECLASS_REAL: c_int = 193;
    MPI_TYPECLASS_COMPLEX: c_int = 194;

    // Results of comparisons. MPI 5.0, 7.3.1, 7.4.1.
    MPI_IDENT: c_int = 201;
    MPI_CONGRUENT: c_int = 202;
    MPI_SIMILAR: c_int = 203;
    MPI_UNEQUAL: c_int = 204;

    // Kinds of topology. MPI 5.0, 8.5.5.
    MPI_CART: c_int = 211;
    MPI_GRAPH: c_int = 212;
    MPI_DIST_GRAPH: c_int = 213;

    // Types of split. MPI 5.0, 7.4.2.
    MPI_COMM_TYPE_SHARED: c_int = 221;
    MPI_COMM_TYPE_HW_UNGUIDED: c_int = 222;
    MPI_COMM_TYPE_HW_GUIDED: c_int = 223;
    MPI_COMM_TYPE_RESOURCE_GUIDED: c_int = 224;

    // Locks of windows. MPI 5.0, 12.5.3.
    MPI_LOCK_EXCLUSIVE: c_int = 301;
    MPI_LOCK_SHARED: c_int = 302;

    // Flavors of windows. MPI 5.0, 12.2.
    MPI_WIN_FLAVOR_CREATE: c_int = 311;
    MPI_WIN_FLAVOR_ALLOCATE: c_int = 312;
    MPI_WIN_FLAVOR_DYNAMIC: c_int = 313;
    MPI_WIN_FLAVOR_SHARED: c_int = 314;

    // Memory models of windows. MPI 5.0, 12.4.
    MPI_WIN_UNIFIED: c_int = 321;
    MPI_WIN_SEPARATE: c_int = 322;

    // Origins of a seek. MPI 5.0, 14.4.3.
    MPI_SEEK_CUR: c_int = 401;
    MPI_SEEK_END: c_int = 402;
    MPI_SEEK_SET: c_int = 403;

    // A displacement with a meaning. MPI 5.0, 14.3.
    MPI_DISPLACEMENT_CURRENT: i64 = -1;

    // Predefined attribute keys. MPI 5.0, 9.1.2, 12.2.6.
    MPI_KEYVAL_INVALID: c_int = 0;
    MPI_TAG_UB: c_int = 501;
    MPI_IO: c_int = 502;
    MPI_HOST: c_int = 503;
    MPI_WTIME_IS_GLOBAL: c_int = 504;
    MPI_APPNUM: c_int = 505;
    MPI_LASTUSEDCODE: c_int = 506;
    MPI_UNIVERSE_SIZE: c_int = 507;
    MPI_WIN_BASE: c_int = 601;
    MPI_WIN_DISP_UNIT: c_int = 602;
    MPI_WIN_SIZE: c_int = 603;
    MPI_WIN_CREATE_FLAVOR: c_int = 604;
    MPI_WIN_MODEL: c_int = 605;

    // A status as Fortran's array, with indices for C. MPI 5.0, 19.3.5.
    MPI_F_STATUS_SIZE: c_int = 8;
    MPI_F_SOURCE: c_int = 0;
    MPI_F_TAG: c_int = 1;
    MPI_F_ERROR: c_int = 2;

    // Communicators.
    MPI_COMM_NULL: Handle = 0x100;
    MPI_COMM_WORLD: Handle = 0x101;
    MPI_COMM_SELF: Handle = 0x102;

    // Datatypes.
    MPI_DATATYPE_NULL: Handle = 0x200;
    MPI_AINT: Handle = 0x201;
    MPI_COUNT: Handle = 0x202;
    MPI_OFFSET: Handle = 0x203;
    MPI_PACKED: Handle = 0x207;
    MPI_SHORT: Handle = 0x208;
    MPI_INT: Handle = 0x209;
    MPI_LONG: Handle = 0x20a;
    MPI_LONG_LONG_INT: Handle = 0x20b;
    MPI_LONG_LONG: Handle = 0x20b;
    MPI_UNSIGNED_SHORT: Handle = 0x20c;
    MPI_UNSIGNED: Handle = 0x20d;
    MPI_UNSIGNED_LONG: Handle = 0x20e;
    MPI_UNSIGNED_LONG_LONG: Handle = 0x20f;
    MPI_FLOAT: Handle = 0x210;
    MPI_C_COMPLEX: Handle = 0x212;
    MPI_C_FLOAT_COMPLEX: Handle = 0x212;
    MPI_DOUBLE: Handle = 0x214;
    MPI_C_DOUBLE_COMPLEX: Handle = 0x216;
    MPI_LONG_DOUBLE: Handle = 0x220;
    MPI_C_LONG_DOUBLE_COMPLEX: Handle = 0x224;
    MPI_C_BOOL: Handle = 0x238;
    MPI_WCHAR: Handle = 0x23c;
    MPI_INT8_T: Handle = 0x240;
    MPI_UINT8_T: Handle = 0x241;
    MPI_CHAR: Handle = 0x243;
    MPI_SIGNED_CHAR: Handle = 0x244;
    MPI_UNSIGNED_CHAR: Handle = 0x245;
    MPI_BYTE: Handle = 0x247;
    MPI_INT16_T: Handle = 0x248;
    MPI_UINT16_T: Handle = 0x249;
    MPI_INT32_T: Handle = 0x250;
    MPI_UINT32_T: Handle = 0x251;
    MPI_INT64_T: Handle = 0x258;
    MPI_UINT64_T: Handle = 0x259;
    MPI_LOGICAL: Handle = 0x218;
    MPI_INTEGER: Handle = 0x219;
    MPI_REAL: Handle = 0x21a;
    MPI_COMPLEX: Handle = 0x21b;
    MPI_DOUBLE_PRECISION: Handle = 0x21c;
    MPI_CHARACTER: Handle = 0x21e;
    MPI_CXX_FLOAT_COMPLEX: Handle = 0x213;
    MPI_CXX_DOUBLE_COMPLEX: Handle = 0x217;
    MPI_CXX_LONG_DOUBLE_COMPLEX: Handle = 0x225;
    MPI_CXX_BOOL: Handle = 0x239;

    // Optional datatypes of Fortran.
    MPI_DOUBLE_COMPLEX: Handle = 0x21d;
    MPI_LOGICAL1: Handle = 0x2c0;
    MPI_LOGICAL2: Handle = 0x2c8;
    MPI_LOGICAL4: Handle = 0x2d0;
    MPI_LOGICAL8: Handle = 0x2d8;
    MPI_LOGICAL16: Handle = 0x2e0;
    MPI_INTEGER1: Handle = 0x2c1;
    MPI_INTEGER2: Handle = 0x2c9;
    MPI_INTEGER4: Handle = 0x2d1;
    MPI_INTEGER8: Handle = 0x2d9;
    MPI_INTEGER16: Handle = 0x2e1;
    MPI_REAL2: Handle = 0x2ca;
    MPI_REAL4: Handle = 0x2d2;
    MPI_REAL8: Handle = 0x2da;
    MPI_REAL16: Handle = 0x2e2;
    MPI_COMPLEX4: Handle = 0x2d3;
    MPI_COMPLEX8: Handle = 0x2db;
    MPI_COMPLEX16: Handle = 0x2e3;
    MPI_COMPLEX32: Handle = 0x2eb;

    // Pairs for the operators that also find a place. MPI 5.0, 6.9.4.
    MPI_FLOAT_INT: Handle = 0x228;
    MPI_DOUBLE_INT: Handle = 0x229;
    MPI_LONG_INT: Handle = 0x22a;
    MPI_2INT: Handle = 0x22b;
    MPI_SHORT_INT: Handle = 0x22c;
    MPI_LONG_DOUBLE_INT: Handle = 0x22d;

    // Fortran's pairs.
    MPI_2REAL: Handle = 0x230;
    MPI_2DOUBLE_PRECISION: Handle = 0x231;
    MPI_2INTEGER: Handle = 0x232;

    // Messages.
    MPI_MESSAGE_NULL: Handle = 0x128;
    MPI_MESSAGE_NO_PROC: Handle = 0x129;

    // Error handlers. MPI 5.0, 9.3.
    MPI_ERRHANDLER_NULL: Handle = 0x140;
    MPI_ERRORS_ARE_FATAL: Handle = 0x141;
    MPI_ERRORS_ABORT: Handle = 0x142;
    MPI_ERRORS_RETURN: Handle = 0x143;

    // Info objects.
    MPI_INFO_NULL: Handle = 0x130;
    MPI_INFO_ENV: Handle = 0x131;

    // Reduction operators. MPI 5.0, 6.9.2.
    MPI_OP_NULL: Handle = 0x20;
    MPI_SUM: Handle = 0x21;
    MPI_MIN: Handle = 0x22;
    MPI_MAX: Handle = 0x23;
    MPI_PROD: Handle = 0x24;
    MPI_BAND: Handle = 0x28;
    MPI_BOR: Handle = 0x29;
    MPI_BXOR: Handle = 0x2a;
    MPI_LAND: Handle = 0x30;
    MPI_LOR: Handle = 0x31;
    MPI_LXOR: Handle = 0x32;
    MPI_MINLOC: Handle = 0x38;
    MPI_MAXLOC: Handle = 0x39;
    MPI_REPLACE: Handle = 0x3c;
    MPI_NO_OP: Handle = 0x3d;

    // Groups.
    MPI_GROUP_NULL: Handle = 0x108;
    MPI_GROUP_EMPTY: Handle = 0x109;

    // Null handles of what has no other predefined object.
    MPI_REQUEST_NULL: Handle = 0x180;
    MPI_FILE_NULL: Handle = 0x118;
    MPI_SESSION_NULL: Handle = 0x120;
    MPI_WIN_NULL: Handle = 0x110;

    // Functions that are compared, never called. MPI 5.0, 7.7, 14.5.3.
    MPI_COMM_NULL_COPY_FN: usize = 0;
    MPI_COMM_DUP_FN: usize = 1;
    MPI_COMM_NULL_DELETE_FN: usize = 0;
    MPI_WIN_NULL_COPY_FN: usize = 0;
    MPI_WIN_DUP_FN: usize = 1;
    MPI_WIN_NULL_DELETE_FN: usize = 0;
    MPI_TYPE_NULL_COPY_FN: usize = 0;
    MPI_TYPE_DUP_FN: usize = 1;
    MPI_TYPE_NULL_DELETE_FN: usize = 0;
    MPI_CONVERSION_FN_NULL: usize = 0;
    MPI_CONVERSION_FN_NULL_C: usize = 0;

    // Their deprecated names.
    MPI_NULL_COPY_FN: usize = 0;
    MPI_DUP_FN: usize = 1;
    MPI_NULL_DELETE_FN: usize = 0;

    // Versions of the standard and of its ABI.
    MPI_VERSION: c_int = 5;
    MPI_SUBVERSION: c_int = 0;
    MPI_ABI_VERSION: c_int = 1;
    MPI_ABI_SUBVERSION: c_int = 0;

    // Handles of the tool interface. MPI 5.0, 15.3.
    MPI_T_ENUM_NULL: Handle = 0x0;
    MPI_T_CVAR_HANDLE_NULL: Handle = 0x0;
    MPI_T_PVAR_HANDLE_NULL: Handle = 0x0;
    MPI_T_PVAR_SESSION_NULL: Handle = 0x0;
    MPI_T_PVAR_ALL_HANDLES: Handle = 0x1;

    // Verbosity of variables.
    MPI_T_VERBOSITY_USER_BASIC: c_int = 9;
    MPI_T_VERBOSITY_USER_DETAIL: c_int = 10;
    MPI_T_VERBOSITY_USER_ALL: c_int = 12;
    MPI_T_VERBOSITY_TUNER_BASIC: c_int = 17;
    MPI_T_VERBOSITY_TUNER_DETAIL: c_int = 18;
    MPI_T_VERBOSITY_TUNER_ALL: c_int = 20;
    MPI_T_VERBOSITY_MPIDEV_BASIC: c_int = 33;
    MPI_T_VERBOSITY_MPIDEV_DETAIL: c_int = 34;
    MPI_T_VERBOSITY_MPIDEV_ALL: c_int = 36;

    // Objects that variables belong to.
    MPI_T_BIND_NO_OBJECT: c_int = 1;
    MPI_T_BIND_MPI_COMM: c_int = 2;
    MPI_T_BIND_MPI_DATATYPE: c_int = 3;
    MPI_T_BIND_MPI_ERRHANDLER: c_int = 4;
    MPI_T_BIND_MPI_FILE: c_int = 5;
    MPI_T_BIND_MPI_GROUP: c_int = 6;
    MPI_T_BIND_MPI_OP: c_int = 7;
    MPI_T_BIND_MPI_REQUEST: c_int = 8;
    MPI_T_BIND_MPI_WIN: c_int = 9;
    MPI_T_BIND_MPI_MESSAGE: c_int = 10;
    MPI_T_BIND_MPI_INFO: c_int = 11;
    MPI_T_BIND_MPI_SESSION: c_int = 12;

    // Scopes of control variables.
    MPI_T_SCOPE_CONSTANT: c_int = 1;
    MPI_T_SCOPE_READONLY: c_int = 2;
    MPI_T_SCOPE_LOCAL: c_int = 3;
    MPI_T_SCOPE_GROUP: c_int = 4;
    MPI_T_SCOPE_GROUP_EQ: c_int = 5;
    MPI_T_SCOPE_ALL: c_int = 6;
    MPI_T_SCOPE_ALL_EQ: c_int = 7;

    // Classes of performance variables.
    MPI_T_PVAR_CLASS_STATE: c_int = 1;
    MPI_T_PVAR_CLASS_LEVEL: c_int = 2;
    MPI_T_PVAR_CLASS_SIZE: c_int = 3;
    MPI_T_PVAR_CLASS_PERCENTAGE: c_int = 4;
    MPI_T_PVAR_CLASS_HIGHWATERMARK: c_int = 5;
    MPI_T_PVAR_CLASS_LOWWATERMARK: c_int = 6;
    MPI_T_PVAR_CLASS_COUNTER: c_int = 7;
    MPI_T_PVAR_CLASS_AGGREGATE: c_int = 8;
    MPI_T_PVAR_CLASS_TIMER: c_int = 9;
    MPI_T_PVAR_CLASS_GENERIC: c_int = 10;

    // Orders of event sources.
    MPI_T_SOURCE_ORDERED: c_int = 1;
    MPI_T_SOURCE_UNORDERED: c_int = 2;

    // What an event callback may do.
    MPI_T_CB_REQUIRE_NONE: c_int = 0;
    MPI_T_CB_REQUIRE_MPI_RESTRICTED: c_int = 3;
    MPI_T_CB_REQUIRE_THREAD_SAFE: c_int = 15;
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE: c_int = 63;

    // A type class that MPI 5.1 adds.
    MPIX_TYPECLASS_LOGICAL: c_int = 191;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_that_was_never_set_has_no_name() {
        assert_eq!(name_of(Handle(0)), None);
        assert_eq!(name_of(MPI_COMM_NULL), Some("MPI_COMM_NULL"));
        assert_eq!(name_of(MPI_INT), Some("MPI_INT"));
    }
}
