//! `PMI_process_mapping`: which node each rank is on, as process managers write it.
//!
//! `(vector,(first_node,nodes,ranks_per_node),...)`. Each block places that many ranks on each of
//! its nodes, one node after the other. The blocks are repeated until all ranks have a node.

/// The most numbers of nodes that are plausible.
const NODES_MAX: u32 = 1 << 20;

/// The node of each of `size` ranks; `None` if the text is empty or no mapping.
pub(in crate::boot) fn nodes(text: &str, size: u32) -> Option<Vec<u32>> {
    let blocks = blocks(text)?;
    let mut nodes = Vec::with_capacity(size as usize);
    while nodes.len() < size as usize {
        let before = nodes.len();
        for &(first, count, ranks) in &blocks {
            for node in first..first.checked_add(count)? {
                let room = size as usize - nodes.len();
                let ranks = room.min(ranks as usize);
                nodes.extend(std::iter::repeat_n(node, ranks));
            }
        }
        if nodes.len() == before {
            return None;
        }
    }
    Some(nodes)
}

fn blocks(text: &str) -> Option<Vec<(u32, u32, u32)>> {
    let inside = text.trim().strip_prefix("(vector,")?.strip_suffix(')')?;
    let mut blocks = Vec::new();
    for block in inside.split_inclusive(')') {
        let block = block.trim_start_matches(',').strip_prefix('(')?;
        let mut numbers = block.strip_suffix(')')?.split(',');
        let mut next = || numbers.next()?.trim().parse::<u32>().ok();
        let (first, count, ranks) = (next()?, next()?, next()?);
        if numbers.next().is_some() || count > NODES_MAX || first > NODES_MAX {
            return None;
        }
        blocks.push((first, count, ranks));
    }
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn blocks_place_ranks_node_after_node() {
        for (text, size, expected) in [
            ("(vector,(0,2,4))", 8, vec![0, 0, 0, 0, 1, 1, 1, 1]),
            ("(vector,(0,2,1))", 5, vec![0, 1, 0, 1, 0]),
            ("(vector,(0,1,4),(1,2,1))", 6, vec![0, 0, 0, 0, 1, 2]),
            ("(vector,(0,1,4))", 2, vec![0, 0]),
        ] {
            assert_eq!(nodes(text, size), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_mapping_gives_no_nodes() {
        for text in [
            "",
            "(vector)",
            "(vector,)",
            "(vector,(0,1))",
            "(vector,(0,1,0))",
            "(vector,(0,0,1))",
            "(vector,(0,1,2,3))",
            "(vector,(a,1,2))",
            "(vector,(0,4294967295,1))",
            "vector,(0,1,1)",
        ] {
            assert_eq!(nodes(text, 3), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_mapping_of_all_ranks_or_none(text: String, size in 1..100_u32) {
            if let Some(nodes) = nodes(&text, size) {
                prop_assert_eq!(nodes.len(), size as usize);
            }
        }
    }
}
