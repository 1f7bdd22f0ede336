//! What calls do that is more than a line in their chapter, in the words of their arguments.

pub mod attached;
pub mod completion;
pub mod external;
pub mod files;
pub mod generalized;
pub mod grids;
pub mod memory;
pub mod point;
pub mod record;
pub mod windows;
