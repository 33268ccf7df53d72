//! One result row of either database. Columns are read by position.

use std::str::FromStr;

use haft_core::{CallError, ToolId, ToolName};
use jiff::Timestamp;
use serde::de::value::{Error as WordError, StringDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Postgres, Row as _, Sqlite, Type};
use uuid::Uuid;

use crate::failure;

pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    pub(crate) fn text(&self, column: usize) -> Result<String, CallError> {
        self.get(column)
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<String>, CallError> {
        self.get(column)
    }

    pub(crate) fn int(&self, column: usize) -> Result<i64, CallError> {
        self.get(column)
    }

    pub(crate) fn maybe_int(&self, column: usize) -> Result<Option<i64>, CallError> {
        self.get(column)
    }

    pub(crate) fn bytes(&self, column: usize) -> Result<Vec<u8>, CallError> {
        self.get(column)
    }

    pub(crate) fn maybe_bytes(&self, column: usize) -> Result<Option<Vec<u8>>, CallError> {
        self.get(column)
    }

    /// Reads a version, a revision or a count.
    pub(crate) fn number(&self, column: usize) -> Result<u64, CallError> {
        u64::try_from(self.int(column)?).map_err(failure::unreadable)
    }

    pub(crate) fn maybe_number(&self, column: usize) -> Result<Option<u64>, CallError> {
        self.maybe_int(column)?.map(|value| u64::try_from(value).map_err(failure::unreadable)).transpose()
    }

    pub(crate) fn flag(&self, column: usize) -> Result<bool, CallError> {
        Ok(self.int(column)? != 0)
    }

    pub(crate) fn time(&self, column: usize) -> Result<Timestamp, CallError> {
        Timestamp::from_microsecond(self.int(column)?).map_err(failure::unreadable)
    }

    pub(crate) fn maybe_time(&self, column: usize) -> Result<Option<Timestamp>, CallError> {
        let instant = |value| Timestamp::from_microsecond(value).map_err(failure::unreadable);
        self.maybe_int(column)?.map(instant).transpose()
    }

    pub(crate) fn id<T: FromStr<Err = uuid::Error>>(&self, column: usize) -> Result<T, CallError> {
        self.text(column)?.parse::<T>().map_err(failure::unreadable)
    }

    pub(crate) fn maybe_id<T: FromStr<Err = uuid::Error>>(
        &self,
        column: usize,
    ) -> Result<Option<T>, CallError> {
        self.maybe_text(column)?.map(|text| text.parse::<T>().map_err(failure::unreadable)).transpose()
    }

    pub(crate) fn tool_id(&self, column: usize) -> Result<ToolId, CallError> {
        let text = self.text(column)?;
        match Uuid::try_parse(&text) {
            Ok(id) => Ok(ToolId::Uuid(id)),
            Err(_) => Ok(ToolId::Named(text.parse::<ToolName>().map_err(failure::unreadable)?)),
        }
    }

    /// Reads a value of an enum: a role, a scope, a state.
    pub(crate) fn word<T: DeserializeOwned>(&self, column: usize) -> Result<T, CallError> {
        let word: StringDeserializer<WordError> = self.text(column)?.into_deserializer();
        T::deserialize(word).map_err(failure::unreadable)
    }

    pub(crate) fn json<T: DeserializeOwned>(&self, column: usize) -> Result<T, CallError> {
        serde_json::from_str(&self.text(column)?).map_err(failure::unreadable)
    }

    fn get<T>(&self, column: usize) -> Result<T, CallError>
    where
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        let value = match self {
            Self::Sqlite(row) => row.try_get::<T, usize>(column),
            Self::Postgres(row) => row.try_get::<T, usize>(column),
        };
        value.map_err(failure::unreadable)
    }
}
