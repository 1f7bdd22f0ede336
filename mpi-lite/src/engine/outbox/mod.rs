//! Messages on their way out: sends that links have not finished, copies, buffered sends, sends
//! that are taken back, and what is to be sent as soon as links may be called.

mod attached;
mod sends;
mod withdrawals;

use std::sync::Arc;

pub use attached::{Attached, BUFFERED_OVERHEAD_BYTES, BufferOwner, Buffers};
use sends::{Burst, SpareBuffers};
pub(super) use sends::{Ending, Sending};
pub(super) use withdrawals::Verdict;
use withdrawals::Withdrawals;

use super::envelope::Envelope;
use super::ports::Word;
use super::protocol::{self, Completion};
use super::requests::Request;
use super::tasks::SendPlan;
use crate::config::Settings;
use crate::counters::Messages;
use crate::data::Area;
use crate::error::{Error, Result};
use crate::ids::Mode;
use crate::memory::Span;
use crate::slab::Slab;
use crate::transport::{Capabilities, EnvelopeBytes, PeerId, Token};

/// A message that is sent as soon as links may be called: an answer, a question, a report.
#[derive(Debug)]
pub(super) struct Deferred {
    pub(super) to: PeerId,
    pub(super) envelope: Envelope,
    pub(super) body: Load,
}

/// The body of a [`Deferred`] message.
#[derive(Debug)]
pub(super) enum Load {
    /// Bytes of its own.
    Bytes(Vec<u8>),
    /// Memory that stays as it is until the message is sent.
    Area(Area),
}

/// A send before it is entered.
pub(super) struct Draft {
    /// What the link reads.
    body: Area,
    copy: Option<Vec<u8>>,
    /// Bytes that count against the eager budget.
    kept: u64,
    ending: Option<Box<Ending>>,
    /// The send is complete at once.
    is_copied: bool,
}

impl Draft {
    /// Returns true if the send is complete at once.
    #[inline(always)]
    pub(super) fn is_copied(&self) -> bool {
        self.is_copied
    }

    /// Bytes of the copy that count against the eager budget.
    #[inline(always)]
    pub(super) fn kept(&self) -> u64 {
        self.kept
    }
}

/// Messages on their way out.
#[derive(Debug)]
pub(super) struct Outbox {
    settings: Arc<Settings>,
    sends: Slab<Sending>,
    spare: SpareBuffers,
    /// Bytes of copies.
    kept_bytes: u64,
    burst: Burst,
    /// The number of the last send that may be taken back.
    serial: u32,
    withdrawals: Withdrawals,
    buffers: Buffers,
    deferred: Vec<Deferred>,
    /// Messages sent, and their bytes.
    count: u64,
    bytes: u64,
    /// The most bytes of copies.
    peak_bytes: u64,
}

impl Outbox {
    pub(super) fn new(settings: Arc<Settings>) -> Self {
        Self {
            settings,
            sends: Slab::default(),
            spare: SpareBuffers::default(),
            kept_bytes: 0,
            burst: Burst::default(),
            serial: 1,
            withdrawals: Withdrawals::default(),
            buffers: Buffers::default(),
            deferred: Vec::new(),
            count: 0,
            bytes: 0,
            peak_bytes: 0,
        }
    }

    /// Gives the memory of a long table back that has been drained.
    pub(super) fn shrink(&mut self) {
        self.sends.shrink();
    }

    /// Adds what was counted to `counters`.
    pub(super) fn count(&self, counters: &mut Messages) {
        counters.messages_sent = self.count;
        counters.bytes_sent = self.bytes;
        counters.copies_peak_bytes = self.peak_bytes;
    }

    /// Counts a message that leaves no record.
    #[inline]
    pub(super) fn count_offered(&mut self, len: u64) {
        self.count += 1;
        self.bytes += len;
    }

    /// Returns true if a send of `len` bytes over a link that can do this is copied.
    #[inline]
    pub(super) fn is_copied(&self, mode: Mode, len: u64, is_acknowledged: bool) -> bool {
        let lens = (len, protocol::copied_most(is_acknowledged, &self.settings));
        let choice = protocol::completion(mode, lens, self.kept_bytes, &self.settings);
        choice == Completion::Copied
    }

