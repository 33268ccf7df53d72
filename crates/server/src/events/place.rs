//! Where a listener stands: after which change, and after which moment in the life of tasks.

use std::fmt;
use std::str::FromStr;

/// Written `17`, or `17.1763265000123456`: the number of a change, and microseconds of the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(super) change: u64,
    /// Nothing where the listener has heard of none yet.
    pub(super) task: Option<i64>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.task {
            Some(task) => write!(f, "{}.{task}", self.change),
            None => self.change.fmt(f),
        }
    }
}

impl FromStr for Place {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (change, task) = match text.split_once('.') {
            Some((change, task)) => (change, Some(task.parse()?)),
            None => (text, None),
        };
        Ok(Self { change: change.parse()?, task })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        for text in ["0", "17", "17.1763265000123456"] {
            assert_eq!(text.parse::<Place>().expect(text).to_string(), text);
        }
        for wrong in ["", "x", ".", "17.", ".5", "-1", "17.x", "1.2.3"] {
            assert!(wrong.parse::<Place>().is_err(), "{wrong}");
        }
    }
}
