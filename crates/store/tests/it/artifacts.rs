//! Artifacts: content, ownership, quotas, and deletion of unreachable ones.

use std::time::Duration;

use futures_util::future::join_all;
use haft_core::artifact::{Artifact, LARGEST, NewArtifact};
use haft_core::id::ArtifactId;
use haft_core::space::Role;
use haft_core::{CallError, ErrorKind, Locale, RunId, SpaceId, UserId};
use haft_store::{Database, Force, LinkTarget, Page, SignedLink, Store, Upload};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::support::{KEY, all, both, keys, kind, user};

const NEW_KEY: &str = "0202020202020202020202020202020202020202020202020202020202020202";
const QUOTA: u64 = 64 << 20;
const CHUNK_SIZE: usize = 256 << 10;

async fn begin(store: &Store, space: SpaceId, owner: UserId, quota: u64) -> Result<Upload, CallError> {
    let file = NewArtifact::new("notes.txt", "text/plain").expect("a name");
    store.begin_artifact(space, owner, &file, quota).await
}

/// Uploads a file in parts.
async fn upload_file(store: &Store, space: SpaceId, owner: UserId, parts: &[&[u8]]) -> Artifact {
    let mut upload = begin(store, space, owner, QUOTA).await.expect("an upload");
    for part in parts {
        upload.write(part).await.expect("written");
    }
    upload.finish().await.expect("stored")
}

async fn read(store: &Store, artifact: &Artifact) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in 0.. {
        if bytes.len() as u64 >= artifact.size {
            break;
        }
        let read = store.read_artifact(artifact.space_id, artifact.id, chunk).await;
        bytes.extend(read.expect("a chunk"));
    }
    bytes
}

/// Bytes that differ from position to position.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 % 251) as u8).collect()
}

async fn listed(store: &Store, space: SpaceId, owner: UserId) -> Vec<ArtifactId> {
    let (artifacts, _) = store.list_artifacts(space, owner, &all()).await.expect("a list");
    artifacts.into_iter().map(|artifact| artifact.id).collect()
}

#[tokio::test]
async fn content_round_trips() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        for length in [0, 1, CHUNK_SIZE - 1, CHUNK_SIZE, CHUNK_SIZE + 1, 3 * CHUNK_SIZE, 3 * CHUNK_SIZE + 7] {
            let whole = bytes(length);
            let (start, end) = whole.split_at(length / 3);
            let kept = upload_file(&store, home.id, ada.id, &[start, b"", end]).await;
            let hash: [u8; 32] = Sha256::digest(&whole).into();
            assert_eq!((kept.size, kept.sha256), (length as u64, hash), "{length}");
            let found = store.get_artifact(home.id, ada.id, kept.id).await.expect("a result");
            assert_eq!(found.as_ref(), Some(&kept), "{length}");
            assert!(read(&store, &kept).await == whole, "{length} bytes are others");
        }
        let first = listed(&store, home.id, ada.id).await;
        assert!(first.len() == 7 && first.is_sorted_by(|a, b| a > b), "the newest first: {first:?}");
        let mut paged = Vec::new();
        let mut page = Page::first(3);
        loop {
            let (artifacts, next) = store.list_artifacts(home.id, ada.id, &page).await.expect("a page");
            paged.extend(artifacts.into_iter().map(|artifact| artifact.id));
            match next {
                Some(_) => page.cursor = next,
                None => break,
            }
        }
        assert_eq!(paged, first);
    })
    .await;
}

