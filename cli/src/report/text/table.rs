//! A table of text: columns as wide as their widest cell, two spaces between them.

use std::io::{self, Write};

/// Where a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// At the left edge.
    Left,
    /// At the right edge.
    Right,
}

/// Rows under a line of headings.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings and no row.
    pub fn new(headings: &[(&str, Align)]) -> Self {
        let columns = headings.iter().map(|(_, align)| *align).collect();
        let heading = headings.iter().map(|(text, _)| text.to_uppercase()).collect();
        Self { columns, rows: vec![heading] }
    }

    /// Adds a row, one cell for each heading.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Prints it.
    pub fn print(&self, output: &mut impl Write) -> io::Result<()> {
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        for row in &self.rows {
            let cells =
                row.iter().zip(&self.columns).zip(&widths).map(|((cell, align), width)| match align {
                    Align::Left => format!("{cell:<width$}"),
                    Align::Right => format!("{cell:>width$}"),
                });
            writeln!(output, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}
