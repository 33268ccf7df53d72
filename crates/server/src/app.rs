//! The application: what handlers share, and all routes as an index.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::handler::Handler;
use axum::http::{Extensions, HeaderMap, header};
use axum::routing::{any, get};
use haft_core::SpaceId;
use haft_core::user::User;
use haft_egress::{Egress, Networks};
use haft_engine::ToolService;
use haft_store::{CallLog, Store};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::api::{self, Base, Needs, Route};
use crate::door::Door;
use crate::events::Listeners;
use crate::login_throttle::LoginThrottle;
use crate::metrics::Metrics;
use crate::models::StoredModels;
use crate::routes::import::ImportGate;
use crate::stored_secrets::StoredSecrets;
use crate::tasks::Tasks;
use crate::visitors::{Visitor, Visitors};
use crate::{alerts, auth, clearing, console, error, feed, routes};

/// What an operator may set.
#[derive(Default)]
pub struct Settings {
    /// Where people reach this server, when that is not where it listens.
    pub public_url: Option<Url>,
    /// Proxies whose word on where a request comes from is taken.
    pub trusted_proxies: Networks,
    /// Other sites whose pages may use the API, as `https://console.example.com`.
    pub allowed_origins: Vec<String>,
    /// How often alerts are looked at, when that is not every five seconds.
    pub alert_interval: Option<Duration>,
    /// The bytes that all files of one space may count for, and all files of one user; 1 GiB when absent.
    pub artifact_quota: Option<u64>,
}

impl Settings {
    pub fn artifact_quota(&self) -> u64 {
        self.artifact_quota.unwrap_or(1 << 30)
    }
}

/// A server, put together: what it calls, keeps and may reach. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Shared>);

/// What handlers share. Secrets, models and metrics are in the hands of others too.
pub struct Shared {
    pub(crate) tools: ToolService,
    pub(crate) store: Store,
    pub(crate) log: CallLog,
    pub(crate) secrets: Arc<StoredSecrets>,
    pub(crate) models: Arc<StoredModels>,
    /// Not there where nobody would carry them out: in a command.
    pub(crate) tasks: OnceLock<Tasks>,
    pub(crate) egress: Egress,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) settings: Settings,
    pub(crate) visitors: Visitors,
    pub(crate) login_throttle: LoginThrottle,
    pub(crate) listeners: Listeners,
    pub(crate) imports: ImportGate,
}

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

pub(crate) type AppState = App;

impl App {
    /// `metrics` are shown, and counted into; calls are counted by whoever keeps their records.
    pub fn new(
        tools: ToolService,
        (store, log): (Store, CallLog),
        secrets: Arc<StoredSecrets>,
        models: Arc<StoredModels>,
        egress: Egress,
        metrics: Arc<Metrics>,
        settings: Settings,
    ) -> Self {
        let listeners = Listeners::default();
        Self(Arc::new(Shared {
            imports: ImportGate::new(listeners.stopping()),
            visitors: Visitors::new(store.clone()),
            login_throttle: LoginThrottle::default(),
            listeners,
            tools,
            store,
            log,
            tasks: OnceLock::new(),
            secrets,
            models,
            egress,
            metrics,
            settings,
        }))
    }

    /// The same, with somebody who carries out tasks.
    #[must_use]
    pub fn with_tasks(self, tasks: Tasks) -> Self {
        // Only the first are: nobody gives two.
        let _ = self.0.tasks.set(tasks);
        self
    }

    /// A token for this process itself, which is kept nowhere: it acts for a user who runs the installation.
    pub fn let_in(&self, user: User, space: SpaceId) -> SecretString {
        self.visitors.let_in(user, space)
    }

    /// The store in the hands of who asks: what is changed through it is on record as theirs.
    pub(crate) fn store_for(&self, visitor: &Visitor) -> Store {
        self.store.acting_for(Some(visitor.user.id))
    }

    /// All routes.
    pub fn router(&self) -> Router {
        let door =
            |base, needs, method, path| Door::new(self, base, needs, self.metrics.answers(method, path));
        let below = |base: Base| {
            // Who is not known does not learn what there is.
            let stranger = || door(base, Needs::Identity, "(any)", "(none)");
            let nothing = || any(error::no_such_route).layer(stranger());
            let path = base.path();
            let table = routes().into_iter().filter(|route| route.base == base).collect();
            api::router(table, self)
                .method_not_allowed_fallback(error::method_not_allowed.layer(stranger()))
                .route(path, nothing())
                .route(&format!("{path}/"), nothing())
                .route(&format!("{path}/{{*rest}}"), nothing())
        };
        let metrics = door(Base::Api, Needs::OperatorRead, "GET", "/metrics");
        let metrics = get(routes::metrics::metrics).layer(metrics);
        let open = Router::new()
            .route("/healthz", get(routes::health::healthz))
            .route("/readyz", get(routes::health::readyz))
            .method_not_allowed_fallback(error::method_not_allowed)
            .fallback(console::console)
            .layer(Door::open(self));
        let metrics = Router::new()
            .route("/metrics", metrics)
            .method_not_allowed_fallback(error::method_not_allowed.layer(Door::open(self)));
        open.merge(below(Base::Api)).merge(below(Base::V1)).merge(metrics).with_state(self.clone())
    }

