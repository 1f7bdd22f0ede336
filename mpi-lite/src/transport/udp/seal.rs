//! How a datagram shows that it belongs to the job: by a cookie, by a tag, or by encryption.
//!
//! The first eight bytes of the wrap are a cookie, or a tag over all headers, or the number of an
//! encrypted datagram. Cookie and keys are those of one round of Init ([`Round`]), and only the
//! ranks that took part have them. The rank that a datagram is for goes into tag and encryption
//! without being sent, so that nobody can turn it to another rank.

use super::wrap::{MARK_BYTES, WRAP_BYTES};
use core::hash::Hasher as _;
use core::ops::Range;

use ring::aead::{Aad, LessSafeKey, NONCE_LEN, Nonce};
use siphasher::sip::SipHasher24;

use super::round::Round;
use crate::config::Secure;
use crate::hidden::{Hidden, scrub_stack};

/// Offset in the wrap of a tagged datagram of the number of bytes that the tag covers (12 bits),
/// and of the epoch (the last 4 bits of its number, above them).
const COVERED_AT: usize = 14;
const COVERED_BITS: u32 = 12;
const EPOCH_BITS: u32 = 16 - COVERED_BITS;

/// Stands for the number of covered bytes if the tag covers the whole datagram: it may be longer
/// than 12 bits can say.
const ALL_COVERED: u16 = 0;

/// How many tagged datagrams from one rank to another make a key epoch. A copy opens in its epoch
/// and in the next one only. The protocol drops a copy by the number of its message, as long as
/// those numbers (32 bits) have not come round: in two epochs of datagrams of at most 2048 bytes
/// there are fewer than 2^24 messages.
const EPOCH_DATAGRAMS: u64 = 1 << 16;

/// Datagrams up to this are covered whole by their tag, longer ones up to the body of their last
/// packet. A packet of a protocol of streams is a header as a whole: nobody outside the stream
/// knows where in it the headers of messages are.
const COVERED_BYTES: usize = 256;

/// Packets share a tagged datagram up to this: all but the last are covered whole.
const SHARED_BYTES: usize = 2048;

/// Bytes that encryption puts behind the packets.
const TAIL_BYTES: usize = 16;

/// An encrypted datagram is dropped if the newest one of its sender is this far ahead of it, or
/// further.
const WINDOW: u64 = 2048;

/// How many bytes longer a datagram is than its wrap and packets.
pub(super) fn tail_bytes(secure: Secure) -> usize {
    match secure {
        Secure::Cookie | Secure::Tag => 0,
        Secure::Encrypt => TAIL_BYTES,
    }
}

/// Why a datagram that seemed to be a peer's is none of his.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stray {
    /// It was made or changed by somebody without the job's key.
    Forged,
    /// It has come before, or is too old to decide.
    Replayed,
}

/// The seal of one rank in one round of Init.
pub(super) enum Seal {
    Cookie([u8; MARK_BYTES]),
    Tag(Hidden<Tagger>),
    Encrypt(Hidden<Cipher>),
}

impl Seal {
    /// The seal of rank `me`.
    pub(super) fn new(secure: Secure, round: &Round, me: u32) -> Self {
        match secure {
            Secure::Cookie => Self::Cookie(round.cookie()),
            Secure::Tag => Self::Tag(Hidden::new(Tagger::new(round, me))),
            Secure::Encrypt => Self::Encrypt(Hidden::new(Cipher::new(round, me))),
        }
    }

    /// What each datagram begins with, before it is closed.
    pub(super) fn mark(&self) -> [u8; MARK_BYTES] {
        match self {
            Self::Cookie(cookie) => *cookie,
            Self::Tag(_) | Self::Encrypt(_) => [0; MARK_BYTES],
        }
    }

    /// As `tail_bytes`.
    pub(super) fn tail_bytes(&self) -> usize {
        match self {
            Self::Cookie(_) | Self::Tag(_) => 0,
            Self::Encrypt(_) => TAIL_BYTES,
        }
    }

    /// Bytes up to which packets may share a datagram of at most `longest_bytes`.
    pub(super) fn shared_bytes(&self, longest_bytes: usize) -> usize {
        match self {
            Self::Cookie(_) | Self::Encrypt(_) => longest_bytes,
            Self::Tag(_) => longest_bytes.min(SHARED_BYTES),
        }
    }

