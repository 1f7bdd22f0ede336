//! The ten packet types (paper, Table 1).

/// A packet type. The numbers are ours: the paper gives none; they follow its Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Kind {
    /// Request to send a long message; carries its first bytes.
    Rts = 1,
    /// Request to send a short message; carries all of it.
    LastRts = 2,
    /// Clear to send `info1` data packets.
    Cts = 3,
    /// Data packet.
    Data = 4,
    /// Data packet, last of a granted block.
    StopData = 5,
    /// Data packet, last of the message.
    LastData = 6,
    /// Message successfully received.
    MsgEnd = 7,
    /// No more data wanted; finish.
    MsgDrop = 8,
    /// Garbage collection hint.
    Gch = 9,
    /// Terminate transfer.
    Null = 10,
}

impl Kind {
    /// How many there are.
    pub const COUNT: usize = 10;

    /// All of them, in the order of Table 1.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Rts,
        Self::LastRts,
        Self::Cts,
        Self::Data,
        Self::StopData,
        Self::LastData,
        Self::MsgEnd,
        Self::MsgDrop,
        Self::Gch,
        Self::Null,
    ];

    /// Position in [`Kind::ALL`].
    #[must_use]
    pub fn index(self) -> usize {
        self as usize - 1
    }

    /// The paper's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        const NAMES: [&str; Kind::COUNT] = [
            "RTS",
            "LAST_RTS",
            "CTS",
            "DATA",
            "STOP_DATA",
            "LAST_DATA",
            "MSGEND",
            "MSGDROP",
            "GCH",
            "NULL",
        ];
        NAMES[self.index()]
    }

    pub(crate) fn of(code: u16) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }
}
