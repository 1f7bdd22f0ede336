//! MPI's matching rules, as plainly as they can be written: one list of receives, one of messages.
//!
//! Source: MPI 5.0, 3.2.4 (what fits), 3.5 (order), 3.8 (probes, cancelling).

/// A message of the job, by number.
pub(crate) type MessageId = usize;

/// A receive of one process, by number.
pub(crate) type ReceiveId = usize;

/// The part of a message that matching looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) context: u32,
    pub(crate) source: u32,
    pub(crate) tag: i32,
}

/// What a receive or a probe asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) context: u32,
    pub(crate) source: Option<u32>,
    pub(crate) tag: Option<i32>,
}

impl Wanted {
    pub(crate) fn fits(self, label: Label) -> bool {
        let source_fits = match self.source {
            None => true,
            Some(source) => source == label.source,
        };
        let tag_fits = match self.tag {
            None => true,
            Some(tag) => tag == label.tag,
        };
        self.context == label.context && source_fits && tag_fits
    }
}

/// The two lists of one process, each in its order.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    pub(crate) posted: Vec<(ReceiveId, Wanted)>,
    pub(crate) unexpected: Vec<(MessageId, Label)>,
}

impl Oracle {
    /// A message is announced: the first posted receive that it fits gets it.
    pub(crate) fn announce(&mut self, message: MessageId, label: Label) -> Option<ReceiveId> {
        for at in 0..self.posted.len() {
            if self.posted[at].1.fits(label) {
                return Some(self.posted.remove(at).0);
            }
        }
        self.unexpected.push((message, label));
        None
    }

    /// A receive is posted: it gets the first announced message that fits.
    pub(crate) fn post(&mut self, receive: ReceiveId, wanted: Wanted) -> Option<MessageId> {
        let message = self.extract(wanted);
        if message.is_none() {
            self.posted.push((receive, wanted));
        }
        message
    }

    pub(crate) fn probe(&self, wanted: Wanted) -> Option<MessageId> {
        for &(message, label) in &self.unexpected {
            if wanted.fits(label) {
                return Some(message);
            }
        }
        None
    }

    /// A matched probe takes what a receive would get.
    pub(crate) fn extract(&mut self, wanted: Wanted) -> Option<MessageId> {
        let found = self.probe(wanted)?;
        self.unexpected.retain(|&(message, _)| message != found);
        Some(found)
    }

    /// A message is asked back. Whether that takes effect: nothing has matched it.
    pub(crate) fn drop_message(&mut self, message: MessageId) -> bool {
        let before = self.unexpected.len();
        self.unexpected.retain(|&(waiting, _)| waiting != message);
        self.unexpected.len() < before
    }

    /// Whether a cancel takes effect: nothing has matched the receive.
    pub(crate) fn withdraw(&mut self, receive: ReceiveId) -> bool {
        let before = self.posted.len();
        self.posted.retain(|&(posted, _)| posted != receive);
        self.posted.len() < before
    }
}