    /// True if the first look sees no other job's datagram.
    // Rule E.
    #[inline]
    pub(super) fn seems_ours(&self, wrap: &[u8; WRAP_BYTES]) -> bool {
        match self {
            Self::Cookie(cookie) => wrap[..MARK_BYTES] == *cookie,
            Self::Tag(_) | Self::Encrypt(_) => true,
        }
    }

    /// Opens a whole datagram that claims to be from rank `from`, in place. Returns where its
    /// packets are. Rank and length in the wrap must have been checked.
    // Rule E.
    #[inline]
    pub(super) fn open(&mut self, from: u32, datagram: &mut [u8]) -> Result<Range<usize>, Stray> {
        match self {
            // The first check was enough.
            Self::Cookie(_) => {}
            Self::Tag(tagger) => tagger.check(from, datagram)?,
            Self::Encrypt(cipher) => return cipher.open(from, datagram),
        }
        Ok(WRAP_BYTES..datagram.len())
    }

    /// Seals a datagram in one piece whose last header ends at `head_bytes`, like the outbox.
    /// Returns how many of its first bytes are covered.
    #[cfg(feature = "fuzzing")]
    pub(super) fn close(&mut self, to: u32, datagram: &mut [u8], head_bytes: usize) -> usize {
        match self {
            Self::Cookie(_) => MARK_BYTES,
            Self::Tag(tagger) => tagger.close(to, datagram, head_bytes),
            Self::Encrypt(cipher) => {
                cipher.close(to, datagram);
                datagram.len()
            }
        }
    }
}

/// Tags datagrams: SipHash-2-4 over wrap and headers, the receiver's rank, and the epoch.
pub(super) struct Tagger {
    fresh: SipHasher24,
    me: u32,
    /// By rank.
    pairs: Vec<Pair>,
}

/// What passes between this rank and another.
#[derive(Clone, Copy, Default)]
struct Pair {
    /// Datagrams that were tagged for the other one.
    tagged: u64,
    /// The newest epoch of an authentic datagram of the other one.
    newest: u64,
}

/// What a tag covers: the first bytes of a datagram, so many that their number fits its field; or
/// all, which any other number stands for.
#[derive(Clone, Copy)]
enum Covered {
    First(u16),
    All,
}

impl Covered {
    const MASK: u16 = (1 << COVERED_BITS) - 1;

    /// What is covered of a datagram of `bytes` bytes, `head_bytes` up to the body of the last
    /// packet.
    #[inline]
    fn of(bytes: usize, head_bytes: usize) -> Self {
        match u16::try_from(head_bytes) {
            Ok(first) if bytes > COVERED_BYTES && first <= Self::MASK => Self::First(first),
            _ => Self::All,
        }
    }

    /// What the wrap of a datagram says.
    #[inline]
    fn read(said: u16) -> Self {
        match said & Self::MASK {
            ALL_COVERED => Self::All,
            first => Self::First(first),
        }
    }

    /// What the wrap is to say: no bit above its field.
    #[inline]
    fn said(self) -> u16 {
        match self {
            Self::First(first) => first,
            Self::All => ALL_COVERED,
        }
    }

    /// How many bytes that are of a datagram of `bytes` bytes.
    #[inline]
    fn bytes(self, bytes: usize) -> usize {
        match self {
            Self::First(first) => usize::from(first),
            Self::All => bytes,
        }
    }
}

/// What a datagram is tagged as, without being said in it.
#[derive(Clone, Copy)]
pub(super) struct Unsaid {
    to: u32,
    epoch: u64,
}

impl Unsaid {
    #[inline]
    fn bytes(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[8..].copy_from_slice(&self.to.to_le_bytes());
        bytes
    }
}

impl Tagger {
    fn new(round: &Round, me: u32) -> Self {
        Self {
            fresh: SipHasher24::new_with_key(&round.tag_key()),
            me,
            pairs: vec![Pair::default(); round.ranks()],
        }
    }

