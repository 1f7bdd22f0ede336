//! What a host has reported of the conversation of a rank with its server, and what it may report
//! next.

use super::store::{self, PUTS_MAX, RESERVED};
use super::{Command, Event};

/// The account of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    is_in_mpi: bool,
    has_finalized: bool,
    /// It waits in the fence.
    is_in_fence: bool,
    /// It waits for an answer about a service.
    asks: bool,
    /// What it has put since its Init.
    put: usize,
}

impl Account {
    /// Returns true if the rank is between Init and Finalize.
    pub fn is_in_mpi(self) -> bool {
        self.is_in_mpi
    }

    /// Returns true if the rank has finalized, and has not begun again.
    pub fn has_finalized(self) -> bool {
        self.has_finalized
    }

    /// Enters what was reported.
    ///
    /// # Errors
    ///
    /// Words behind the name of the rank for what cannot be.
    pub fn enter(&mut self, event: &Event) -> Result<(), String> {
        let is_possible = match event {
            Event::Init => !self.is_in_mpi,
            Event::Abort { .. } => self.is_in_mpi,
            Event::Fence(_) | Event::Finalized | Event::Name(_) => {
                self.is_in_mpi && !self.is_in_fence && !self.asks
            }
        };
        if !is_possible {
            return Err("used PMI out of order".into());
        }
        match event {
            Event::Init => {
                *self = Account::default();
                self.is_in_mpi = true;
            }
            Event::Fence(puts) => {
                self.is_in_fence = true;
                self.put += puts.iter().map(store::size).sum::<usize>();
                let is_wrong = |(key, value): &super::Put| {
                    store::check(key, value).is_err() || key.starts_with(RESERVED)
                };
                if self.put > PUTS_MAX || puts.iter().any(is_wrong) {
                    return Err("put more than it may".into());
                }
            }
            Event::Finalized => {
                *self = Account::default();
                self.has_finalized = true;
            }
            Event::Name(ask) => {
                self.asks = true;
                return ask.check();
            }
            Event::Abort { .. } => {}
        }
        Ok(())
    }

    /// Enters a command to the node of this rank.
    pub fn obey(&mut self, rank: u32, command: &Command) {
        match command {
            Command::Release(_) => self.is_in_fence = false,
            Command::Named { rank: asked, .. } if *asked == rank => self.asks = false,
            Command::Named { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pmi::Ask;

    #[test]
    fn events_come_in_the_order_of_a_rank() {
        let fence = || Event::Fence(Vec::new());
        let lookup = || Event::Name(Ask::Lookup("s".into()));
        for first in [fence(), lookup(), Event::Finalized] {
            assert!(Account::default().enter(&first).is_err(), "{first:?}");
        }
        let mut account = Account::default();
        assert_eq!(account.enter(&Event::Init), Ok(()));
        assert!({ account }.enter(&Event::Init).is_err());
        assert_eq!(account.enter(&fence()), Ok(()));
        assert!({ account }.enter(&fence()).is_err());
        assert!({ account }.enter(&Event::Finalized).is_err());
        account.obey(3, &Command::Release(Vec::new()));
        assert_eq!(account.enter(&lookup()), Ok(()));
        let named = |rank| Command::Named {
            rank,
            answer: Ok(String::new()),
        };
        account.obey(3, &named(4));
        assert!({ account }.enter(&fence()).is_err());
        account.obey(3, &named(3));
        assert_eq!(account.enter(&Event::Finalized), Ok(()));
        assert_eq!(account.enter(&Event::Init), Ok(()));
    }

    #[test]
    fn a_rank_puts_no_more_than_its_server_lets_it() {
        let put = |key: &str, bytes: usize| (key.to_string(), "v".repeat(bytes));
        let wrong = [
            vec![put("k", store::VALUE_MAX + 1)],
            vec![put("PMI_x", 1)],
            vec![put("k", store::VALUE_MAX); PUTS_MAX / store::VALUE_MAX],
        ];
        for puts in wrong {
            let mut account = Account::default();
            account.enter(&Event::Init).unwrap();
            assert!(account.enter(&Event::Fence(puts)).is_err());
        }
    }
}
