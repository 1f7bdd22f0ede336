//! Where the engine lends memory to a link without a lifetime. Decision 0056.

use crate::source::all_files;

/// The only files that call `Span::held`.
const LENDERS: [&str; 5] = [
    "engine/inbox/matching/body.rs",
    "engine/inbox/mod.rs",
    "engine/lane/partitioned.rs",
    "engine/outbox/mod.rs",
    "engine/ports/head.rs",
];

#[test]
fn memory_is_lent_without_a_lifetime_in_the_listed_files_only() {
    let files = all_files();
    let lends = |(file, text): &(String, String)| text.contains("Span::held").then(|| file.clone());
    let mut found: Vec<String> = files.iter().filter_map(lends).collect();
    found.sort_unstable();
    assert_eq!(found, LENDERS);
}