    /// Numbers a datagram of `bytes` bytes for rank `to`, and writes into its wrap how many bytes
    /// of it the tag covers. Returns that. `head_bytes`: up to the body of the last packet.
    #[inline]
    pub(super) fn cover(
        &mut self,
        to: u32,
        wrap: &mut [u8],
        (bytes, head_bytes): (usize, usize),
    ) -> (usize, Unsaid) {
        let covered = Covered::of(bytes, head_bytes);
        let pair = &mut self.pairs[to as usize];
        let epoch = pair.tagged / EPOCH_DATAGRAMS;
        pair.tagged += 1;
        let said = covered.said() | (epoch as u16) << COVERED_BITS;
        wrap[COVERED_AT..][..2].copy_from_slice(&said.to_be_bytes());
        let covered = covered.bytes(bytes);
        (covered, Unsaid { to, epoch })
    }

    /// The tag of a datagram of which `covered` are the covered bytes.
    #[inline]
    fn tag(&self, unsaid: Unsaid, covered: &[u8]) -> [u8; MARK_BYTES] {
        let mut tagging = Tagging(self.fresh);
        tagging.take(&covered[MARK_BYTES..]);
        tagging.finish(unsaid)
    }

    /// The tag of a datagram in several parts.
    #[inline]
    pub(super) fn begin(&self) -> Tagging {
        Tagging(self.fresh)
    }

    #[inline]
    fn check(&mut self, from: u32, datagram: &[u8]) -> Result<(), Stray> {
        let said = u16::from_be_bytes([datagram[COVERED_AT], datagram[COVERED_AT + 1]]);
        let covered = Covered::read(said).bytes(datagram.len());
        if covered < WRAP_BYTES || covered > datagram.len() {
            return Err(Stray::Forged);
        }
        let pair = self.pairs.get(from as usize).ok_or(Stray::Forged)?;
        let epoch = epoch_meant(said >> COVERED_BITS, pair.newest).ok_or(Stray::Forged)?;
        let to = self.me;
        let tag = self.tag(Unsaid { to, epoch }, &datagram[..covered]);
        // Not in constant time: no answer reveals whether a tag was right, and each guess costs a
        // datagram, however many of its bytes are right.
        if tag != datagram[..MARK_BYTES] {
            return Err(Stray::Forged);
        }
        let pair = &mut self.pairs[from as usize];
        pair.newest = pair.newest.max(epoch);
        Ok(())
    }

    /// As the outbox does it, for a datagram in one piece.
    #[cfg(any(test, feature = "fuzzing"))]
    fn close(&mut self, to: u32, datagram: &mut [u8], head_bytes: usize) -> usize {
        let bytes = datagram.len();
        let (covered, unsaid) = self.cover(to, datagram, (bytes, head_bytes));
        let tag = self.tag(unsaid, &datagram[..covered]);
        datagram[..MARK_BYTES].copy_from_slice(&tag);
        covered
    }
}

/// The epoch with these last bits that can follow what came before: the one before the newest, the
/// newest, or one of the 14 after it.
#[inline]
fn epoch_meant(last_bits: u16, newest: u64) -> Option<u64> {
    const MASK: u64 = (1 << EPOCH_BITS) - 1;
    // Counted from the one before the newest, which is none at the beginning.
    let ahead = u64::from(last_bits).wrapping_sub(newest).wrapping_add(1) & MASK;
    (newest + ahead).checked_sub(1)
}

/// A tag on its way.
pub(super) struct Tagging(SipHasher24);

impl Tagging {
    /// Takes in covered bytes; of the datagram those behind its mark.
    #[inline]
    pub(super) fn take(&mut self, part: &[u8]) {
        self.0.write(part);
    }

    /// The tag.
    #[inline]
    pub(super) fn finish(mut self, unsaid: Unsaid) -> [u8; MARK_BYTES] {
        self.0.write(&unsaid.bytes());
        self.0.finish().to_le_bytes()
    }
}

/// Encrypts datagrams: AES-128-GCM, with a key for each sender; the nonce is the sender's rank and
/// the number of the datagram, which begins with it.
pub(super) struct Cipher {
    round: Round,
    key: LessSafeKey,
    me: u32,
    /// The number of the next datagram: never the same twice, whichever rank it is for.
    next: u64,
    /// The ranks from which datagrams have come, `TOGETHER` of them in one piece of memory.
    senders: Vec<Option<Hidden<Senders>>>,
}

