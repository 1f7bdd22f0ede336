//! Which ranks share a node, as the value of `PMI_process_mapping`.

use super::store::VALUE_MAX;

/// Consecutive nodes with the same number of consecutive ranks each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    first_node: usize,
    nodes: usize,
    ranks: usize,
}

/// The mapping of a job with these hosts, by rank: `(vector,(FIRST_NODE,NODES,RANKS),...)`. A
/// reader begins again with the first block where ranks are left. The mapping is empty, which means
/// unknown, if it would be too long for a value.
pub fn mapping(hosts: &[String]) -> String {
    let runs = runs(hosts);
    let mut blocks: Vec<Block> = Vec::new();
    for run in period(&runs) {
        let follows =
            |it: &Block| it.ranks == run.ranks && it.first_node + it.nodes == run.first_node;
        match blocks.last_mut() {
            Some(last) if follows(last) => last.nodes += 1,
            _ => blocks.push(*run),
        }
    }
    let words = |block: &Block| format!(",({},{},{})", block.first_node, block.nodes, block.ranks);
    let text = format!("(vector{})", blocks.iter().map(words).collect::<String>());
    if text.len() > VALUE_MAX {
        return String::new();
    }
    text
}

/// Consecutive ranks on one node. Nodes have numbers in the order of their first ranks.
fn runs(hosts: &[String]) -> Vec<Block> {
    let mut numbers = std::collections::HashMap::new();
    let mut runs: Vec<Block> = Vec::new();
    for host in hosts {
        let next = numbers.len();
        let node = *numbers.entry(host).or_insert(next);
        match runs.last_mut() {
            Some(run) if run.first_node == node => run.ranks += 1,
            _ => runs.push(Block {
                first_node: node,
                nodes: 1,
                ranks: 1,
            }),
        }
    }
    runs
}

/// The runs without their repetitions, of which the last one may not be whole.
fn period(runs: &[Block]) -> &[Block] {
    let is_period = |length: &usize| {
        let mut later = runs[*length..].iter().zip(runs).peekable();
        while let Some((run, first)) = later.next() {
            let is_cut = later.peek().is_none() && run.ranks < first.ranks;
            if run != first && !(is_cut && run.first_node == first.first_node) {
                return false;
            }
        }
        true
    };
    let length = (1..runs.len()).find(is_period).unwrap_or(runs.len());
    &runs[..length]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(nodes: &[usize]) -> String {
        mapping(
            &nodes
                .iter()
                .map(|node| format!("n{node}"))
                .collect::<Vec<_>>(),
        )
    }

    /// The node of each rank, as a reader of the mapping finds it.
    fn read(mapping: &str, size: usize) -> Vec<usize> {
        let inner = mapping
            .trim_start_matches("(vector,(")
            .trim_end_matches("))");
        let blocks: Vec<Vec<usize>> = inner
            .split("),(")
            .map(|block| block.split(',').map(|it| it.parse().unwrap()).collect())
            .collect();
        let nodes = |block: &Vec<usize>| {
            let (first, nodes, ranks) = (block[0], block[1], block[2]);
            (first..first + nodes).flat_map(move |node| vec![node; ranks])
        };
        blocks.iter().cycle().flat_map(nodes).take(size).collect()
    }

    #[test]
    fn blocks_and_turns_are_short() {
        assert_eq!(of(&[0, 0, 0, 0]), "(vector,(0,1,4))");
        assert_eq!(of(&[0, 0, 1, 1]), "(vector,(0,2,2))");
        assert_eq!(of(&[0, 1, 0, 1, 0, 1]), "(vector,(0,2,1))");
        assert_eq!(of(&[0, 0, 1]), "(vector,(0,1,2),(1,1,1))");
        let many: Vec<usize> = (0..10_000).map(|rank| rank % 7).collect();
        assert_eq!(of(&many), "(vector,(0,7,1))");
    }

    #[test]
    fn a_mapping_that_is_too_long_is_unknown() {
        let odd: Vec<usize> = (0..4000_u32)
            .map(|rank| rank.count_ones() as usize)
            .collect();
        assert_eq!(of(&odd), "");
    }

    proptest! {
        #[test]
        fn a_reader_finds_the_node_of_each_rank(
            nodes in proptest::collection::vec(0_usize..4, 1..40),
        ) {
            // Nodes are numbered as they appear.
            let mut order: Vec<usize> = Vec::new();
            let expected: Vec<usize> = nodes.iter().map(|node| {
                let known = order.iter().position(|it| it == node);
                known.unwrap_or_else(|| { order.push(*node); order.len() - 1 })
            }).collect();
            prop_assert_eq!(read(&of(&nodes), nodes.len()), expected);
        }
    }
}
