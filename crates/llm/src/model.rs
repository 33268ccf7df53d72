//! The seam: whatever can be asked as a model is.

use haft_core::{BoxFuture, CallError, Message};
use haft_egress::Limits;

use crate::delta::DeltaStream;
use crate::request::ModelRequest;

/// Something that answers as a model does.
pub trait Model: Send + Sync {
    /// Asks once. The limits hold for the whole answer; dropping the stream ends it.
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        limits: Limits,
    ) -> BoxFuture<'a, Result<Asked, CallError>>;
}

/// An answer that has begun.
pub struct Asked {
    /// Tools that the model was not told of.
    pub left_out: Vec<LeftOut>,
    pub deltas: DeltaStream,
}

/// A tool that the provider would not have taken, and with it the whole request.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    pub name: String,
    pub why: Message,
}
