//! How much of a conversation an Ollama is to read: it is told with every question, and the question is made to fit
//! the same number. Ollama is asked what each of its models was made for, once in a while.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use haft_egress::Limits;
use haft_llm::{ContextWindow, OLLAMA_WINDOW, Wire};
use tokio::time::Instant;

use super::windows;

/// It sets memory aside for the whole window, so it is not asked for all that a model could have.
pub(super) const LARGEST_WINDOW: u32 = 32_768;

/// Nobody waits longer for it, and what it tells is no larger.
const PATIENCE: Duration = Duration::from_secs(3);
const LARGEST: usize = 4 << 20;

/// What it told stays so for a while; where it told nothing, it is asked again soon.
const TOLD_FOR: Duration = Duration::from_secs(300);
const MISSED_FOR: Duration = Duration::from_secs(10);

/// So many models are kept in mind at most.
const MOST: usize = 1_000;

/// The windows of one provider's models.
#[derive(Default)]
pub(super) struct Windows {
    known: Mutex<HashMap<String, (Instant, u32)>>,
}

impl Windows {
    /// The window that a model is run with.
    pub(super) async fn of(&self, wire: &Wire, model: &str) -> u32 {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(model).copied();
        if let Some((until, window)) = known
            && Instant::now() < until
        {
            return window;
        }
        let limits = Limits { deadline: Some(Instant::now() + PATIENCE), bytes: LARGEST };
        let told = wire.window(model, limits).await;
        let kept_for = if told.is_ok() { TOLD_FOR } else { MISSED_FOR };
        let window = fitting(model, told.ok().flatten().unwrap_or_default());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(model.to_owned(), (Instant::now() + kept_for, window));
        window
    }
}

/// What somebody set for the model, or as much of what it was made for as memory may be taken for. A model that
/// nothing is told of is taken for one of its family.
fn fitting(model: &str, told: ContextWindow) -> u32 {
    let made_for = told.most.or_else(|| windows::window(model));
    let most = made_for.unwrap_or(OLLAMA_WINDOW).min(LARGEST_WINDOW);
    // Beyond what it was made for it is cut back in silence.
    told.set.map_or(most, |set| told.most.map_or(set, |most| set.min(most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_what_was_set_or_what_the_model_was_made_for_within_reason() {
        for (model, most, set, expected) in [
            ("phi4", None, None, OLLAMA_WINDOW),
            ("phi4", Some(16_384), None, 16_384),
            ("phi4", Some(131_072), None, LARGEST_WINDOW),
            ("phi4", Some(131_072), Some(65_536), 65_536),
            ("phi4", Some(4_096), Some(65_536), 4_096),
            ("phi4", None, Some(65_536), 65_536),
            ("orca-mini", Some(2_048), None, 2_048),
            ("llama3:8b", None, None, 8_192),
            ("llama3.2:latest", None, None, LARGEST_WINDOW),
        ] {
            assert_eq!(fitting(model, ContextWindow { most, set }), expected, "{model} {most:?} {set:?}");
        }
    }
}
