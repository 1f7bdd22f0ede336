//! What messages are made of: datatypes, packing, reduction operators.
//!
//! Source: MPI 5.0, chapters 5 and 6.9.
