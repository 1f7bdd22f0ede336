//! A table of figures for a terminal.

use std::fmt;

/// Columns with headings, rows with a name.
#[derive(Debug, Default)]
pub struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

const WIDTH: usize = 14;

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(title: impl Into<String>, columns: Vec<String>) -> Self {
        Self {
            title: title.into(),
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row; `None` is a figure that was not measured.
    pub fn row(&mut self, name: impl Into<String>, figures: Vec<Option<f64>>) {
        let cell = |figure: Option<f64>| figure.map_or("-".to_owned(), short);
        self.rows
            .push((name.into(), figures.into_iter().map(cell).collect()));
    }
}

/// Three or four digits that count.
fn short(figure: f64) -> String {
    match figure {
        f if f >= 100.0 => format!("{f:.0}"),
        f if f >= 10.0 => format!("{f:.1}"),
        f => format!("{f:.2}"),
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        write!(f, "{:>10}", "bytes")?;
        for column in &self.columns {
            write!(f, " {column:>WIDTH$}")?;
        }
        writeln!(f)?;
        for (name, cells) in &self.rows {
            write!(f, "{name:>10}")?;
            for cell in cells {
                write!(f, " {cell:>WIDTH$}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
