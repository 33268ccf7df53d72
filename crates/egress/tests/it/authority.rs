//! A certificate authority, and TLS servers with its certificates.

use std::sync::{Arc, Mutex};

use haft_testkit::Upstream;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsAcceptor;

use crate::support::read_head;

/// The validity years of a certificate that is valid now.
pub(crate) const NOW: (i32, i32) = (2000, 2090);

pub(crate) struct Authority {
    /// The certificate of the authority, to be trusted.
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::<String>::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, "An authority for tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// Starts a server with a certificate for a name and years, which responds to each connection with these
    /// bytes.
    pub(crate) async fn serve(&self, name: &str, years: (i32, i32), answer: &str) -> TlsServer {
        let acceptor = self.acceptor(name, years);
        let names = Arc::new(Mutex::new(Vec::new()));
        let (list, answer) = (names.clone(), Arc::new(answer.to_owned()));
        let upstream = Upstream::raw(move |stream| {
            let (acceptor, list, answer) = (acceptor.clone(), list.clone(), answer.clone());
            async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let name = stream.get_ref().1.server_name().map(str::to_owned);
                list.lock().expect("not poisoned").push(name);
                read_head(&mut stream).await;
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        })
        .await;
        TlsServer { upstream, names }
    }

    fn acceptor(&self, name: &str, (first, last): (i32, i32)) -> TlsAcceptor {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = date_time_ymd(first, 1, 1);
        params.not_after = date_time_ymd(last, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("TLS 1.2 and 1.3")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key.into())
            .expect("a certificate and its key");
        TlsAcceptor::from(Arc::new(config))
    }
}

pub(crate) struct TlsServer {
    upstream: Upstream,
    names: Arc<Mutex<Vec<Option<String>>>>,
}

impl TlsServer {
    pub(crate) fn port(&self) -> u16 {
        self.upstream.address.port()
    }

    /// The requested name of each connection from a client that trusted the server.
    pub(crate) fn names(&self) -> Vec<Option<String>> {
        self.names.lock().expect("not poisoned").clone()
    }

    /// The number of connections, trusting or not.
    pub(crate) fn connections(&self) -> usize {
        self.upstream.connections()
    }
}
