//! Inserting many rows with few statements. The values come from the modules of each resource.

use std::fmt::Write as _;

use crate::db::Arg;

/// Maximum number of rows per statement.
const MAX_ROWS: usize = 256;

/// A table and how to insert into it.
pub(crate) struct Table {
    /// `INSERT INTO … VALUES `, with the columns of the constants first.
    pub(crate) head: &'static str,
    /// SQL constants at the start of each row.
    pub(crate) constants: &'static str,
    /// Number of arguments per row.
    pub(crate) columns: usize,
    /// SQL after the values, such as `ON CONFLICT DO NOTHING`.
    pub(crate) tail: &'static str,
}

/// Rows to insert.
pub(crate) struct Rows {
    table: &'static Table,
    values: Vec<Arg>,
}

/// The syntax of placeholders for arguments.
#[derive(Clone, Copy)]
pub(crate) enum Placeholders {
    /// `?`, in order. SQLite would search the list of names for each numbered placeholder that is bound.
    Anonymous,
    /// `$1`, `$2`, …
    Numbered,
}

impl Rows {
    pub(crate) fn of(table: &'static Table) -> Self {
        Self { table, values: Vec::new() }
    }

    /// Adds the arguments of one row.
    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = Arg>) {
        self.values.extend(row);
        debug_assert!(self.values.len().is_multiple_of(self.table.columns), "all columns of each row");
    }

    /// Returns the statements with their arguments.
    pub(crate) fn statements(self, placeholders: Placeholders) -> impl Iterator<Item = (String, Vec<Arg>)> {
        let Self { table, values } = self;
        let mut values = values.into_iter().peekable();
        std::iter::from_fn(move || {
            values.peek()?;
            let some: Vec<Arg> = values.by_ref().take(MAX_ROWS * table.columns).collect();
            Some((table.sql(some.len() / table.columns, placeholders), some))
        })
    }
}

impl Table {
    fn sql(&self, rows: usize, placeholders: Placeholders) -> String {
        let mut sql = String::with_capacity(256 + rows * (self.constants.len() + self.columns * 6));
        sql.push_str(self.head);
        for row in 0..rows {
            sql.push_str(if row == 0 { "(" } else { ", (" });
            sql.push_str(self.constants);
            for column in 0..self.columns {
                match placeholders {
                    Placeholders::Anonymous => sql.push_str(", ?"),
                    // Writing to a string cannot fail.
                    Placeholders::Numbered => drop(write!(sql, ", ${}", 1 + row * self.columns + column)),
                }
            }
            sql.push(')');
        }
        sql.push_str(self.tail);
        sql
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TABLE: Table = Table {
        head: "INSERT INTO t (a, b, c) VALUES ",
        constants: "0",
        columns: 2,
        tail: " ON CONFLICT DO NOTHING",
    };

    #[test]
    fn rows_are_batched_into_few_statements() {
        let rows = |count: u64| {
            let mut rows = Rows::of(&TABLE);
            (0..count).for_each(|n| rows.push([Arg::from(n), Arg::from(n)]));
            rows
        };
        let sql: Vec<String> = rows(2).statements(Placeholders::Numbered).map(|(sql, _)| sql).collect();
        assert_eq!(sql, ["INSERT INTO t (a, b, c) VALUES (0, $1, $2), (0, $3, $4) ON CONFLICT DO NOTHING"]);
        let sql: Vec<String> = rows(2).statements(Placeholders::Anonymous).map(|(sql, _)| sql).collect();
        assert_eq!(sql, ["INSERT INTO t (a, b, c) VALUES (0, ?, ?), (0, ?, ?) ON CONFLICT DO NOTHING"]);
        let sizes: Vec<usize> =
            rows(257).statements(Placeholders::Anonymous).map(|(_, values)| values.len()).collect();
        assert_eq!(sizes, [512, 2]);
        assert_eq!(rows(0).statements(Placeholders::Anonymous).count(), 0);
    }
}
