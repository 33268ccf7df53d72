//! Files for calls, read from the store and never over the network; and who may see one.

use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;

use haft_core::artifact::{self, Artifact, ArtifactBytes, ArtifactRef, Artifacts, PATH, SIGNATURE};
use haft_core::id::ArtifactId;
use haft_core::{BoxFuture, CallError, SpaceId, UserId};
use haft_store::{LinkTarget, Store};
use jiff::Timestamp;
use url::{Host, Url};

/// The store's files.
pub struct StoredArtifacts {
    store: Store,
    /// Where people reach this server, when that is set.
    public_url: Option<Url>,
    /// Where it listens, once it does.
    listening: OnceLock<SocketAddr>,
}

impl StoredArtifacts {
    pub fn new(store: Store, public_url: Option<Url>) -> Self {
        Self { store, public_url, listening: OnceLock::new() }
    }

    /// Addresses of files under this one are ours too from now on.
    pub fn listens_at(&self, address: SocketAddr) {
        // A server listens once; a second address would be another server's.
        let _ = self.listening.set(address);
    }

    /// What stands behind `/api/artifacts/` in a URL of ours.
    fn own_path<'a>(&self, url: &'a Url) -> Option<&'a str> {
        if let Some(public) = &self.public_url
            && public.origin() == url.origin()
            && let Some(path) = url.path().strip_prefix(public.path().trim_end_matches('/'))
        {
            return path.strip_prefix(PATH);
        }
        let listening = self.listening.get()?;
        let is_here = url.scheme() == "http"
            && url.port_or_known_default() == Some(listening.port())
            && is_at(url.host()?, listening.ip());
        url.path().strip_prefix(PATH).filter(|_| is_here)
    }

    async fn read_for(
        &self,
        who: Option<(SpaceId, UserId)>,
        wanted: &ArtifactRef,
        most: u64,
    ) -> Result<ArtifactBytes, CallError> {
        let found = find(&self.store, who, &wanted.id, wanted.signature.as_deref()).await?;
        let file = found.ok_or_else(|| artifact::not_found(&wanted.id))?;
        if file.size > most {
            return Err(artifact::too_much(&file, most));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(file.size).unwrap_or_default());
        let mut piece = 0;
        while (bytes.len() as u64) < file.size {
            bytes.extend(self.store.read_artifact(file.space_id, file.id, piece).await?);
            piece += 1;
        }
        Ok(ArtifactBytes { name: file.name, media_type: file.media_type, bytes: bytes.into() })
    }
}

impl Artifacts for StoredArtifacts {
    fn of_url(&self, url: &str) -> Option<ArtifactRef> {
        let url = Url::parse(url).ok()?;
        let id = self.own_path(&url)?.to_owned();
        let signature = url.query_pairs().find(|(name, _)| name == SIGNATURE);
        let signature = signature.map(|(_, value)| value.into_owned());
        (!id.contains('/')).then_some(ArtifactRef { id, signature })
    }

    fn read<'a>(
        &'a self,
        space: SpaceId,
        user: Option<UserId>,
        artifact: &'a ArtifactRef,
        most: u64,
    ) -> BoxFuture<'a, Result<ArtifactBytes, CallError>> {
        Box::pin(self.read_for(user.map(|user| (space, user)), artifact, most))
    }
}

/// A file as somebody may see it: its owner, or whoever has a link that still holds.
pub(crate) async fn find(
    store: &Store,
    who: Option<(SpaceId, UserId)>,
    id: &str,
    signature: Option<&str>,
) -> Result<Option<Artifact>, CallError> {
    let Ok(id) = id.parse::<ArtifactId>() else { return Ok(None) };
    if let Some((space, user)) = who
        && let Some(own) = store.get_artifact(space, user, id).await?
    {
        return Ok(Some(own));
    }
    // Looked at before the file is: a signature that is wrong tells nothing of what there is.
    let to = LinkTarget::Artifact(id);
    match signature.and_then(|signature| store.signed(to, signature, Timestamp::now())) {
        Some(signed) => store.get_linked_artifact(signed.space, id).await,
        None => Ok(None),
    }
}

/// Whether a host is the one that listens, by its address or by a name of this machine for itself.
fn is_at(host: Host<&str>, listening: IpAddr) -> bool {
    let is_local = listening.is_loopback() || listening.is_unspecified();
    let address = match host {
        Host::Domain(name) => return is_local && name.eq_ignore_ascii_case("localhost"),
        Host::Ipv4(address) => IpAddr::from(address),
        Host::Ipv6(address) => IpAddr::from(address),
    };
    address == listening || (is_local && address.is_loopback())
}

#[cfg(test)]
mod tests {
    use haft_store::{Database, Key, MasterKeys};

    use super::*;

    async fn source(public_url: Option<&str>) -> StoredArtifacts {
        let keys = MasterKeys::new(Key::generate().expect("a key"), Vec::new());
        let store = Store::open(&Database::Memory, keys).await.expect("a store");
        StoredArtifacts::new(store, public_url.map(|url| Url::parse(url).expect("a URL")))
    }

    #[tokio::test]
    async fn addresses_of_ours_are_known_and_no_others() {
        let public = source(Some("https://haft.example.com/tools/")).await;
        let here = source(None).await;
        here.listens_at("127.0.0.1:7420".parse().expect("an address"));
        let outside = source(None).await;
        outside.listens_at("192.0.2.7:80".parse().expect("an address"));
        for (source, url, id) in [
            (&public, "https://haft.example.com/tools/api/artifacts/x1", Some("x1")),
            (&public, "https://haft.example.com:443/tools/api/artifacts/x1?sig=s#f", Some("x1")),
            (&public, "https://haft.example.com/api/artifacts/x1", None),
            (&public, "http://haft.example.com/tools/api/artifacts/x1", None),
            (&public, "https://haft.example.com.evil.example/tools/api/artifacts/x1", None),
            (&public, "https://haft.example.com/tools/api/artifacts/x1/link", None),
            (&public, "https://haft.example.com/tools/api/tools/x1", None),
            (&here, "http://127.0.0.1:7420/api/artifacts/x1", Some("x1")),
            (&here, "http://localhost:7420/api/artifacts/x1", Some("x1")),
            (&here, "http://[::1]:7420/api/artifacts/x1", Some("x1")),
            (&here, "http://127.0.0.1:7421/api/artifacts/x1", None),
            (&here, "https://127.0.0.1:7420/api/artifacts/x1", None),
            (&here, "http://192.0.2.7:7420/api/artifacts/x1", None),
            (&outside, "http://192.0.2.7/api/artifacts/x1", Some("x1")),
            (&outside, "http://localhost/api/artifacts/x1", None),
            (&outside, "nonsense", None),
        ] {
            let found = source.of_url(url).map(|found| found.id);
            assert_eq!(found.as_deref(), id, "{url}");
        }
        let signed = public.of_url("https://haft.example.com/tools/api/artifacts/x1?sig=a%2Bb");
        assert_eq!(signed.and_then(|found| found.signature).as_deref(), Some("a+b"));
    }
}
