//! What the ranks of a node share: the library's files on the model's ground.

#[allow(
    dead_code,
    unreachable_pub,
    reason = "as in the library; the models do not use all of it"
)]
pub(crate) mod segment;

pub(crate) mod doorbells;
pub(crate) mod peer_memory;

#[path = "../../../src/node/about.rs"]
#[allow(
    unreachable_pub,
    dead_code,
    reason = "the library says more of it to others"
)]
mod about;
#[path = "../../../src/node/exchange.rs"]
#[allow(unreachable_pub, reason = "the library says more of it to others")]
mod exchange;
#[path = "../../../src/node/line.rs"]
#[allow(unreachable_pub, reason = "the library says more of it to others")]
mod line;
#[path = "../../../src/node/site.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "the models do not use all of it"
)]
mod site;
#[path = "../../../src/node/wakeup.rs"]
#[allow(dead_code, reason = "the models do not use all of it")]
pub(crate) mod wakeup;

mod exchanges;

use exchanges::Node;
