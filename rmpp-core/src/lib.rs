//! RMPP, the Reliable Message Passing Protocol of Riesen and Maccabe, as a state machine.
#![no_std]
#![forbid(unsafe_code)]
