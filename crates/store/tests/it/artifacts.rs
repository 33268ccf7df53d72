//! Files: back as they came, for their owner alone, within their limits, and gone when nobody can reach them.

use std::time::Duration;

use futures_util::future::join_all;
use haft_core::artifact::{Artifact, LARGEST, NewArtifact};
use haft_core::id::ArtifactId;
use haft_core::space::Role;
use haft_core::{CallError, ErrorKind, Locale, RunId, SpaceId, UserId};
use haft_store::{Database, Force, Linked, Page, Signed, Store, Upload};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::support::{KEY, all, both, keys, kind, user};

const NEW_KEY: &str = "0202020202020202020202020202020202020202020202020202020202020202";
const QUOTA: u64 = 64 << 20;
const PIECE: usize = 256 << 10;

async fn begin(store: &Store, space: SpaceId, owner: UserId, quota: u64) -> Result<Upload, CallError> {
    let file = NewArtifact::new("notes.txt", "text/plain").expect("a name");
    store.begin_artifact(space, owner, &file, quota).await
}

/// Keeps a file, whose bytes come in portions.
async fn keep(store: &Store, space: SpaceId, owner: UserId, portions: &[&[u8]]) -> Artifact {
    let mut upload = begin(store, space, owner, QUOTA).await.expect("begun");
    for portion in portions {
        upload.write(portion).await.expect("taken");
    }
    upload.finish().await.expect("kept")
}

async fn read(store: &Store, artifact: &Artifact) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in 0.. {
        if bytes.len() as u64 >= artifact.size {
            break;
        }
        let read = store.read_artifact(artifact.space_id, artifact.id, piece).await;
        bytes.extend(read.expect("a piece"));
    }
    bytes
}

/// Bytes that differ from place to place.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 % 251) as u8).collect()
}

async fn listed(store: &Store, space: SpaceId, owner: UserId) -> Vec<ArtifactId> {
    let (artifacts, _) = store.list_artifacts(space, owner, &all()).await.expect("a list");
    artifacts.into_iter().map(|artifact| artifact.id).collect()
}

