//! The panels of an experiment, and their axes.

use super::kept::Panel;
use crate::measurements::Better;
use crate::plot::Ticks;

/// A panel whose axis is the loss.
pub(super) fn over_loss(
    losses: &[f64],
    (name, title): (&str, &str),
    (unit, better): (&str, Better),
) -> Panel {
    over(
        name,
        title,
        (unit, better),
        Ticks::steps("packets lost", losses, "%"),
    )
}

pub(super) fn over(name: &str, title: &str, (unit, better): (&str, Better), ticks: Ticks) -> Panel {
    Panel {
        name: name.to_owned(),
        title: title.to_owned(),
        unit: unit.to_owned(),
        better,
        subjects: ticks.values.iter().map(|(_, name)| name.clone()).collect(),
        ticks: Some(ticks),
    }
}

/// A panel of bars.
pub(super) fn bars(
    name: &str,
    title: &str,
    (unit, better): (&str, Better),
    subjects: &[&str],
) -> Panel {
    Panel {
        name: name.to_owned(),
        title: title.to_owned(),
        unit: unit.to_owned(),
        better,
        ticks: None,
        subjects: subjects.iter().map(|it| (*it).to_owned()).collect(),
    }
}

/// An axis of counts: nodes, ranks, senders.
pub(super) fn counts(label: &str, values: &[u32]) -> Ticks {
    Ticks {
        label: label.to_owned(),
        values: values
            .iter()
            .map(|it| (f64::from(*it), it.to_string()))
            .collect(),
        is_logarithmic: true,
    }
}
