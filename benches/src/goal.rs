//! What is to be reached, and whether it was.

use std::fmt;

use crate::measurements::Spread;
use crate::table::short;

/// How a figure is held against its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// At most so much.
    Most(f64),
    /// At least so much.
    Least(f64),
}

/// A figure to be reached, and what was measured.
#[derive(Debug, Clone)]
pub struct Goal {
    what: String,
    limit: Limit,
    measured: Option<Spread>,
}

impl Goal {
    /// A goal; `None` if it could not be measured.
    #[must_use]
    pub fn new(what: impl Into<String>, limit: Limit, measured: Option<Spread>) -> Self {
        Self {
            what: what.into(),
            limit,
            measured,
        }
    }

    /// Whether the median is within the limit.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.measured.is_some_and(|spread| match self.limit {
            Limit::Most(most) => spread.median <= most,
            Limit::Least(least) => spread.median >= least,
        })
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match (self.is_reached(), self.measured) {
            (true, _) => "reached",
            (false, Some(_)) => "MISSED",
            (false, None) => "NOT MEASURED",
        };
        let limit = match self.limit {
            Limit::Most(most) => format!("<= {most}"),
            Limit::Least(least) => format!(">= {least}"),
        };
        let what = &self.what;
        write!(f, "  {verdict:<12}  {what:<92}  {limit:>8}")?;
        if let Some(spread) = self.measured {
            let [median, least, most] =
                [spread.median, spread.least, spread.most].map(|figure| short(Some(figure)));
            write!(f, "  {median:>7}  ({least} to {most})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(limit: Limit, figure: f64) -> bool {
        Goal::new("", limit, Spread::of(vec![figure])).is_reached()
    }

    #[test]
    fn a_goal_is_reached_at_its_limit() {
        assert!(verdict(Limit::Most(0.9), 0.9) && !verdict(Limit::Most(0.9), 0.91));
        assert!(verdict(Limit::Least(15.0), 15.0) && !verdict(Limit::Least(15.0), 14.9));
    }

    #[test]
    fn what_was_not_measured_is_not_reached() {
        let goal = Goal::new("rate", Limit::Least(0.0), None);
        assert!(!goal.is_reached() && goal.to_string().contains("NOT MEASURED"));
    }
}
