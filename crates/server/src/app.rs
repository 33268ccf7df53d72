//! The application: what handlers share, and the router readable as an index.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use haft_core::{SpaceId, UserId};
use haft_egress::Egress;
use haft_engine::ToolService;
use secrecy::SecretString;
use uuid::Uuid;

use crate::{auth, error, request, routes};

/// What a server is made with.
#[derive(Clone)]
pub struct Settings {
    /// Whoever carries it is the admin.
    pub token: SecretString,
    /// The way out, for documents that are imported from a URL.
    pub egress: Egress,
    /// Where secrets go that an import found.
    pub secrets: Arc<dyn SecretKeeper>,
}

/// Keeps secrets for the tools of a space.
pub trait SecretKeeper: Send + Sync {
    /// The value that a space's secret has now.
    fn find(&self, space: SpaceId, name: &str) -> Option<SecretString>;

    fn keep(&self, space: SpaceId, name: &str, value: SecretString);
}

/// What handlers share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) tools: ToolService,
    pub(crate) settings: std::sync::Arc<Settings>,
    /// The one space and the one user there are until a store keeps more.
    pub(crate) space: SpaceId,
    pub(crate) user: UserId,
}

/// All routes, over an engine.
pub fn router(tools: ToolService, settings: Settings) -> Router {
    let only = Uuid::nil();
    let state = AppState { tools, settings: settings.into(), space: only.into(), user: only.into() };
    let api = Router::new()
        .route("/tools", get(routes::tools::list).post(routes::tools::create))
        .route(
            "/tools/{id}",
            get(routes::tools::read).put(routes::tools::replace).delete(routes::tools::remove),
        )
        .route("/tools/import/openapi", post(routes::import::openapi))
        .route("/tools/import/curl", post(routes::import::curl))
        .route("/tools/import/postman", post(routes::import::postman))
        .route("/tools/import/har", post(routes::import::har))
        .route("/tools/schema-preview", post(routes::schema_preview::schema_preview))
        .route("/tools/{id}/execute", post(routes::execute::execute))
        .method_not_allowed_fallback(error::method_not_allowed)
        .fallback(error::no_such_route)
        .layer(from_fn_with_state(state.clone(), auth::require_token));
    Router::new()
        .nest("/api", api)
        .route("/healthz", get(routes::health::healthz))
        .method_not_allowed_fallback(error::method_not_allowed)
        .fallback(error::no_such_route)
        .layer(axum::middleware::from_fn(request::give_id))
        .with_state(state)
}
