//! Counts of answers, by route and class of status: one addition for each, on the way of every request.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::text::{Labels, Quoted, counter};

const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// The answers of one route.
#[derive(Debug)]
pub(crate) struct Answers {
    method: String,
    path: String,
    by_class: [AtomicU64; CLASSES.len()],
}

impl Answers {
    pub(crate) fn count(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(counter) = self.by_class.get(class) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Those there were, with the class of each.
    fn counted(&self) -> impl Iterator<Item = (Labels<'_, 3>, u64)> {
        let counts = CLASSES.into_iter().zip(&self.by_class);
        let counts = counts.map(|(class, count)| (class, count.load(Ordering::Relaxed)));
        counts.filter(|(_, count)| *count > 0).map(move |(class, count)| {
            let labels = [("method", &*self.method), ("route", &*self.path), ("status", class)];
            (labels.map(|(name, value)| (name, Quoted(value))), count)
        })
    }
}

/// All routes.
#[derive(Default)]
pub(super) struct Routes(Mutex<Vec<Arc<Answers>>>);

impl Routes {
    /// The counter of a route; the same one whenever it is asked for.
    pub(super) fn answers(&self, method: &str, path: &str) -> Arc<Answers> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answers) = known.iter().find(|answers| answers.method == method && answers.path == path) {
            return answers.clone();
        }
        let (method, path) = (method.to_owned(), path.to_owned());
        let new = Arc::new(Answers { method, path, by_class: Default::default() });
        known.push(new.clone());
        new
    }

    pub(super) fn now(&self) -> AllAnswers {
        AllAnswers(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

#[derive(Debug)]
pub(super) struct AllAnswers(Vec<Arc<Answers>>);

impl Collector for AllAnswers {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let answers = self.0.iter().flat_map(|answers| answers.counted());
        let help = "Responses to requests, by class of status.";
        counter(&mut encoder, "haft_http_requests", help, answers)
    }
}
