//! The counters as a table for humans.

use std::fmt::Write as _;

use mpi_boot::protocol::Measure;

use super::{Derived, Extent, Statistics};

/// The table: a line per counter that is not zero everywhere, then what follows from them.
pub(super) fn text(statistics: &Statistics) -> String {
    let (reported, ranks) = (statistics.reported(), statistics.ranks);
    if reported == 0 {
        return "mpirun: counters: no rank has reported any\n".into();
    }
    let who = match ranks {
        1 => "1 rank".into(),
        _ if reported == ranks => format!("{ranks} ranks"),
        _ => format!("{reported} of {ranks} ranks (the others ended without a report)"),
    };
    if statistics.are_zero() {
        return format!("mpirun: counters of {who}: all are 0\n");
    }
    let mut lines = vec![format!("mpirun: counters of {who}")];
    rows(statistics, &mut lines);
    derived(&statistics.derived(), &mut lines);
    lines.join("\n") + "\n"
}

fn rows(statistics: &Statistics, lines: &mut Vec<String>) {
    let mut cells = vec![["counter", "sum", "least", "greatest"].map(String::from)];
    for column in &statistics.columns {
        let Some(extent) = column.extent().filter(|it| it.greatest.0 > 0) else {
            continue;
        };
        let sum = match column.measure {
            Measure::Peak => String::new(),
            _ => grouped(extent.sum),
        };
        let [least, greatest] = ends(&extent);
        cells.push([column.name.clone(), sum, least, greatest]);
    }
    let widths = [0, 1, 2, 3].map(|at: usize| {
        let lengths = cells.iter().map(|line| line[at].len());
        lengths.max().unwrap_or(0)
    });
    for [name, sum, least, greatest] in &cells {
        let [first, second, third, fourth] = widths;
        lines.push(format!(
            "  {name:first$}  {sum:>second$}  {least:>third$}  {greatest:>fourth$}"
        ));
    }
}

/// The least and the greatest, each with its rank if they differ.
fn ends(extent: &Extent) -> [String; 2] {
    [extent.least, extent.greatest].map(|(value, rank)| {
        if extent.least.0 == extent.greatest.0 {
            grouped(value)
        } else {
            format!("{} (rank {rank})", grouped(value))
        }
    })
}

fn derived(derived: &Derived, lines: &mut Vec<String>) {
    let Some(percent) = derived.repeated_percent else {
        return;
    };
    let (packets, datagrams) = (grouped(derived.packets), grouped(derived.datagrams));
    let mut line = format!("  packets: {packets} in {datagrams} datagrams");
    if let Some(ratio) = derived.packets_per_message {
        let _ = write!(line, ", {ratio:.2} per message");
    }
    let repeated = grouped(derived.repeated);
    let _ = write!(line, "; sent again: {repeated} ({percent:.2} %)");
    lines.push(line);
    if derived.is_lossy() {
        lines.push(format!("  note: {}", advice(derived)));
    }
}

/// What to make of many packets that were sent again.
fn advice(derived: &Derived) -> String {
    match derived.overflowed {
        0 => "more than 1 % of the packets were sent again: the network loses packets, or ranks \
              answer late because they share cores"
            .into(),
        overflowed => format!(
            "more than 1 % of the packets were sent again: receive buffers were full {} times; \
             larger ones may help (MPILITE_SOCKET_BUFFER_BYTES, and sysctl net.core.rmem_max, \
             which limits it)",
            grouped(overflowed)
        ),
    }
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::two_of_three;
    use super::*;

    #[test]
    fn the_table_is_readable() {
        let expected = "\
mpirun: counters of 2 of 3 ranks (the others ended without a report)
  counter             sum       least     greatest
  rmpp_messages_sent   20          10           10
  udp_datagrams_sent   22          11           11
  rmpp_sent_rts        18  8 (rank 0)  10 (rank 2)
  rmpp_sent_gch         6           3            3
  mpi_peak                 0 (rank 0)  10 (rank 2)
  packets: 24 in 22 datagrams, 1.20 per message; sent again: 0 (0.00 %)
";
        assert_eq!(text(&two_of_three(0)), expected);
    }

    #[test]
    fn many_repeats_are_noted_in_one_line() {
        let text = text(&two_of_three(1));
        assert!(
            text.contains("sent again: 2 (8.33 %)\n  note: more than 1 %"),
            "{text}"
        );
    }

    #[test]
    fn nobody_reported_is_a_table_of_one_line() {
        assert_eq!(text(&Statistics::new(4)).lines().count(), 1);
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, shown) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), shown);
        }
    }
}