/// This many senders are kept together: about four pages.
const TOGETHER: usize = 16;

type Senders = [Option<Sender>; TOGETHER];

/// A rank of which an authentic datagram has come.
struct Sender {
    key: LessSafeKey,
    window: Window,
}

/// The rank that the datagram is for, and the wrap without its mark.
type AssociatedData = [u8; 4 + WRAP_BYTES - MARK_BYTES];

fn bound_to(to: u32, wrap: &[u8]) -> Aad<AssociatedData> {
    let mut bound = [0; size_of::<AssociatedData>()];
    bound[..4].copy_from_slice(&to.to_be_bytes());
    bound[4..].copy_from_slice(&wrap[MARK_BYTES..WRAP_BYTES]);
    Aad::from(bound)
}

fn nonce(from: u32, number: u64) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[..4].copy_from_slice(&from.to_be_bytes());
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

impl Cipher {
    fn new(round: &Round, me: u32) -> Self {
        Self {
            round: round.clone(),
            key: round.sender_key(me),
            me,
            next: 0,
            senders: Vec::new(),
        }
    }

    /// Encrypts in place a datagram for rank `to`: its wrap, its packets, and `TAIL_BYTES` that are
    /// written here.
    pub(super) fn close(&mut self, to: u32, datagram: &mut [u8]) {
        let number = self.next;
        self.next += 1;
        let (wrap, rest) = datagram.split_at_mut(WRAP_BYTES);
        let (packets, tail) = rest.split_at_mut(rest.len() - TAIL_BYTES);
        let bound = bound_to(to, wrap);
        let tag = self
            .key
            .seal_in_place_separate_tag(nonce(self.me, number), bound, packets)
            .expect("a datagram is far below AES-GCM's limit");
        tail.copy_from_slice(tag.as_ref());
        wrap[..MARK_BYTES].copy_from_slice(&number.to_be_bytes());
    }

    fn open(&mut self, from: u32, datagram: &mut [u8]) -> Result<Range<usize>, Stray> {
        let end = datagram
            .len()
            .checked_sub(TAIL_BYTES)
            .filter(|end| *end >= WRAP_BYTES)
            .ok_or(Stray::Forged)?;
        let (wrap, packets) = datagram.split_at_mut(WRAP_BYTES);
        let mark = wrap.first_chunk().expect("it is as long as a wrap");
        let number = u64::from_be_bytes(*mark);
        let text = Text {
            name: nonce(from, number),
            bound: bound_to(self.me, wrap),
            packets,
        };
        let Some(sender) = self.sender(from) else {
            self.open_first((from, number), text)?;
            return Ok(WRAP_BYTES..end);
        };
        if !sender.window.is_new(number) {
            return Err(Stray::Replayed);
        }
        text.open(&sender.key)?;
        sender.window.note(number);
        Ok(WRAP_BYTES..end)
    }

    #[inline]
    fn sender(&mut self, from: u32) -> Option<&mut Sender> {
        let from = from as usize;
        let together = self.senders.get_mut(from / TOGETHER)?.as_mut()?;
        together[from % TOGETHER].as_mut()
    }

    /// Only what was authentic makes its sender known: strays allocate nothing.
    #[cold]
    fn open_first(&mut self, (from, number): (u32, u64), text: Text<'_>) -> Result<(), Stray> {
        let key = self.round.sender_key(from);
        let opened = text.open(&key);
        if opened.is_ok() {
            let mut window = Window::default();
            window.note(number);
            self.know(from as usize, Sender { key, window });
        }
        scrub_stack();
        opened
    }

    fn know(&mut self, from: usize, sender: Sender) {
        let piece = from / TOGETHER;
        if self.senders.len() <= piece {
            self.senders.resize_with(piece + 1, || None);
        }
        let none = || Hidden::new([const { None }; TOGETHER]);
        self.senders[piece].get_or_insert_with(none)[from % TOGETHER] = Some(sender);
    }
}

/// An encrypted datagram behind its wrap, with all that it is bound to.
struct Text<'a> {
    name: Nonce,
    bound: Aad<AssociatedData>,
    packets: &'a mut [u8],
}

