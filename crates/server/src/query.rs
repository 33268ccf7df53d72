//! What the address of a request says: the segment that names a thing, and the parameters behind `?`.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use haft_core::Message;
use serde::de::DeserializeOwned;

use crate::error::ApiError;
use crate::request::Asked;

haft_core::templates! {
    BAD_PATH = "address.badPath",
        "the path is not readable: {reason}",
        "路径无法读取：{reason}";
    BAD_PARAMETERS = "address.badParameters",
        "the parameters of the address are not right: {reason}",
        "地址参数有误：{reason}";
}

/// The id or name in the path.
pub(crate) struct Named(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(error) => {
                let message = Message::new(&BAD_PATH).with("reason", error.body_text());
                Err(ApiError::with_status(StatusCode::BAD_REQUEST, message, &Asked::of(parts)))
            }
        }
    }
}

/// The parameters behind `?`. A type that denies unknown fields makes unknown parameters an error.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(parameters)) => Ok(Self(parameters)),
            Err(error) => {
                let message = Message::new(&BAD_PARAMETERS).with("reason", error.body_text());
                Err(ApiError::with_status(StatusCode::BAD_REQUEST, message, &Asked::of(parts)))
            }
        }
    }
}
