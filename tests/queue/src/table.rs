//! Which program is in which queue, and how long it takes.

use std::path::Path;

use crate::programs::Program;

/// What a program does most of the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Queue {
    /// It starts processes and waits for them, or for a timer.
    Waiting,
    /// It computes, and needs no deadline.
    Computing,
}

struct Row {
    name: String,
    queue: Queue,
    seconds: u32,
    threads: Option<u32>,
}

/// The rows of `programs.table`. `folder/*` is any program of a folder, and of the folders in
/// it, that has no row of its own.
pub(crate) struct Table {
    rows: Vec<Row>,
}

impl Table {
    pub(crate) fn read(path: &Path) -> Result<Table, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let rows: Option<_> = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(row)
            .collect();
        match rows {
            Some(rows) => Ok(Table { rows }),
            None => Err(format!(
                "{}: each line has a program, `waiting` or `computing`, and seconds",
                path.display()
            )),
        }
    }

    fn row(&self, name: &str) -> Option<&Row> {
        let of_name = |name: &str| self.rows.iter().find(|row| row.name == name);
        let mut row = of_name(name);
        let mut path = name;
        while let (None, Some((folder, _))) = (row, path.rsplit_once('/')) {
            row = of_name(&format!("{folder}/*"));
            path = folder;
        }
        row
    }

    /// A program without a row waits: it is not slowed down then.
    pub(crate) fn queue(&self, name: &str) -> Queue {
        self.row(name).map_or(Queue::Waiting, |row| row.queue)
    }

    pub(crate) fn seconds(&self, name: &str) -> u32 {
        self.row(name).map_or(0, |row| row.seconds)
    }

    /// How many tests of the program run at once, if not as many as there are cores.
    pub(crate) fn threads(&self, name: &str) -> Option<u32> {
        self.row(name)?.threads
    }

    /// Refuses a row whose program has gone: its new name would have no place.
    pub(crate) fn check(&self, programs: &[Program]) -> Result<(), String> {
        let is_there =
            |row: &Row| row.name.ends_with("/*") || programs.iter().any(|it| it.name == row.name);
        match self.rows.iter().find(|row| !is_there(row)) {
            Some(row) => Err(format!("the table names {}, which is no program", row.name)),
            None => Ok(()),
        }
    }
}

fn row(line: &str) -> Option<Row> {
    let mut words = line.split_whitespace();
    let name = words.next()?.into();
    let queue = match words.next()? {
        "waiting" => Queue::Waiting,
        "computing" => Queue::Computing,
        _ => return None,
    };
    let seconds = words.next()?.parse().ok()?;
    let threads = words.next().map(str::parse).transpose().ok()?;
    Some(Row {
        name,
        queue,
        seconds,
        threads,
    })
}
