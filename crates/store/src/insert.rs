//! Many rows for a table in one statement. What is in them lives beside each noun.

use std::fmt::Write as _;

use crate::db::Arg;

/// So many rows go into one statement.
const TOGETHER: usize = 256;

/// How rows are added to a table.
pub(crate) struct Table {
    /// `INSERT INTO … VALUES `, with the columns of the constants first.
    pub(crate) head: &'static str,
    /// What each row begins with.
    pub(crate) constants: &'static str,
    /// So many arguments each row has.
    pub(crate) columns: usize,
    /// What is done about rows that are there.
    pub(crate) tail: &'static str,
}

/// Rows to be added.
pub(crate) struct Rows {
    table: &'static Table,
    values: Vec<Arg>,
}

/// How a database is told where an argument goes.
#[derive(Clone, Copy)]
pub(crate) enum Marks {
    /// `?`, one after the other. SQLite looks a named one up among all names, each time it is bound.
    Plain,
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

    /// The statements that add them, each with its arguments.
    pub(crate) fn statements(self, marks: Marks) -> impl Iterator<Item = (String, Vec<Arg>)> {
        let Self { table, values } = self;
        let mut values = values.into_iter().peekable();
        std::iter::from_fn(move || {
            values.peek()?;
            let some: Vec<Arg> = values.by_ref().take(TOGETHER * table.columns).collect();
            Some((table.sql(some.len() / table.columns, marks), some))
        })
    }
}

impl Table {
    fn sql(&self, rows: usize, marks: Marks) -> String {
        let mut sql = String::with_capacity(256 + rows * (self.constants.len() + self.columns * 6));
        sql.push_str(self.head);
        for row in 0..rows {
            sql.push_str(if row == 0 { "(" } else { ", (" });
            sql.push_str(self.constants);
            for column in 0..self.columns {
                match marks {
                    Marks::Plain => sql.push_str(", ?"),
                    // Into a string, which takes everything.
                    Marks::Numbered => drop(write!(sql, ", ${}", 1 + row * self.columns + column)),
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
    fn rows_become_as_few_statements_as_may_be() {
        let rows = |count: u64| {
            let mut rows = Rows::of(&TABLE);
            (0..count).for_each(|n| rows.push([Arg::from(n), Arg::from(n)]));
            rows
        };
        let sql: Vec<String> = rows(2).statements(Marks::Numbered).map(|(sql, _)| sql).collect();
        assert_eq!(sql, ["INSERT INTO t (a, b, c) VALUES (0, $1, $2), (0, $3, $4) ON CONFLICT DO NOTHING"]);
        let sql: Vec<String> = rows(2).statements(Marks::Plain).map(|(sql, _)| sql).collect();
        assert_eq!(sql, ["INSERT INTO t (a, b, c) VALUES (0, ?, ?), (0, ?, ?) ON CONFLICT DO NOTHING"]);
        let sizes: Vec<usize> = rows(257).statements(Marks::Plain).map(|(_, values)| values.len()).collect();
        assert_eq!(sizes, [512, 2]);
        assert_eq!(rows(0).statements(Marks::Plain).count(), 0);
    }
}
