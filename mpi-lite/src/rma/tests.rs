//! Windows of processes that share memory, in threads.
