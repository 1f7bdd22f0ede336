//! A moment in which one thread of the program is alone in its process.

use crate::engine::Engine;
use crate::engine::waiting::Sleeper;
use crate::node::Node;
use crate::node::in_place::Still;
use crate::sync::NoSignals;

/// The threads of this process.
fn threads() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/task").ok()?.count())
}

/// Calls `act` in a moment in which no other thread of the process runs, no signal is handled, and
/// no other process copies from or to its memory. `None`: there is no such moment now.
pub(crate) fn while_still<T>(engine: &Engine, act: impl FnOnce(&Still<'_>) -> T) -> Option<T> {
    let waiting = &engine.waiting;
    let stillness = waiting.stillness();
    let are_alone = || {
        let tickers = stillness.tickers();
        tickers <= 1 && threads() == Some(1 + tickers)
    };
    if !are_alone() {
        return None;
    }
    let _none = NoSignals::begin();
    let wake = || {
        engine
            .node
            .as_deref()
            .map(Node::watch)
            .inspect(|watch| watch.unpark());
        waiting.doorbells().ring(Sleeper::Ticker);
    };
    let _stands = stillness.ask(wake, || waiting.now())?;
    let lane = engine.lane.lock();
    let is_still = are_alone() && !lane.links().let_others_copy();
    is_still.then(|| act(&Still::vouched()))
}