impl Text<'_> {
    #[inline]
    fn open(self, key: &LessSafeKey) -> Result<(), Stray> {
        let opened = key.open_in_place(self.name, self.bound, self.packets);
        opened.map(drop).map_err(|_| Stray::Forged)
    }
}

/// Which of the last numbers of one sender were here.
#[derive(Default)]
struct Window {
    /// Above all that were here.
    next: u64,
    /// One bit for each number below, in a circle.
    seen: [u64; (WINDOW / 64) as usize],
}

impl Window {
    fn place(number: u64) -> (usize, u64) {
        let place = number % WINDOW;
        ((place / 64) as usize, 1 << (place % 64))
    }

    fn is_new(&self, number: u64) -> bool {
        let (word, bit) = Self::place(number);
        let is_ahead = number >= self.next;
        is_ahead || (self.next - number <= WINDOW && self.seen[word] & bit == 0)
    }

    fn note(&mut self, number: u64) {
        if number >= self.next {
            let skipped = (number - self.next).min(WINDOW);
            for number in number - skipped..number {
                let (word, bit) = Self::place(number);
                self.seen[word] &= !bit;
            }
            self.next = number + 1;
        }
        let (word, bit) = Self::place(number);
        self.seen[word] |= bit;
    }
}

#[cfg(test)]
mod tests {
    use rmpp_core::{FAST_HEADER_BYTES, MAX_HEADER_BYTES};

    use super::super::round::tests::cards;
    use super::super::wrap::KEY_BYTES;
    use super::*;

    const KEY: [u8; KEY_BYTES] = [3; KEY_BYTES];
    const SALT: u8 = 9;
    const BOTH: [Secure; 2] = [Secure::Tag, Secure::Encrypt];
    const CLASSIC_HEADER_BYTES: usize = 28;
    const ENVELOPE_BYTES: usize = 16;

    /// The greatest number of covered bytes that the wrap has room for.
    const LAST_SAID: usize = 4095;

    fn all_head(bytes: usize) -> (usize, usize) {
        (bytes, 0)
    }

    /// A datagram from rank 1 to rank 2 with one packet whose header and envelope have `head_bytes`
    /// bytes.
    fn closed(seal: &mut Seal, head_bytes: usize, body_bytes: usize) -> Vec<u8> {
        let bytes = WRAP_BYTES + head_bytes + body_bytes + seal.tail_bytes();
        let mut datagram: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
        datagram[..MARK_BYTES].copy_from_slice(&seal.mark());
        datagram[8..12].copy_from_slice(&1_u32.to_be_bytes());
        datagram[12..14].copy_from_slice(&(bytes as u16).to_be_bytes());
        datagram[14..16].fill(0);
        match seal {
            Seal::Cookie(_) => {}
            Seal::Tag(tagger) => {
                tagger.close(2, &mut datagram, WRAP_BYTES + head_bytes);
            }
            Seal::Encrypt(cipher) => cipher.close(2, &mut datagram),
        }
        datagram
    }

    /// The seal of a rank of three, in the round of Init with this salt.
    fn seal(secure: Secure, key: &[u8; KEY_BYTES], salt: u8, me: u32) -> Seal {
        Seal::new(secure, &Round::new(key, &cards(4, salt)), me)
    }

    fn pair(secure: Secure) -> (Seal, Seal) {
        (seal(secure, &KEY, SALT, 1), seal(secure, &KEY, SALT, 2))
    }

    /// Header and envelope bytes of all kinds of packets, with bodies for those that have one.
    fn shapes() -> Vec<(usize, usize)> {
        let mut shapes = Vec::new();
        for header in [CLASSIC_HEADER_BYTES, FAST_HEADER_BYTES] {
            shapes.extend([(header, 0), (header, 8), (header, 1400)]);
            shapes.extend([0, 8, 100, 300, 3000].map(|body| (header + ENVELOPE_BYTES, body)));
        }
        shapes.extend(
            (FAST_HEADER_BYTES..=MAX_HEADER_BYTES)
                .step_by(8)
                .map(|header| (header, 0)),
        );
        // A packet of a protocol of streams is all header.
        shapes.extend([1000, LAST_SAID - WRAP_BYTES, LAST_SAID - WRAP_BYTES + 1].map(all_head));
        shapes
    }