    /// Follows changes that others make after a revision, and clears away what has ended, until told to stop.
    /// Whoever serves asks for the revision first: what is read afterwards is at least as new.
    pub async fn follow(self, revision: u64, stop: CancellationToken) {
        let supervisor = self.store.supervisor();
        tokio::join!(
            supervisor.run("change feed", &stop, || feed::follow(&self, revision, &stop)),
            supervisor.run("cleanup", &stop, || clearing::clear(&self.store, self.tasks.get(), &stop)),
            async {
                if !self.store.is_shared() {
                    supervisor.run("database check", &stop, || self.check_files(&stop)).await;
                }
            },
        );
    }

    /// Looks for damaged pages in the files of the embedded databases, once. `GET /readyz` reports them.
    async fn check_files(&self, stop: &CancellationToken) {
        let check = async {
            self.store.check_pages().await;
            self.log.check_pages().await;
        };
        tokio::select! {
            () = check => {}
            () = stop.cancelled() => {}
        }
    }

    /// To be cancelled when the server shall stop: streams of events have no end of their own.
    pub fn stopping(&self) -> CancellationToken {
        self.listeners.stopping()
    }

    /// Watches over the alerts of all spaces, until told to stop.
    pub async fn watch_alerts(self, stop: CancellationToken) {
        let start = || alerts::watch(self.clone(), stop.clone());
        self.store.supervisor().run("alerts", &stop, start).await;
    }

    /// Where a request comes from, past the proxies that the operator trusts.
    pub(crate) fn address_of(&self, headers: &HeaderMap, extensions: &Extensions) -> IpAddr {
        let nobody = IpAddr::from([0, 0, 0, 0]);
        let mut address = auth::connected(extensions).unwrap_or(nobody);
        let forwarded = headers.get_all("x-forwarded-for").into_iter();
        let listed: Vec<&str> =
            forwarded.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).collect();
        // The nearest proxy wrote last; each is believed as long as it is one of ours.
        for written in listed.into_iter().rev() {
            if !self.settings.trusted_proxies.contain(address) {
                break;
            }
            let Ok(next) = written.trim().parse() else { break };
            address = next;
        }
        address
    }

    /// Whether the browser that sends this shows one of our own pages, or it is no browser.
    pub(crate) fn is_own_origin(&self, headers: &HeaderMap) -> bool {
        let Some(origin) = headers.get(header::ORIGIN) else {
            let site = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
            return site.is_none_or(|site| matches!(site, "same-origin" | "none"));
        };
        let Ok(origin) = origin.to_str() else { return false };
        if self.settings.allowed_origins.iter().any(|allowed| allowed == origin) {
            return true;
        }
        if let Some(public) = &self.settings.public_url {
            return public.origin().ascii_serialization() == origin;
        }
        let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
        let written = origin.split_once("://").map(|(_, host)| host);
        host.is_some() && host == written
    }

    /// The address of one of our paths, as whoever asks reaches us.
    pub(crate) fn url_of(&self, headers: &HeaderMap, path: &str) -> String {
        if let Some(public) = &self.settings.public_url {
            return format!("{}{path}", public.as_str().trim_end_matches('/'));
        }
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        match host {
            Some(host) => format!("http://{host}{path}"),
            None => path.to_owned(),
        }
    }

    /// Whether people reach us in a way that nobody can listen to.
    pub(crate) fn is_https(&self) -> bool {
        self.settings.public_url.as_ref().is_some_and(|url| url.scheme() == "https")
    }
}

/// Every route of `/api` and `/v1`.
pub(crate) fn routes() -> Vec<Route> {
    use routes::{
        agents, alerts, approvals, artifacts, audit, callbacks, changes, chat, circuits, conversations, docs,
        events, execute, import, invitations, providers, schema_preview, secrets, session, spaces, stats,
        tasks, tokens, tool_calls, tools, users, v1,
    };
    let tables = [
        tools::routes(),
        import::routes(),
        schema_preview::routes(),
        execute::routes(),
        tasks::routes(),
        approvals::routes(),
        callbacks::routes(),
        chat::routes(),
        conversations::routes(),
        tool_calls::routes(),
        stats::routes(),
        circuits::routes(),
        events::routes(),
        agents::routes(),
        providers::routes(),
        alerts::routes(),
        secrets::routes(),
        artifacts::routes(),
        spaces::routes(),
        invitations::routes(),
        users::routes(),
        tokens::routes(),
        changes::routes(),
        audit::routes(),
        session::routes(),
        docs::routes(),
        v1::routes(),
    ];
    tables.into_iter().flatten().collect()
}
