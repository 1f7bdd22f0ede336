//! How a datagram shows that it belongs to the job: by a cookie, by a tag, or by encryption.
//!
//! The first eight bytes of the wrap are the job's cookie, or a tag over all headers, or the number
//! of an encrypted datagram. All keys come from the job's key, which only its ranks have. The rank
//! that a datagram is for goes into tag and encryption without being sent, so that nobody can turn
//! it to another rank.

use core::hash::Hasher as _;
use core::ops::Range;

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk, Salt};
use siphasher::sip::SipHasher24;

use super::WRAP_BYTES;
use crate::config::Secure;

/// Bytes of the job's key.
pub(crate) const KEY_BYTES: usize = 32;

/// Bytes of cookie, tag or number.
pub(super) const MARK_BYTES: usize = 8;

/// Where the wrap says how many bytes of the datagram its tag covers.
const COVERED_AT: usize = 14;

/// Datagrams up to this are covered whole by their tag, longer ones up to the body of their last
/// packet.
const COVERED_BYTES: usize = 256;

/// Packets share a tagged datagram up to this: all but the last are covered whole.
const SHARED_BYTES: usize = 2048;

/// Bytes that encryption puts behind the packets.
const TAIL_BYTES: usize = 16;

/// An encrypted datagram that is older by more than so many than the newest one of its sender is
/// dropped.
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
    /// It was here before, or is too old to know.
    Replayed,
}

/// The seal of one rank of a job.
pub(super) enum Seal {
    Cookie([u8; MARK_BYTES]),
    Tag(Tagger),
    Encrypt(Box<Cipher>),
}

