//! What a program leaves behind when it finalizes.

use super::envelope::Envelope;

/// What a program left behind when it finalized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Messages that nobody received, without those of collectives.
    pub messages: u64,
    /// Source and tag of the first of them.
    pub first: Option<(u32, i32)>,
    /// Source and tag of the first message of a collective that nobody received.
    pub collective: Option<(u32, i32)>,
    /// Requests that were neither completed nor freed.
    pub requests: u64,
}

impl Leftovers {
    /// Nobody will receive this.
    #[cold]
    pub(super) fn note(&mut self, envelope: &Envelope) {
        let name = (envelope.rank(), envelope.tag);
        if envelope.context.is_collective() {
            self.collective.get_or_insert(name);
        } else {
            self.messages += 1;
            self.first.get_or_insert(name);
        }
    }
}
