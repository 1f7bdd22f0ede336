//! The arguments of a call that may wait, kept on the stack of its thread as long as it runs.
//!
//! A thread that waits for long names its call with the arguments, if it is asked
//! (docs/decisions/0051-who-waits.md). The library keeps one word: the address of the record, or of
//! the symbol, of the call that was entered last.
#![expect(unsafe_code, reason = "a word names a record on a stack")]

use crate::args::handles::Datatype;
use crate::args::numbers::{Count, show_number};
use crate::declaration::ShowRecord;
use crate::entry::{Arg, Small};
use crate::global::{LIBRARY, Transfer, What};
use crate::stack::Running;
use crate::symbol::is_recorded;

impl What {
    /// So many elements of this datatype.
    #[inline(always)]
    pub fn of(count: Count, datatype: &Datatype) -> Self {
        Self {
            count: count.0,
            datatype: datatype.handle,
        }
    }
}

impl Transfer {
    fn show(&self, line: &mut String) {
        let What { count, datatype } = self.what;
        show_number(count, "count", line);
        <Datatype as Arg<Small>>::show(datatype, "datatype", line);
        show_number(self.dest.into(), "dest", line);
        show_number(self.tag.into(), "tag", line);
    }
}

/// Shows the arguments of the function that runs in this thread, if they were kept and no other
/// call was entered since. `show_of` returns what shows the record of a function.
pub fn arguments(
    running: &Running,
    show_of: impl FnOnce(&str) -> Option<ShowRecord>,
) -> Option<String> {
    let (record, is_transfer) = LIBRARY.last().record()?;
    if !running.frame.contains(&record.addr()) {
        return None;
    }
    let mut line = String::from("(");
    if is_transfer {
        // SAFETY: the record is in the frame of this function, which runs in this thread. The
        // function has written the word: what it calls has its frames elsewhere, and what ran
        // before it was entered earlier.
        unsafe { &*record.cast::<Transfer>() }.show(&mut line);
    } else {
        let show = show_of(&running.name).filter(|_| is_recorded(&running.name))?;
        // SAFETY: as above, and the record is one of this function.
        unsafe { show(record, &mut line) };
    }
    Some(line)
}