impl Seal {
    /// The seal of rank `me` of the job with this key.
    pub(super) fn new(secure: Secure, key: &[u8; KEY_BYTES], me: u32) -> Self {
        let derive = || Salt::new(HKDF_SHA256, b"mpi-lite").extract(key);
        match secure {
            Secure::Cookie => {
                let (cookie, _) = key.split_first_chunk().expect("a key is longer");
                Self::Cookie(*cookie)
            }
            Secure::Tag => Self::Tag(Tagger::new(&derive(), me)),
            Secure::Encrypt => Self::Encrypt(Box::new(Cipher::new(&derive(), me))),
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

    /// Whether the first look sees no other job's datagram.
    #[inline]
    pub(super) fn seems_ours(&self, wrap: &[u8; WRAP_BYTES]) -> bool {
        match self {
            Self::Cookie(cookie) => wrap[..MARK_BYTES] == *cookie,
            Self::Tag(_) | Self::Encrypt(_) => true,
        }
    }

    /// Opens a whole datagram that says to be from rank `from`, in place; answers where its packets
    /// are. The wrap's rank and length were looked at.
    #[inline]
    pub(super) fn open(&mut self, from: u32, datagram: &mut [u8]) -> Result<Range<usize>, Stray> {
        match self {
            // The first look was all there is to see.
            Self::Cookie(_) => {}
            Self::Tag(tagger) => tagger.check(datagram)?,
            Self::Encrypt(cipher) => return cipher.open(from, datagram),
        }
        Ok(WRAP_BYTES..datagram.len())
    }
}

/// Tags datagrams: SipHash-2-4 over wrap and headers.
pub(super) struct Tagger {
    fresh: SipHasher24,
    me: u32,
}

impl Tagger {
    fn new(derive: &Prk, me: u32) -> Self {
        let mut key = [0; KEY_BYTES];
        derive
            .expand(&[b"tag"], HKDF_SHA256)
            .and_then(|okm| okm.fill(&mut key))
            .expect("HKDF gives 32 bytes");
        let (key, _) = key.split_first_chunk().expect("it is longer");
        Self {
            fresh: SipHasher24::new_with_key(key),
            me,
        }
    }

    /// Writes into a wrap how much of its datagram of `bytes` bytes the tag covers; answers it.
    /// `head_bytes`: up to the body of the last packet.
    #[inline]
    pub(super) fn cover(wrap: &mut [u8], bytes: usize, head_bytes: usize) -> usize {
        let covered = if bytes <= COVERED_BYTES {
            bytes
        } else {
            head_bytes
        };
        wrap[COVERED_AT..][..2].copy_from_slice(&(covered as u16).to_be_bytes());
        covered
    }

    /// The tag of a datagram of which `covered` are the covered bytes.
    #[inline]
    fn tag(&self, to: u32, covered: &[u8]) -> [u8; MARK_BYTES] {
        let mut tagging = Tagging(self.fresh);
        tagging.take(&covered[MARK_BYTES..]);
        tagging.finish(to)
    }

    /// The tag of a datagram in several parts.
    #[inline]
    pub(super) fn begin(&self) -> Tagging {
        Tagging(self.fresh)
    }

    #[inline]
    fn check(&self, datagram: &[u8]) -> Result<(), Stray> {
        let covered = u16::from_be_bytes([datagram[COVERED_AT], datagram[COVERED_AT + 1]]);
        let covered = usize::from(covered);
        if covered < WRAP_BYTES || covered > datagram.len() {
            return Err(Stray::Forged);
        }
        let tag = self.tag(self.me, &datagram[..covered]);
        // Not in constant time: nobody is told whether it was right, and a guess costs a datagram
        // however many bytes of it are.
        if tag == datagram[..MARK_BYTES] {
            Ok(())
        } else {
            Err(Stray::Forged)
        }
    }

    /// As the outbox does it, for a datagram in one piece.
    #[cfg(test)]
    fn close(&self, to: u32, datagram: &mut [u8], head_bytes: usize) {
        let bytes = datagram.len();
        let covered = Self::cover(datagram, bytes, head_bytes);
        let tag = self.tag(to, &datagram[..covered]);
        datagram[..MARK_BYTES].copy_from_slice(&tag);
    }
}

/// A tag on its way.
pub(super) struct Tagging(SipHasher24);

impl Tagging {
    /// Takes in covered bytes; of the datagram those behind its mark.
    #[inline]
    pub(super) fn take(&mut self, part: &[u8]) {
        self.0.write(part);
    }

    /// The tag, for rank `to`.
    #[inline]
    pub(super) fn finish(mut self, to: u32) -> [u8; MARK_BYTES] {
        self.0.write(&to.to_le_bytes());
        self.0.finish().to_le_bytes()
    }
}

/// Encrypts datagrams: AES-128-GCM; the nonce is the sender's rank and the number of the datagram,
/// which begins with it.
pub(super) struct Cipher {
    key: LessSafeKey,
    me: u32,
    /// The number of the next datagram: never the same twice, whoever it is for.
    next: u64,
    /// What came from each rank; nothing before its first datagram.
    windows: Vec<Option<Box<Window>>>,
}

/// The rank that the datagram is for, and the wrap without its mark.
type Bound = [u8; 4 + WRAP_BYTES - MARK_BYTES];

fn bound_to(to: u32, wrap: &[u8]) -> Aad<Bound> {
    let mut bound = [0; size_of::<Bound>()];
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
    fn new(derive: &Prk, me: u32) -> Self {
        let key = derive
            .expand(&[b"encrypt"], &AES_128_GCM)
            .expect("HKDF gives 16 bytes");
        Self {
            key: LessSafeKey::new(UnboundKey::from(key)),
            me,
            next: 0,
            windows: Vec::new(),
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
        let window = self.windows.get(from as usize).and_then(Option::as_deref);
        if window.is_some_and(|window| !window.is_new(number)) {
            return Err(Stray::Replayed);
        }
        let bound = bound_to(self.me, wrap);
        self.key
            .open_in_place(nonce(from, number), bound, packets)
            .map_err(|_| Stray::Forged)?;
        self.window(from).note(number);
        Ok(WRAP_BYTES..end)
    }

    /// Only what was authentic gets a window: strays allocate nothing.
    fn window(&mut self, from: u32) -> &mut Window {
        let from = from as usize;
        if self.windows.len() <= from {
            self.windows.resize_with(from + 1, || None);
        }
        self.windows[from].get_or_insert_default()
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

    use super::*;

    const KEY: [u8; KEY_BYTES] = [3; KEY_BYTES];
    const BOTH: [Secure; 2] = [Secure::Tag, Secure::Encrypt];
    const CLASSIC_HEADER_BYTES: usize = 28;
    const ENVELOPE_BYTES: usize = 16;

    /// A datagram from rank 1 to rank 2 with one packet whose header and envelope have so many
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
            Seal::Tag(tagger) => tagger.close(2, &mut datagram, WRAP_BYTES + head_bytes),
            Seal::Encrypt(cipher) => cipher.close(2, &mut datagram),
        }
        datagram
    }

    fn pair(secure: Secure) -> (Seal, Seal) {
        (Seal::new(secure, &KEY, 1), Seal::new(secure, &KEY, 2))
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
                    Secure::Tag if datagram.len() > COVERED_BYTES => (WRAP_BYTES + head, 1),
                    // The body is covered by the same sum: some of its bits will do.
                    _ => (datagram.len(), 1 + datagram.len() / 500),
                };
                let heads = 0..8 * (WRAP_BYTES + head);
                for bit in heads.chain((8 * (WRAP_BYTES + head)..8 * covered).step_by(step)) {
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
    fn what_is_cut_short_or_made_up_is_dropped() {
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
                let mut datagram = closed(&mut Seal::new(secure, &key, 1), 36, 0);
                let got = pair(secure).1.open(1, &mut datagram);
                assert_eq!(got, Err(Stray::Forged), "{secure}");
            }
        }
        let cookie = |key| Seal::new(Secure::Cookie, key, 1);
        let datagram = closed(&mut cookie(&[4; KEY_BYTES]), 36, 0);
        let wrap = datagram.first_chunk().unwrap();
        assert!(!cookie(&KEY).seems_ours(wrap) && cookie(&[4; KEY_BYTES]).seems_ours(wrap));
    }

    #[test]
    fn what_is_for_another_rank_is_dropped() {
        for secure in BOTH {
            let (mut sender, _) = pair(secure);
            let mut datagram = closed(&mut sender, 36, 0);
            let mut other = Seal::new(secure, &KEY, 3);
            assert_eq!(other.open(1, &mut datagram), Err(Stray::Forged), "{secure}");
        }
    }

    #[test]
    fn an_encrypted_datagram_is_taken_once_in_whatever_order() {
        let (mut sender, mut receiver) = pair(Secure::Encrypt);
        let all: Vec<_> = (0..6000).map(|_| closed(&mut sender, 36, 0)).collect();
        let mut open = |number: usize| receiver.open(1, &mut all[number].clone()).map(drop);
        // Neighbours change places, some come only much later, all come twice.
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
        let mut sender = Seal::new(Secure::Encrypt, &KEY, 1);
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

    #[test]
    fn strays_allocate_no_window() {
        let (_, mut receiver) = pair(Secure::Encrypt);
        for from in [0, 1, 1_000_000] {
            assert!(receiver.open(from, &mut [0; 80]).is_err());
        }
        let Seal::Encrypt(cipher) = receiver else {
            unreachable!()
        };
        assert_eq!(cipher.windows.capacity(), 0);
    }
}