    /// Prepares a send over a link that can do this. `is_waited_for`: the call waits for it, and
    /// for nothing else.
    ///
    /// # Errors
    /// The attached buffer is full.
    #[inline(always)]
    pub(super) fn draft(
        &mut self,
        plan: &SendPlan,
        link: &Capabilities,
        is_waited_for: bool,
    ) -> Result<Draft> {
        let len = plan.area.len();
        let reserved = self.buffers.reserve(plan, len)?;
        let ending = reserved.map(|reserved| Box::new(Ending::Buffered(reserved)));
        let is_copied = self.is_copied(plan.mode, len, is_waited_for && link.acknowledges);
        let kept = if is_copied && ending.is_none() {
            protocol::kept_by_copy(len)
        } else {
            0
        };
        let (body, copy) = match &plan.area {
            &Area::Run(span) if !is_copied => (Area::Run(span), None),
            area if area.is_kept() && !is_copied => (area.clone(), None),
            area if !is_copied && len > link.packed_most => (area.clone(), None),
            area => {
                let mut bytes = self.spare.take();
                area.append_to(&mut bytes);
                (Area::Run(Span::held(&mut bytes)), Some(bytes))
            }
        };
        Ok(Draft {
            body,
            copy,
            kept,
            ending,
            is_copied,
        })
    }

    /// Enters a send with its request. Returns its name, its envelope and its body.
    #[inline(always)]
    pub(super) fn enter(
        &mut self,
        (plan, to): (&SendPlan, PeerId),
        draft: Draft,
        request: Option<Request>,
    ) -> (Token, EnvelopeBytes, Area) {
        let mut envelope = plan.envelope();
        if !draft.is_copied {
            envelope.flags = envelope.flags.with_serial(self.next_serial());
        }
        let envelope = envelope.encode();
        let token = self.sends.insert(Sending::new(
            request,
            (to, envelope),
            plan.area.len(),
            (draft.copy, draft.kept),
            draft.ending,
        ));
        (Token(token), envelope, draft.body)
    }

    /// A number for a send that may be taken back, an odd one, so never 0. It comes round again
    /// after 2^23 of them; until then their receiver has matched earlier ones of the same envelope,
    /// or refuses.
    #[inline]
    fn next_serial(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(2) & 0xff_ffff;
        self.serial
    }

    /// Counts a send that a link has accepted: bytes of its body, and of its copy.
    #[inline]
    pub(super) fn note_accepted(&mut self, len: u64, kept: u64) {
        self.count_offered(len);
        self.kept_bytes += kept;
        self.peak_bytes = self.peak_bytes.max(self.kept_bytes);
    }

    /// Puts the message of a buffered send into its buffer.
    #[cold]
    pub(super) fn note_buffered(&mut self, token: Token) {
        let sending = self.sends.get_mut(token.0);
        if let Some(reserved) = sending.and_then(Sending::reserved) {
            self.buffers.put(reserved);
        }
    }

    /// Removes a send that its link has refused. Returns its request.
    #[cold]
    pub(super) fn take_back(&mut self, token: Token) -> Option<Request> {
        let sending = self.sends.remove(token.0).expect("just inserted");
        sending.request()
    }

    /// Returns true if a send of `len` bytes must go to the network at once.
    #[inline]
    pub(super) fn goes_at_once(&mut self, len: u64) -> bool {
        let is_short = len <= self.settings.eager_copy_bytes;
        self.burst.goes_at_once(is_short)
    }

    /// The program waits or tests. Returns true if sends may have been kept back.
    #[inline]
    pub(super) fn end_burst(&mut self) -> bool {
        self.burst.end()
    }

    /// Removes a send that is over. Returns its request, and what its end is to beside that.
    #[inline(always)]
    pub(super) fn close(&mut self, token: Token) -> (Option<Request>, Option<Box<Ending>>) {
        let sending = self
            .sends
            .remove(token.0)
            .expect("a link finishes what was sent");
        self.kept_bytes -= sending.kept();
        let (request, copy, ending) = sending.end();
        if let Some(copy) = copy {
            self.spare.keep(copy, &self.settings);
        }
        (request, ending)
    }

