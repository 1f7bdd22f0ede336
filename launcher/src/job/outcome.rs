//! How a job comes out: its exit status, and what is to be done for it.

use std::collections::VecDeque;

use crate::failure::OUTPUT_LOST;
use crate::wire::Order;

/// Something to be done for the job.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// Give this order to all nodes.
    Order(Order),
    /// Tell the user this line.
    Say(String),
}

/// The verdict, and the effects that nobody has taken yet.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Exit status, once it is decided.
    verdict: Option<u8>,
    /// Exit status if nothing decides it: of the first failure that ended no other rank.
    flaw: Option<u8>,
    is_ending: bool,
    effects: VecDeque<Effect>,
}

impl Outcome {
    /// The next thing to do.
    pub fn effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Returns true if the job is being ended before its time.
    pub fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// Nobody reads our output any more: ends the job without a word.
    pub fn output_closed(&mut self, code: u8) {
        if self.decide(code) {
            self.end();
        }
    }

    /// Ends the job for a reason, unless one has ended it.
    pub fn fail(&mut self, code: u8, line: String) {
        if self.decide(code) {
            self.say(line);
            self.end();
        }
    }

    /// A file that the user has asked for lacks something. The exit status is not 0 then.
    pub fn lose_result(&mut self, line: String) {
        self.say(line);
        self.flaw.get_or_insert(OUTPUT_LOST);
    }

    /// Notes a failure that ends no other rank. The exit status is not 0 then.
    pub(super) fn note_flaw(&mut self, code: u8, line: String) {
        if self.is_open() {
            self.say(line);
            self.flaw.get_or_insert(code);
        }
    }

    /// The exit status, unless all is well so far.
    pub(super) fn code(&self) -> Option<u8> {
        self.verdict.or(self.flaw)
    }

    /// Returns true until the exit status is decided.
    pub(super) fn is_open(&self) -> bool {
        self.verdict.is_none()
    }

    /// Decides the exit status. Returns false if it was decided before.
    pub(super) fn decide(&mut self, code: u8) -> bool {
        let is_open = self.is_open();
        self.verdict.get_or_insert(code);
        is_open
    }

    pub(super) fn say(&mut self, line: String) {
        self.effects.push_back(Effect::Say(line));
    }

    pub(super) fn order(&mut self, order: Order) {
        self.effects.push_back(Effect::Order(order));
    }

    /// Kills whatever is left of the job.
    pub(super) fn kill(&mut self) {
        self.is_ending = true;
        self.order(Order::Kill);
    }

    pub(super) fn end(&mut self) {
        if !std::mem::replace(&mut self.is_ending, true) {
            self.order(Order::End);
        }
    }
}
