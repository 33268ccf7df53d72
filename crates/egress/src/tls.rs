//! Trusted TLS certificates: those of the system, or the bundled ones if the system has none.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// Certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("no certificates in PEM form: {0}")]
pub struct BadRoots(String);

/// Additional root certificates.
#[derive(Default)]
pub(crate) struct Trust(Vec<CertificateDer<'static>>);

impl Trust {
    pub(crate) fn parse(pem: &[u8]) -> Result<Self, BadRoots> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let found = found.map_err(|error| BadRoots(error.to_string()))?;
        let mut check = RootCertStore::empty();
        for certificate in &found {
            check.add(certificate.clone()).map_err(|error| BadRoots(error.to_string()))?;
        }
        if found.is_empty() { Err(BadRoots("none found".to_owned())) } else { Ok(Self(found)) }
    }

    /// Loads the system's certificates. Called once, for the first connection.
    pub(crate) fn config(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        roots.add_parsable_certificates(self.0.iter().cloned());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        #[expect(clippy::expect_used, reason = "the provider has the protocol versions it was built with")]
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("TLS 1.2 and 1.3");
        config.with_root_certificates(roots).with_no_client_auth()
    }
}
