//! Messages on their way out.

pub(crate) mod attached;
pub(crate) mod sends;