    /// The sends that links have not finished.
    pub(super) fn sends(&self) -> impl Iterator<Item = &Sending> {
        self.sends.iter().map(|(_, sending)| sending)
    }

    /// How many they are.
    pub(super) fn len(&self) -> usize {
        self.sends.len()
    }

    /// Bytes of copies of these.
    pub(super) fn kept_bytes(&self) -> u64 {
        self.kept_bytes
    }

    /// The buffers that the program has attached.
    pub(super) fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// The buffers that the program has attached.
    pub(super) fn buffers_mut(&mut self) -> &mut Buffers {
        &mut self.buffers
    }
}

/// Sends that are taken back.
impl Outbox {
    /// Returns true if no send is taken back.
    #[inline]
    pub(super) fn takes_none_back(&self) -> bool {
        self.withdrawals.is_empty()
    }

    /// Asks for the message of a send back, if there is one under way. If it is withdrawn the send
    /// fails with the error `why`; without one it is cancelled.
    #[cold]
    pub(super) fn ask_back(&mut self, request: Request, why: Option<Error>) {
        let its = |(token, sending): (u32, &Sending)| {
            let (to, envelope) = (sending.receiver(), sending.envelope_bytes());
            sending.is_of(request).then_some((token, to, envelope))
        };
        let Some((token, to, envelope)) = self.sends.iter().find_map(its) else {
            return;
        };
        if self.withdrawals.enter(Token(token), why) {
            let question = Word::Question(Token(token), envelope);
            self.defer_word(to, &question);
        }
    }

    /// The transport has finished a send.
    pub(super) fn note_sent(&mut self, token: Token) -> Verdict {
        self.withdrawals.note_sent(token)
    }

    /// The receiver `from` has answered.
    pub(super) fn note_answer(&mut self, from: PeerId, token: Token, is_dropped: bool) -> Verdict {
        let sending = self.sends.get(token.0);
        match sending.is_some_and(|sending| sending.receiver() == from) {
            true => self.withdrawals.note_answer(token, is_dropped),
            false => Verdict::Pending,
        }
    }

    /// A send will have no answer.
    pub(super) fn forget_withdrawal(&mut self, token: Token) {
        self.withdrawals.forget(token);
    }

    /// The sends to `peer` of which only its answer is missing.
    pub(super) fn unanswered(&self, peer: PeerId) -> Vec<Token> {
        let is_to_peer = |token: &Token| {
            let sending = self.sends.get(token.0);
            sending.is_some_and(|sending| sending.receiver() == peer)
        };
        self.withdrawals.unanswered().filter(is_to_peer).collect()
    }
}

/// What is sent as soon as links may be called.
impl Outbox {
    /// Enters a message.
    pub(super) fn defer(&mut self, message: Deferred) {
        self.deferred.push(message);
    }

    /// Enters a message of the engine's service.
    pub(super) fn defer_word(&mut self, to: PeerId, word: &Word) {
        let (envelope, body) = word.encode();
        self.defer(Deferred {
            to,
            envelope,
            body: Load::Bytes(body),
        });
    }

    /// Returns true if there is any.
    #[inline]
    pub(super) fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    /// Takes all of them.
    pub(super) fn take_deferred(&mut self) -> Vec<Deferred> {
        core::mem::take(&mut self.deferred)
    }

    /// Enters the send of a deferred message. Returns its name and its body.
    pub(super) fn enter_deferred(
        &mut self,
        to: PeerId,
        envelope: &Envelope,
        body: Load,
    ) -> (Token, Area) {
        let (area, copy) = match body {
            Load::Area(area) => (area, None),
            Load::Bytes(mut bytes) => (Area::Run(Span::held(&mut bytes)), Some(bytes)),
        };
        let sending = Sending::without_request((to, envelope), area.len(), copy);
        (Token(self.sends.insert(sending)), area)
    }

    /// Removes the send of a deferred message that its link has refused.
    pub(super) fn drop_deferred(&mut self, token: Token) {
        self.sends.discard(token.0);
    }
}
