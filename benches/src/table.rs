//! A table for a terminal.

use std::fmt;

/// A heading, columns with names, rows with a name.
#[derive(Debug, Default, Clone)]
pub struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
    notes: Vec<String>,
}

impl Table {
    /// An empty table; the first of the columns names the rows.
    #[must_use]
    pub fn new(title: impl Into<String>, columns: Vec<String>) -> Self {
        Self {
            title: title.into(),
            columns,
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a line below the table.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Adds a row.
    pub fn row(&mut self, name: impl Into<String>, cells: Vec<String>) {
        self.rows.push((name.into(), cells));
    }

    fn width(&self, column: usize) -> usize {
        let cell = |row: &(String, Vec<String>)| match column {
            0 => row.0.chars().count(),
            _ => row.1.get(column - 1).map_or(0, |cell| cell.chars().count()),
        };
        let cells = self.rows.iter().map(cell).max().unwrap_or(0);
        cells.max(self.columns[column].chars().count())
    }
}

/// Three or four digits that count; `none` is a figure that could not be had.
#[must_use]
pub fn short(figure: Option<f64>) -> String {
    match figure {
        None => "none".to_owned(),
        Some(f) if f >= 100.0 => format!("{f:.0}"),
        Some(f) if f >= 10.0 => format!("{f:.1}"),
        Some(f) if f >= 1.0 || f == 0.0 => format!("{f:.2}"),
        Some(f) => format!("{f:.3}"),
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        let widths: Vec<_> = (0..self.columns.len()).map(|i| self.width(i)).collect();
        let heading = (&self.columns[0], &self.columns[1..]);
        let rows = self.rows.iter().map(|(name, cells)| (name, &cells[..]));
        for (name, cells) in std::iter::once(heading).chain(rows) {
            write!(f, "  {name:<width$}", width = widths[0])?;
            for (cell, width) in cells.iter().zip(&widths[1..]) {
                write!(f, "  {cell:>width$}")?;
            }
            writeln!(f)?;
        }
        for note in &self.notes {
            writeln!(f, "  {note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new("title", vec!["bytes".into(), "a".into()]);
        table.row("8", vec!["not installed".into()]);
        table.row("1048576", vec![short(Some(1.0))]);
        table.note("below".into());
        let expected = "title\n  bytes                a\n  8        not installed\n  \
             1048576           1.00\n  below\n";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn figures_keep_the_digits_that_count() {
        let texts = [Some(58_123.4), Some(12.34), Some(1.234), Some(0.1234), None].map(short);
        assert_eq!(texts, ["58123", "12.3", "1.23", "0.123", "none"]);
    }
}
