//! The OpenAI-compatible endpoint: `/v1/chat/completions`, `/v1/responses`, `/v1/models`, in OpenAI's own forms.
//!
//! `model` is an agent, whose tools run here and are not seen by the client; tools that the client sends are its own
//! to carry out. The loop is `agent`'s; here is only how it looks from outside.

mod completions;
mod course;
pub(crate) mod error;
mod ids;
mod models;
mod parked;
mod provider_calls;
mod question;
mod reading;
mod responses;
mod stream;
mod words;

use haft_agent::Turn;
use haft_core::Template;
use serde_json::{Value, json};

use crate::api::{Base, Needs, Route};

pub(crate) fn routes() -> Vec<Route> {
    let routes = [
        Route::get("/models", models::list)
            .needs(Needs::Read)
            .says("List values for `model`: agents by name, and models as `provider/model`")
            .answers(200, "OpenAiModels"),
        Route::get("/models/{*id}", models::read)
            .needs(Needs::Read)
            .says("Get a model")
            .answers(200, "OpenAiModel"),
        Route::post("/chat/completions", completions::create)
            .needs(Needs::Call)
            .says("Create a chat completion with an agent or a model, in OpenAI's format; with `stream`, as events")
            .takes("ChatCompletionRequest")
            .answers(200, "ChatCompletion"),
        Route::post("/responses", responses::create)
            .needs(Needs::Call)
            .says("Create a response, in the format of OpenAI's Responses API")
            .takes("ResponseRequest")
            .answers(200, "OpenAiResponse"),
    ];
    routes.into_iter().map(|route| route.below(Base::V1)).collect()
}

pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    let own =
        [models::TEMPLATES, question::TEMPLATES, reading::TEMPLATES, responses::TEMPLATES, words::TEMPLATES];
    own.into_iter().flatten().copied()
}

/// Adds what whoever asked should know, in a field of our own, which clients that do not know it pass over.
fn warn(answer: &mut Value, turn: &Turn) {
    let warnings: Vec<&str> = turn.warnings().collect();
    if !warnings.is_empty() {
        answer["warnings"] = json!(warnings);
    }
}