#[tokio::test]
async fn artifacts_are_visible_to_their_owner_only() {
    both(async |db| {
        let store = db.open().await;
        let ((ada, home), (bob, away)) = (user(&store, "ada").await, user(&store, "bob").await);
        let team = store.create_space("team", ada.id).await.expect("a space").id;
        store.put_member(team, bob.id, Role::Admin).await.expect("a member");
        let kept = upload_file(&store, team, ada.id, &[b"mine"]).await;
        for (space, owner) in [(team, bob.id), (home.id, ada.id), (away.id, bob.id)] {
            assert_eq!(store.get_artifact(space, owner, kept.id).await.expect("a result"), None);
            assert!(listed(&store, space, owner).await.is_empty());
            let refused = store.delete_artifact(space, owner, kept.id).await;
            assert_eq!(kind(refused), ErrorKind::NotFound);
        }
        assert_eq!(kind(store.read_artifact(home.id, kept.id, 0).await), ErrorKind::NotFound);
        assert_eq!(store.get_linked_artifact(home.id, kept.id).await.expect("a result"), None);
        assert_eq!(read(&store, &kept).await, b"mine");

        store.delete_artifact(team, ada.id, kept.id).await.expect("deleted");
        assert_eq!(kind(store.delete_artifact(team, ada.id, kept.id).await), ErrorKind::NotFound);
        assert_eq!(kind(store.read_artifact(team, kept.id, 0).await), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test]
async fn unfinished_uploads_are_invisible_and_expire() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        let mut upload = begin(&store, home.id, ada.id, QUOTA).await.expect("an upload");
        upload.write(&bytes(CHUNK_SIZE + 1)).await.expect("written");
        assert!(listed(&store, home.id, ada.id).await.is_empty());
        upload.abandon().await;

        // An abandoned upload is deleted by the hourly cleanup, and not before.
        let mut left = begin(&store, home.id, ada.id, QUOTA).await.expect("an upload");
        left.write(&bytes(CHUNK_SIZE)).await.expect("written");
        assert_eq!(store.delete_expired().await.expect("a count"), 0);
        db.raw("UPDATE artifacts SET created_at = 0").await;
        assert_eq!(store.delete_expired().await.expect("a count"), 1);
        let late = left.write(&bytes(CHUNK_SIZE)).await;
        assert_eq!(kind(late), ErrorKind::Conflict, "the upload has expired");
        left.abandon().await;

        // The whole quota is free again.
        let room = begin(&store, home.id, ada.id, 4096).await;
        assert!(room.is_ok(), "{:?}", room.err());
    })
    .await;
}

#[tokio::test]
async fn quotas_are_enforced_and_deletion_frees_space() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        let quota = 3 * CHUNK_SIZE as u64 + 2 * 4096;
        let mut one = begin(&store, home.id, ada.id, quota).await.expect("an upload");
        let mut other = begin(&store, home.id, ada.id, quota).await.expect("an upload");
        let third = begin(&store, home.id, ada.id, 2 * 4096).await.err().expect("no room at all");
        assert_eq!(third.kind(), ErrorKind::Conflict);
        assert!(third.message().render(Locale::En).contains("8192 bytes"), "{third}");
        // Together they exceed the quota, whichever writes first.
        one.write(&bytes(2 * CHUNK_SIZE)).await.expect("written");
        other.write(&bytes(CHUNK_SIZE)).await.expect("written");
        assert_eq!(kind(other.write(&bytes(CHUNK_SIZE)).await), ErrorKind::Conflict);
        other.abandon().await;
        one.write(&bytes(CHUNK_SIZE)).await.expect("there is room again");
        let kept = one.finish().await.expect("stored");
        store.delete_artifact(home.id, ada.id, kept.id).await.expect("deleted");

        let mut large = begin(&store, home.id, ada.id, QUOTA).await.expect("an upload");
        let megabyte = bytes(1 << 20);
        for _ in 0..(LARGEST >> 20) {
            large.write(&megabyte).await.expect("written");
        }
        assert_eq!(large.room(), 0);
        assert_eq!(kind(large.write(b"x").await), ErrorKind::Validation);
        large.abandon().await;
        assert!(listed(&store, home.id, ada.id).await.is_empty());
    })
    .await;
}

/// Returns true if the usage of a user is exactly this number of bytes.
async fn usage_is(store: &Store, space: SpaceId, owner: UserId, bytes: u64) -> bool {
    let too_little = begin(store, space, owner, bytes + 4095).await;
    let enough = begin(store, space, owner, bytes + 4096).await;
    let is_exact = too_little.is_err() && enough.is_ok();
    for upload in [too_little, enough].into_iter().flatten() {
        upload.abandon().await;
    }
    is_exact
}

