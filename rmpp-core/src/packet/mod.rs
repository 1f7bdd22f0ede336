//! Packets: headers, shapes and kinds.

mod cut;
mod header;
mod kind;
mod run;
mod shape;

pub use cut::Packet;
pub use header::{FAST_HEADER_BYTES, Flags, HEADER_BYTES, Header, HeaderBytes, MAX_HEADER_BYTES};
pub(crate) use header::{
    FAST_VERSION, WIDE_LEN, bare_header_bytes, bits_of, header_bytes_of, source_of, version_of,
};
pub use kind::Kind;
pub use run::Run;
pub use shape::Shape;
