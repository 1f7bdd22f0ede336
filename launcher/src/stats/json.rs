//! The counters as JSON, for programs: the same as the table, and those that are zero.

use mpi_boot::protocol::Measure;
use serde_json::{Map, Value, json};

use super::{Column, Statistics};

/// One object, on one line so that it is easily found among what the ranks wrote.
pub(super) fn text(statistics: &Statistics) -> String {
    let counters = statistics.columns.iter().filter_map(counter);
    let derived = statistics.derived();
    let object = json!({
        "ranks": statistics.ranks,
        "reported": statistics.reported(),
        "counters": counters.collect::<Map<String, Value>>(),
        "packets": derived.packets,
        "datagrams": derived.datagrams,
        "packets_per_message": derived.packets_per_message,
        "repeated": derived.repeated,
        "repeated_percent": derived.repeated_percent,
    });
    format!("{object}\n")
}

fn counter(column: &Column) -> Option<(String, Value)> {
    let extent = column.extent()?;
    let mut object = json!({
        "least": extent.least.0,
        "least_rank": extent.least.1,
        "greatest": extent.greatest.0,
        "greatest_rank": extent.greatest.1,
    });
    if column.measure != Measure::Peak {
        object["sum"] = extent.sum.into();
    }
    Some((column.name.clone(), object))
}

#[cfg(test)]
mod tests {
    use super::super::tests::two_of_three;
    use super::*;

    #[test]
    fn the_object_says_what_the_table_says() {
        let text = text(&two_of_three(6));
        let object: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(object["ranks"], 3);
        assert_eq!(object["reported"], 2);
        assert_eq!(object["counters"]["rmpp_sent_rts"]["sum"], 18);
        assert_eq!(object["counters"]["rmpp_sent_rts"]["greatest_rank"], 2);
        assert_eq!(object["counters"]["mpi_nothing"]["sum"], 0);
        assert_eq!(object["counters"]["mpi_peak"].get("sum"), None);
        assert_eq!(object["repeated_percent"], 50.0);
    }
}