#[tokio::test]
async fn the_owner_quota_spans_all_spaces() {
    both(async |db| {
        let store = db.open().await;
        let ((ada, home), (bob, _)) = (user(&store, "ada").await, user(&store, "bob").await);
        let team = store.create_space("team", ada.id).await.expect("a space").id;
        store.put_member(team, bob.id, Role::Caller).await.expect("a member");
        let kept = upload_file(&store, home.id, ada.id, &[&bytes(CHUNK_SIZE)]).await;
        let quota = CHUNK_SIZE as u64 + 2 * 4096;
        let mut second = begin(&store, team, ada.id, quota).await.expect("room for an empty one");
        second.write(b"x").await.expect("it waits");
        let full = second.finish().await.expect_err("one byte too much");
        assert_eq!(full.kind(), ErrorKind::Conflict);
        assert!(full.message().render(Locale::En).contains("in all spaces"), "{full}");
        second.abandon().await;
        // Files of a user in other spaces do not count against other users.
        let mut bobs = begin(&store, team, bob.id, quota).await.expect("an upload");
        bobs.write(&bytes(CHUNK_SIZE)).await.expect("written");
        bobs.abandon().await;

        let there = upload_file(&store, team, ada.id, &[&bytes(CHUNK_SIZE)]).await;
        let both_of_them = kept.size + there.size + 2 * 4096;
        assert!(usage_is(&store, home.id, ada.id, both_of_them).await);
        store.delete_artifact(home.id, ada.id, kept.id).await.expect("deleted");
        assert!(usage_is(&store, home.id, ada.id, there.size + 4096).await);
        store.delete_space(team, Force::Yes).await.expect("deleted");
        assert!(usage_is(&store, home.id, ada.id, 0).await, "usage of a deleted space is removed");
    })
    .await;
}

/// Uploads a file of one chunk. Returns `None` if it exceeds the quota.
async fn upload_chunk(store: &Store, space: SpaceId, owner: UserId, quota: u64) -> Option<Artifact> {
    let mut upload = begin(store, space, owner, quota).await.ok()?;
    if upload.write(&bytes(CHUNK_SIZE)).await.is_err() {
        upload.abandon().await;
        return None;
    }
    Some(upload.finish().await.expect("all of it is there"))
}