    #[test]
    fn a_closed_datagram_opens_to_the_packets_in_it() {
        for secure in [Secure::Cookie, Secure::Tag, Secure::Encrypt] {
            let (mut sender, mut receiver) = pair(secure);
            for (head, body) in shapes() {
                let mut datagram = closed(&mut sender, head, body);
                let place = receiver.open(1, &mut datagram).unwrap();
                assert_eq!(place, WRAP_BYTES..WRAP_BYTES + head + body);
                let is_plain = |at: usize| datagram[at] == at as u8;
                assert!(place.clone().all(is_plain), "{secure} {head} {body}");
            }
        }
    }

    #[test]
    fn a_datagram_with_any_bit_of_a_header_turned_is_dropped() {
        for secure in BOTH {
            let (mut sender, mut receiver) = pair(secure);
            for (head, body) in shapes() {
                let datagram = closed(&mut sender, head, body);
                let (covered, step) = match secure {
                    Secure::Tag if datagram.len() > COVERED_BYTES => (WRAP_BYTES + head, 97),
                    // The body is covered by the same sum: some of its bits will do.
                    _ => (datagram.len(), 1 + datagram.len() / 500),
                };
                // All bits of the headers that are read before the tag is; of long ones some more.
                let heads = 8 * (WRAP_BYTES + head.min(MAX_HEADER_BYTES + ENVELOPE_BYTES));
                for bit in (0..heads).chain((heads..8 * covered).step_by(step)) {
                    let mut turned = datagram.clone();
                    turned[bit / 8] ^= 1 << (bit % 8);
                    let from = u32::from_be_bytes(*turned[8..].first_chunk().unwrap());
                    let got = receiver.open(from, &mut turned);
                    assert!(got.is_err(), "{secure} {head} {body}: bit {bit}");
                }
                assert!(receiver.open(1, &mut datagram.clone()).is_ok());
            }
        }
    }

    #[test]
    fn a_datagram_cut_short_or_made_up_is_dropped() {
        for secure in BOTH {
            let (mut sender, mut receiver) = pair(secure);
            let datagram = closed(&mut sender, 52, 400);
            for len in WRAP_BYTES..WRAP_BYTES + 52 {
                let got = receiver.open(1, &mut datagram[..len].to_vec());
                assert_eq!(got, Err(Stray::Forged), "{secure}, {len} bytes");
                let got = receiver.open(1, &mut vec![len as u8; len]);
                assert_eq!(got, Err(Stray::Forged), "{secure}, {len} bytes");
            }
            // Nothing of it left a trace.
            assert!(receiver.open(1, &mut datagram.clone()).is_ok());
        }
    }

    #[test]
    fn another_jobs_datagram_is_dropped() {
        for secure in BOTH {
            for at in 0..KEY_BYTES {
                let mut key = KEY;
                key[at] ^= 1;
                let mut datagram = closed(&mut seal(secure, &key, SALT, 1), 36, 0);
                let got = pair(secure).1.open(1, &mut datagram);
                assert_eq!(got, Err(Stray::Forged), "{secure}");
            }
        }
        let cookie = |key| seal(Secure::Cookie, key, SALT, 1);
        let datagram = closed(&mut cookie(&[4; KEY_BYTES]), 36, 0);
        let wrap = datagram.first_chunk().unwrap();
        assert!(!cookie(&KEY).seems_ours(wrap) && cookie(&[4; KEY_BYTES]).seems_ours(wrap));
    }

    #[test]
    fn a_datagram_of_another_round_of_init_is_dropped() {
        for secure in BOTH {
            // With the same key, between the same ranks, with the same numbers.
            let mut datagram = closed(&mut seal(secure, &KEY, SALT + 1, 1), 36, 0);
            let got = pair(secure).1.open(1, &mut datagram);
            assert_eq!(got, Err(Stray::Forged), "{secure}");
        }
        let cookie = |salt| seal(Secure::Cookie, &KEY, salt, 1);
        let datagram = closed(&mut cookie(SALT + 1), 36, 0);
        let wrap = datagram.first_chunk().unwrap();
        assert!(!cookie(SALT).seems_ours(wrap) && cookie(SALT + 1).seems_ours(wrap));
    }