#[tokio::test]
async fn a_file_comes_back_as_it_came() {
    both(async |place| {
        let store = place.open().await;
        let (ada, home) = user(&store, "ada").await;
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 3 * PIECE + 7] {
            let whole = bytes(length);
            let (start, end) = whole.split_at(length / 3);
            let kept = keep(&store, home.id, ada.id, &[start, b"", end]).await;
            let hash: [u8; 32] = Sha256::digest(&whole).into();
            assert_eq!((kept.size, kept.sha256), (length as u64, hash), "{length}");
            let found = store.get_artifact(home.id, ada.id, kept.id).await.expect("an answer");
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
async fn a_file_is_for_its_owner_alone() {
    both(async |place| {
        let store = place.open().await;
        let ((ada, home), (bob, away)) = (user(&store, "ada").await, user(&store, "bob").await);
        let team = store.create_space("team", ada.id).await.expect("a space").id;
        store.put_member(team, bob.id, Role::Admin).await.expect("a member");
        let kept = keep(&store, team, ada.id, &[b"mine"]).await;
        for (space, owner) in [(team, bob.id), (home.id, ada.id), (away.id, bob.id)] {
            assert_eq!(store.get_artifact(space, owner, kept.id).await.expect("an answer"), None);
            assert!(listed(&store, space, owner).await.is_empty());
            let refused = store.delete_artifact(space, owner, kept.id).await;
            assert_eq!(kind(refused), ErrorKind::NotFound);
        }
        assert_eq!(kind(store.read_artifact(home.id, kept.id, 0).await), ErrorKind::NotFound);
        assert_eq!(store.get_linked_artifact(home.id, kept.id).await.expect("an answer"), None);
        assert_eq!(read(&store, &kept).await, b"mine");

        store.delete_artifact(team, ada.id, kept.id).await.expect("deleted");
        assert_eq!(kind(store.delete_artifact(team, ada.id, kept.id).await), ErrorKind::NotFound);
        assert_eq!(kind(store.read_artifact(team, kept.id, 0).await), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test]
async fn a_file_on_its_way_in_is_seen_by_nobody() {
    both(async |place| {
        let store = place.open().await;
        let (ada, home) = user(&store, "ada").await;
        let mut upload = begin(&store, home.id, ada.id, QUOTA).await.expect("begun");
        upload.write(&bytes(PIECE + 1)).await.expect("taken");
        assert!(listed(&store, home.id, ada.id).await.is_empty());
        upload.abandon().await;

        // One that nobody ends goes with the hourly clearing, and not before.
        let mut left = begin(&store, home.id, ada.id, QUOTA).await.expect("begun");
        left.write(&bytes(PIECE)).await.expect("taken");
        assert_eq!(store.delete_expired().await.expect("a count"), 0);
        place.raw("UPDATE artifacts SET created_at = 0").await;
        assert_eq!(store.delete_expired().await.expect("a count"), 1);
        let late = left.write(&bytes(PIECE)).await;
        assert_eq!(kind(late), ErrorKind::Conflict, "it was given up");
        left.abandon().await;

        // All of it was given back.
        let room = begin(&store, home.id, ada.id, 4096).await;
        assert!(room.is_ok(), "{:?}", room.err());
    })
    .await;
}

#[tokio::test]
async fn limits_hold_and_what_goes_makes_room() {
    both(async |place| {
        let store = place.open().await;
        let (ada, home) = user(&store, "ada").await;
        let quota = 3 * PIECE as u64 + 2 * 4096;
        let mut one = begin(&store, home.id, ada.id, quota).await.expect("begun");
        let mut other = begin(&store, home.id, ada.id, quota).await.expect("begun");
        let third = begin(&store, home.id, ada.id, 2 * 4096).await.err().expect("no room at all");
        assert_eq!(third.kind(), ErrorKind::Conflict);
        assert!(third.message().render(Locale::En).contains("8192 bytes"), "{third}");
        // Both together are too much, whoever comes first.
        one.write(&bytes(2 * PIECE)).await.expect("taken");
        other.write(&bytes(PIECE)).await.expect("taken");
        assert_eq!(kind(other.write(&bytes(PIECE)).await), ErrorKind::Conflict);
        other.abandon().await;
        one.write(&bytes(PIECE)).await.expect("there is room again");
        let kept = one.finish().await.expect("kept");
        store.delete_artifact(home.id, ada.id, kept.id).await.expect("deleted");

        let mut large = begin(&store, home.id, ada.id, QUOTA).await.expect("begun");
        let megabyte = bytes(1 << 20);
        for _ in 0..(LARGEST >> 20) {
            large.write(&megabyte).await.expect("taken");
        }
        assert_eq!(large.room(), 0);
        assert_eq!(kind(large.write(b"x").await), ErrorKind::Validation);
        large.abandon().await;
        assert!(listed(&store, home.id, ada.id).await.is_empty());
    })
    .await;
}

/// Whether what a user holds counts for exactly so many bytes.
async fn holds(store: &Store, space: SpaceId, owner: UserId, bytes: u64) -> bool {
    let too_little = begin(store, space, owner, bytes + 4095).await;
    let enough = begin(store, space, owner, bytes + 4096).await;
    let is_exact = too_little.is_err() && enough.is_ok();
    for upload in [too_little, enough].into_iter().flatten() {
        upload.abandon().await;
    }
    is_exact
}

#[tokio::test]
async fn a_new_space_is_no_new_room() {
    both(async |place| {
        let store = place.open().await;
        let ((ada, home), (bob, _)) = (user(&store, "ada").await, user(&store, "bob").await);
        let team = store.create_space("team", ada.id).await.expect("a space").id;
        store.put_member(team, bob.id, Role::Caller).await.expect("a member");
        let kept = keep(&store, home.id, ada.id, &[&bytes(PIECE)]).await;
        let quota = PIECE as u64 + 2 * 4096;
        let mut second = begin(&store, team, ada.id, quota).await.expect("room for an empty one");
        second.write(b"x").await.expect("it waits");
        let full = second.finish().await.expect_err("one byte too much");
        assert_eq!(full.kind(), ErrorKind::Conflict);
        assert!(full.message().render(Locale::En).contains("in all spaces"), "{full}");
        second.abandon().await;
        // What one holds elsewhere takes no room from others.
        let mut bobs = begin(&store, team, bob.id, quota).await.expect("begun");
        bobs.write(&bytes(PIECE)).await.expect("taken");
        bobs.abandon().await;

        let there = keep(&store, team, ada.id, &[&bytes(PIECE)]).await;
        let both_of_them = kept.size + there.size + 2 * 4096;
        assert!(holds(&store, home.id, ada.id, both_of_them).await);
        store.delete_artifact(home.id, ada.id, kept.id).await.expect("deleted");
        assert!(holds(&store, home.id, ada.id, there.size + 4096).await);
        store.delete_space(team, Force::Yes).await.expect("deleted");
        assert!(holds(&store, home.id, ada.id, 0).await, "what was in the space counts no more");
    })
    .await;
}

/// Sends a file of one piece; nothing where there is no room for it.
async fn send_piece(store: &Store, space: SpaceId, owner: UserId, quota: u64) -> Option<Artifact> {
    let mut upload = begin(store, space, owner, quota).await.ok()?;
    if upload.write(&bytes(PIECE)).await.is_err() {
        upload.abandon().await;
        return None;
    }
    Some(upload.finish().await.expect("all of it is there"))
}

#[tokio::test]
async fn what_is_counted_is_exact_however_many_send_at_once() {
    both(async |place| {
        let store = place.open().await;
        let another = place.another(&store).await;
        let (ada, home) = user(&store, "ada").await;
        let quota = 3 * (PIECE as u64 + 4096);
        let mut spaces = Vec::new();
        for number in 0..8 {
            spaces.push(store.create_space(&format!("space {number}"), ada.id).await.expect("a space").id);
        }
        let (first, second) = spaces.split_at(4);
        let here = join_all(first.iter().map(|space| send_piece(&store, *space, ada.id, quota)));
        let there = join_all(second.iter().map(|space| send_piece(&another, *space, ada.id, quota)));
        let (here, there) = tokio::join!(here, there);
        let kept: u64 = here.into_iter().chain(there).flatten().map(|file| file.size + 4096).sum();
        assert!((1..=quota).contains(&kept), "{kept}");
        assert!(holds(&store, home.id, ada.id, kept).await, "{kept}");

        // A space that goes while something is sent to it takes all of that along.
        let doomed = store.create_space("doomed", ada.id).await.expect("a space").id;
        let mut upload = begin(&another, doomed, ada.id, QUOTA).await.expect("begun");
        let piece = bytes(PIECE);
        let sending = async {
            while upload.write(&piece).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        let (gone, ()) = tokio::join!(store.delete_space(doomed, Force::Yes), sending);
        gone.expect("deleted");
        assert!(holds(&store, home.id, ada.id, kept).await, "{kept}");
    })
    .await;
}

#[tokio::test]
async fn files_of_who_has_left_go_and_so_do_those_of_a_space() {
    both(async |place| {
        let store = place.open().await;
        let ((ada, _), (bob, _)) = (user(&store, "ada").await, user(&store, "bob").await);
        let team = store.create_space("team", ada.id).await.expect("a space").id;
        store.put_member(team, bob.id, Role::Caller).await.expect("a member");
        let (adas, bobs) =
            (keep(&store, team, ada.id, &[b"a"]).await, keep(&store, team, bob.id, &[b"b"]).await);
        assert!(store.get_linked_artifact(team, bobs.id).await.expect("an answer").is_some());
        store.set_user_rights(bob.id, false, false).await.expect("switched off");
        assert_eq!(store.get_linked_artifact(team, bobs.id).await.expect("an answer"), None);
        store.set_user_rights(bob.id, true, false).await.expect("switched on");
        assert_eq!(store.delete_expired().await.expect("a count"), 0);
        store.remove_member(team, bob.id).await.expect("removed");
        assert_eq!(store.get_linked_artifact(team, bobs.id).await.expect("an answer"), None);
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

fn to(id: ArtifactId) -> Linked {
    Linked::Artifact(id)
}

fn by_nobody(space: SpaceId, until: Timestamp) -> Signed {
    Signed { space, by: None, until, number: 0 }
}

fn space(store: &Store, to: Linked, signature: &str, now: Timestamp) -> Option<SpaceId> {
    store.signed(to, signature, now).map(|signed| signed.space)
}

#[tokio::test]
async fn a_link_opens_one_file_until_it_expires() {
    both(async |place| {
        let store = place.open().await;
        let ((_, home), (_, away)) = (user(&store, "ada").await, user(&store, "bob").await);
        let id = ArtifactId::from(uuid::Uuid::now_v7());
        let now = Timestamp::now();
        let later = |seconds: u64| now.saturating_add(Duration::from_secs(seconds)).expect("an instant");
        let signature = store.sign(to(id), by_nobody(home.id, later(3600))).expect("signed");
        assert_eq!(space(&store, to(id), &signature, now), Some(home.id));
        assert_eq!(space(&store, to(id), &signature, later(3598)), Some(home.id));
        assert_eq!(space(&store, to(id), &signature, later(3600)), None, "expired");
        let another = ArtifactId::from(uuid::Uuid::now_v7());
        assert_eq!(space(&store, to(another), &signature, now), None, "another file's");
        let elsewhere = store.sign(to(id), by_nobody(away.id, later(3600))).expect("signed");
        assert_eq!(space(&store, to(id), &elsewhere, now), Some(away.id), "each names its own space");

        for at in 0..signature.len() {
            let mut changed = signature.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("text");
            assert_eq!(space(&store, to(id), &changed, now), None, "character {at}");
        }
        let run = RunId::from(uuid::Uuid::from(id));
        for other in [Linked::Callback(run), Linked::Approval(run)] {
            assert_eq!(space(&store, other, &signature, now), None, "for something else of the same id");
        }
        for odd in ["", "A", "!", &signature[..signature.len() - 1], &format!("{signature}A")] {
            assert_eq!(space(&store, to(id), odd, now), None, "{odd}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_link_outlives_its_key_as_long_as_that_is_known() {
    both(async |place| {
        let id = ArtifactId::from(uuid::Uuid::now_v7());
        let now = Timestamp::now();
        let until = now.saturating_add(Duration::from_secs(60)).expect("an instant");
        let store = place.open_with(keys(&[KEY])).await;
        let (_, home) = user(&store, "ada").await;
        let signature = store.sign(to(id), by_nobody(home.id, until)).expect("signed");
        for (known, expected) in
            [(vec![NEW_KEY, KEY], Some(home.id)), (vec![KEY], Some(home.id)), (vec![NEW_KEY], None)]
        {
            let store = Store::open(&Database::Memory, keys(&known)).await.expect("a store");
            assert_eq!(space(&store, to(id), &signature, now), expected, "{known:?}");
        }
    })
    .await;
}
