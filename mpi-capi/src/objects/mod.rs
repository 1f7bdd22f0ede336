//! The objects of the program: what is behind each kind of handle, and its table.

pub mod attributes;
pub mod comm;
pub mod datareps;
pub mod errhandler;
pub mod file;
pub mod group;
pub mod info;
pub mod recipe;
pub mod reduce;
pub mod request;
pub mod session;
pub mod types;
pub mod win;