    #[test]
    fn two_rounds_of_init_never_make_the_same_text() {
        let texts = |salt, me| {
            let mut sender = seal(Secure::Encrypt, &KEY, salt, me);
            (0..50).map(move |_| closed(&mut sender, 36, 64)[WRAP_BYTES..].to_vec())
        };
        let all = texts(1, 1).chain(texts(2, 1)).chain(texts(2, 2));
        assert_eq!(all.collect::<std::collections::BTreeSet<_>>().len(), 150);
    }

    /// `datagrams` datagrams later; all of them get lost.
    fn skip(seal: &mut Seal, datagrams: u64) {
        let Seal::Tag(tagger) = seal else {
            unreachable!()
        };
        tagger.pairs[2].tagged += datagrams;
    }

    #[test]
    fn a_copy_of_a_tagged_datagram_opens_for_two_epochs_at_most() {
        let (mut sender, mut receiver) = pair(Secure::Tag);
        let mut copies = Vec::new();
        for epoch in 0..100 {
            let first = closed(&mut sender, 36, 0);
            skip(&mut sender, EPOCH_DATAGRAMS - 2);
            let last = closed(&mut sender, 36, 0);
            copies.push(first.clone());
            assert!(receiver.open(1, &mut first.clone()).is_ok());
            for (then, copy) in copies.iter().enumerate() {
                let got = receiver.open(1, &mut copy.clone());
                let is_old = epoch > then + 1;
                assert_eq!(got.is_err(), is_old, "of epoch {then} in epoch {epoch}");
            }
            // Datagrams overtake each other.
            assert!(receiver.open(1, &mut last.clone()).is_ok());
            assert!(receiver.open(1, &mut first.clone()).is_ok());
        }
    }

    #[test]
    fn a_copy_from_before_the_messages_numbers_came_round_is_dropped() {
        let (mut sender, mut receiver) = pair(Secure::Tag);
        let copy = closed(&mut sender, 36, 0);
        assert!(receiver.open(1, &mut copy.clone()).is_ok());
        // 2^32 messages, one in each datagram, of which one in half a million arrives.
        for _ in 0..1 << 13 {
            skip(&mut sender, 1 << 19);
            assert!(receiver.open(1, &mut closed(&mut sender, 36, 0)).is_ok());
        }
        assert_eq!(receiver.open(1, &mut copy.clone()), Err(Stray::Forged));
    }

    #[test]
    fn up_to_fourteen_epochs_may_get_lost() {
        for lost in [1, 2, 13, 14] {
            let (mut sender, mut receiver) = pair(Secure::Tag);
            for _ in 0..40 {
                skip(&mut sender, lost * EPOCH_DATAGRAMS);
                let got = receiver.open(1, &mut closed(&mut sender, 36, 0));
                assert!(got.is_ok(), "{lost}");
            }
        }
    }

    #[test]
    fn a_datagram_for_another_rank_is_dropped() {
        for secure in BOTH {
            let (mut sender, _) = pair(secure);
            let mut datagram = closed(&mut sender, 36, 0);
            let mut other = seal(secure, &KEY, SALT, 3);
            assert_eq!(other.open(1, &mut datagram), Err(Stray::Forged), "{secure}");
        }
    }

    #[test]
    fn an_encrypted_datagram_is_taken_once_in_whatever_order() {
        let (mut sender, mut receiver) = pair(Secure::Encrypt);
        let all: Vec<_> = (0..6000).map(|_| closed(&mut sender, 36, 0)).collect();
        let mut open = |number: usize| receiver.open(1, &mut all[number].clone()).map(drop);
        // Local peers change places, some come only much later, all come twice.
        for number in (0..3000).map(|number: usize| number ^ 7) {
            if number % 5 != 0 {
                assert_eq!(open(number), Ok(()), "{number}");
            }
            if number % 5 == 1 {
                assert_eq!(open(number), Err(Stray::Replayed), "{number}");
            }
        }
        for number in (0..3000).step_by(5) {
            let expected = if number < 3000 - WINDOW as usize {
                Err(Stray::Replayed)
            } else {
                Ok(())
            };
            assert_eq!(open(number), expected, "{number}");
            assert_eq!(open(number), Err(Stray::Replayed), "{number}");
        }
        // A leap beyond the window forgets nothing that matters.
        assert_eq!(open(5999), Ok(()));
        assert_eq!(open(5999), Err(Stray::Replayed));
        assert_eq!(open(2999), Err(Stray::Replayed));
        assert_eq!(open(5998 - WINDOW as usize), Err(Stray::Replayed));
        assert_eq!(open(6000 - WINDOW as usize), Ok(()));
    }

