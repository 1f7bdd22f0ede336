//! A macro for types that are one of several transports.

/// Defines a type that is one of several transports. `always` has what each message passes taken
/// into the caller, `never` keeps it out.
macro_rules! one_of {
    ($(#[$about:meta])* $name:ident, inline $inline:ident;
     $($(#[$attribute:meta])* $variant:ident($link:ty) is $meaning:literal;)*) => {
        $(#[$about])*
        #[derive(Debug)]
        #[allow(
            clippy::large_enum_variant,
            reason = "a process has a handful of links"
        )]
        pub enum $name {
            $(#[doc = $meaning] $(#[$attribute])* $variant($link),)*
        }

        $($(#[$attribute])* impl From<$link> for $name {
            fn from(link: $link) -> Self {
                Self::$variant(link)
            }
        })*

        impl Counts for $name {
            fn count(&self, tallies: &mut Tallies) {
                match self { $($(#[$attribute])* Self::$variant(link) => link.count(tallies),)* }
            }
        }

        impl Transport for $name {
            fn capabilities(&self) -> Capabilities {
                match self { $($(#[$attribute])* Self::$variant(link) => link.capabilities(),)* }
            }

            #[inline($inline)]
            fn offer(&mut self, to: PeerId, envelope: &EnvelopeBytes, body: Span) -> bool {
                match self {
                    $($(#[$attribute])* Self::$variant(link) => link.offer(to, envelope, body),)*
                }
            }

            #[inline($inline)]
            fn send(&mut self, to: PeerId, message: Outbound<'_>) -> Result<(), Refusal> {
                match self { $($(#[$attribute])* Self::$variant(link) => link.send(to, message),)* }
            }

            #[inline($inline)]
            fn flush(&mut self) {
                match self { $($(#[$attribute])* Self::$variant(link) => link.flush(),)* }
            }

            fn land(&mut self, arrival: Arrival, landing: Landing) -> bool {
                match self {
                    $($(#[$attribute])* Self::$variant(link) => link.land(arrival, landing),)*
                }
            }

            #[inline($inline)]
            fn progress(&mut self, now: Instant, sink: &mut impl Sink) -> Progress {
                match self {
                    $($(#[$attribute])* Self::$variant(link) => link.progress(now, sink),)*
                }
            }

            #[inline($inline)]
            fn wake_at(&self) -> Option<Instant> {
                match self { $($(#[$attribute])* Self::$variant(link) => link.wake_at(),)* }
            }

            fn wake_on(&self) -> Option<BorrowedFd<'_>> {
                match self { $($(#[$attribute])* Self::$variant(link) => link.wake_on(),)* }
            }

            fn set_asleep(&mut self, is_asleep: bool) -> bool {
                match self {
                    $($(#[$attribute])* Self::$variant(link) => link.set_asleep(is_asleep),)*
                }
            }

            fn push_back(&mut self, away: bool) {
                match self { $($(#[$attribute])* Self::$variant(link) => link.push_back(away),)* }
            }

            fn close(&mut self) {
                match self { $($(#[$attribute])* Self::$variant(link) => link.close(),)* }
            }

            #[inline($inline)]
            fn is_quiet(&self) -> bool {
                match self { $($(#[$attribute])* Self::$variant(link) => link.is_quiet(),)* }
            }
        }
    };
}

pub(super) use one_of;
