//! Ports that are no communicators'.