    #[test]
    fn no_number_and_no_cipher_text_comes_twice() {
        let (mut sender, _) = pair(Secure::Encrypt);
        let texts: std::collections::BTreeSet<_> =
            (0..100).map(|_| closed(&mut sender, 36, 64)).collect();
        assert_eq!(texts.len(), 100);
        let mut marks: Vec<_> = texts
            .iter()
            .map(|text| text[..MARK_BYTES].to_vec())
            .collect();
        marks.dedup();
        assert_eq!(marks.len(), 100);
    }

    /// Bytes in hexadecimal, 32 to a line.
    fn hex(bytes: &[u8]) -> String {
        let lines: Vec<String> = bytes.chunks(32).map(crate::boot::hex).collect();
        lines.join("\n  ")
    }

    /// What a round of two ranks comes to, for docs/protocol.md.
    fn example() -> String {
        let cards = cards(2, SALT);
        let mut text = String::from("```text\n");
        for (rank, card) in cards.iter().enumerate() {
            let bytes = postcard::to_allocvec(card).unwrap();
            text += &format!("card of rank {rank}\n  {}\n", hex(&bytes));
        }
        let round = Round::new(&KEY, &cards);
        text += &format!("job's key\n  {}\n", hex(&KEY));
        for secure in [Secure::Cookie, Secure::Tag, Secure::Encrypt] {
            let mut seal = Seal::new(secure, &round, 0);
            let bytes = WRAP_BYTES + CLASSIC_HEADER_BYTES + seal.tail_bytes();
            let mut datagram = vec![0; bytes];
            datagram[..MARK_BYTES].copy_from_slice(&seal.mark());
            datagram[12..14].copy_from_slice(&(bytes as u16).to_be_bytes());
            // The GCH of the first example.
            datagram[16..20].copy_from_slice(&[0, 9, 0, 1]);
            datagram[31] = 8;
            match &mut seal {
                Seal::Cookie(_) => {}
                Seal::Tag(tagger) => {
                    tagger.close(1, &mut datagram, WRAP_BYTES + CLASSIC_HEADER_BYTES);
                }
                Seal::Encrypt(cipher) => cipher.close(1, &mut datagram),
            }
            let opened = Seal::new(secure, &round, 1).open(0, &mut datagram.clone());
            assert_eq!(opened, Ok(WRAP_BYTES..WRAP_BYTES + CLASSIC_HEADER_BYTES));
            text += &format!("{secure}: rank 0 to rank 1\n  {}\n", hex(&datagram));
        }
        text + "```\n"
    }

    /// `UPDATE=1` writes the example anew.
    #[test]
    fn the_page_of_the_protocol_shows_what_is_on_the_wire() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/protocol.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (before, rest) = page.split_once("<!-- from the transport -->\n").unwrap();
        let (_, after) = rest.split_once("<!-- end -->\n").unwrap();
        let example = example();
        let now =
            format!("{before}<!-- from the transport -->\n\n{example}\n<!-- end -->\n{after}");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, &now).unwrap();
            return;
        }
        assert!(
            page == now,
            "run this test with UPDATE=1; the example is now\n{example}"
        );
    }

    #[test]
    fn strays_allocate_no_window() {
        let (_, mut receiver) = pair(Secure::Encrypt);
        for from in [0, 1, 1_000_000] {
            assert!(receiver.open(from, &mut [0; 80]).is_err());
        }
        let Seal::Encrypt(cipher) = receiver else {
            unreachable!()
        };
        assert_eq!(cipher.senders.capacity(), 0);
    }
}