#[tokio::test]
async fn usage_is_exact_with_concurrent_uploads() {
    both(async |db| {
        let store = db.open().await;
        let another = db.another(&store).await;
        let (ada, home) = user(&store, "ada").await;
        let quota = 3 * (CHUNK_SIZE as u64 + 4096);
        let mut spaces = Vec::new();
        for number in 0..8 {
            spaces.push(store.create_space(&format!("space {number}"), ada.id).await.expect("a space").id);
        }
        let (first, second) = spaces.split_at(4);
        let here = join_all(first.iter().map(|space| upload_chunk(&store, *space, ada.id, quota)));
        let there = join_all(second.iter().map(|space| upload_chunk(&another, *space, ada.id, quota)));
        let (here, there) = tokio::join!(here, there);
        let kept: u64 = here.into_iter().chain(there).flatten().map(|file| file.size + 4096).sum();
        assert!((1..=quota).contains(&kept), "{kept}");
        assert!(usage_is(&store, home.id, ada.id, kept).await, "{kept}");

        // Deleting a space also deletes an upload that is in progress.
        let doomed = store.create_space("doomed", ada.id).await.expect("a space").id;
        let mut upload = begin(&another, doomed, ada.id, QUOTA).await.expect("an upload");
        let chunk = bytes(CHUNK_SIZE);
        let sending = async {
            while upload.write(&chunk).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        let (gone, ()) = tokio::join!(store.delete_space(doomed, Force::Yes), sending);
        gone.expect("deleted");
        assert!(usage_is(&store, home.id, ada.id, kept).await, "{kept}");
    })
    .await;
}

#[tokio::test]
async fn artifacts_are_deleted_with_membership_or_space() {
    both(async |db| {
        let store = db.open().await;
        let ((ada, _), (bob, _)) = (user(&store, "ada").await, user(&store, "bob").await);
        let team = store.create_space("team", ada.id).await.expect("a space").id;
        store.put_member(team, bob.id, Role::Caller).await.expect("a member");
        let (adas, bobs) = (
            upload_file(&store, team, ada.id, &[b"a"]).await,
            upload_file(&store, team, bob.id, &[b"b"]).await,
        );
        assert!(store.get_linked_artifact(team, bobs.id).await.expect("a result").is_some());
        store.set_user_rights(bob.id, false, false).await.expect("deactivated");
        assert_eq!(store.get_linked_artifact(team, bobs.id).await.expect("a result"), None);
        store.set_user_rights(bob.id, true, false).await.expect("activated");
        assert_eq!(store.delete_expired().await.expect("a count"), 0);
        store.remove_member(team, bob.id).await.expect("removed");
        assert_eq!(store.get_linked_artifact(team, bobs.id).await.expect("a result"), None);
        assert_eq!(store.delete_expired().await.expect("a count"), 1);
        assert_eq!(listed(&store, team, ada.id).await, [adas.id]);

        assert_eq!(kind(store.delete_space(team, Force::No).await), ErrorKind::Conflict, "a file is in it");
        store.delete_space(team, Force::Yes).await.expect("deleted");
        assert_eq!(kind(store.read_artifact(team, adas.id, 0).await), ErrorKind::NotFound);
        let nowhere = begin(&store, team, ada.id, QUOTA).await.err().expect("no space");
        assert_eq!(nowhere.kind(), ErrorKind::NotFound);
    })
    .await;
}

fn to(id: ArtifactId) -> LinkTarget {
    LinkTarget::Artifact(id)
}

fn anonymous_link(space: SpaceId, until: Timestamp) -> SignedLink {
    SignedLink { space, by: None, until, number: 0 }
}

fn space(store: &Store, to: LinkTarget, signature: &str, now: Timestamp) -> Option<SpaceId> {
    store.signed(to, signature, now).map(|signed| signed.space)
}

#[tokio::test]
async fn links_are_valid_for_one_artifact_until_they_expire() {
    both(async |db| {
        let store = db.open().await;
        let ((_, home), (_, away)) = (user(&store, "ada").await, user(&store, "bob").await);
        let id = ArtifactId::from(uuid::Uuid::now_v7());
        let now = Timestamp::now();
        let later = |seconds: u64| now.saturating_add(Duration::from_secs(seconds)).expect("an instant");
        let signature = store.sign(to(id), anonymous_link(home.id, later(3600))).expect("signed");
        assert_eq!(space(&store, to(id), &signature, now), Some(home.id));
        assert_eq!(space(&store, to(id), &signature, later(3598)), Some(home.id));
        assert_eq!(space(&store, to(id), &signature, later(3600)), None, "expired");
        let another = ArtifactId::from(uuid::Uuid::now_v7());
        assert_eq!(space(&store, to(another), &signature, now), None, "another file's");
        let elsewhere = store.sign(to(id), anonymous_link(away.id, later(3600))).expect("signed");
        assert_eq!(space(&store, to(id), &elsewhere, now), Some(away.id), "each names its own space");

        for at in 0..signature.len() {
            let mut changed = signature.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("text");
            assert_eq!(space(&store, to(id), &changed, now), None, "character {at}");
        }
        let run = RunId::from(uuid::Uuid::from(id));
        for other in [LinkTarget::Callback(run), LinkTarget::Approval(run)] {
            assert_eq!(space(&store, other, &signature, now), None, "for something else of the same id");
        }
        for odd in ["", "A", "!", &signature[..signature.len() - 1], &format!("{signature}A")] {
            assert_eq!(space(&store, to(id), odd, now), None, "{odd}");
        }
    })
    .await;
}

#[tokio::test]
async fn links_stay_valid_while_their_key_is_available() {
    both(async |db| {
        let id = ArtifactId::from(uuid::Uuid::now_v7());
        let now = Timestamp::now();
        let until = now.saturating_add(Duration::from_secs(60)).expect("an instant");
        let store = db.open_with(keys(&[KEY])).await;
        let (_, home) = user(&store, "ada").await;
        let signature = store.sign(to(id), anonymous_link(home.id, until)).expect("signed");
        for (known, expected) in
            [(vec![NEW_KEY, KEY], Some(home.id)), (vec![KEY], Some(home.id)), (vec![NEW_KEY], None)]
        {
            let store = Store::open(&Database::Memory, keys(&known)).await.expect("a store");
            assert_eq!(space(&store, to(id), &signature, now), expected, "{known:?}");
        }
    })
    .await;
}
