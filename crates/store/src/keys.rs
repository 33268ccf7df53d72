//! Master keys, read from an environment variable or from a key file that only its owner can read. The file
//! is created if it is missing.
//!
//! A key never enters the database; only its id does.

use std::fs::{File, OpenOptions};
use std::io::{Error as IoError, ErrorKind as IoErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use haft_core::{CallError, ErrorKind, Message, Template};
use secrecy::{ExposeSecret as _, SecretBox, SecretString};
use sha2::{Digest as _, Sha256};

use crate::credential::random;

haft_core::templates! {
    BAD_KEY = "store.badKey",
        "A master key must have 32 bytes, in base64 or hexadecimal.",
        "主密钥为 32 字节，用 base64 或十六进制书写";
    BAD_FILE = "store.badKeyFile",
        "The key file {path} is invalid. Each line must contain an id, a colon and a key in base64.",
        "密钥文件 {path} 无法解析：每行应为 id、冒号和 base64 密钥";
    OPEN_FILE = "store.openKeyFile",
        "The key file {path} can be read by other users. Set its mode to 0600.",
        "密钥文件 {path} 可被他人读取；请将其权限设为 0600";
    NO_FILE = "store.noKeyFile",
        "The key file {path} cannot be read or written.",
        "密钥文件 {path} 无法读写";
    MISSING_KEYS = "store.missingKeys",
        "The database contains secrets that were encrypted with the master keys {keys}, which are not among the keys given. Provide the key file or HAFT_MASTER_KEY that they were encrypted with.",
        "数据库中的密钥由主密钥 {keys} 加密，而提供的主密钥中没有它们；请提供当时使用的密钥文件或 HAFT_MASTER_KEY";
}

const LENGTH: usize = 32;

/// A master key.
pub struct Key {
    id: String,
    bytes: SecretBox<[u8; LENGTH]>,
}

impl Key {
    /// Generates a random key.
    pub fn generate() -> Result<Self, CallError> {
        Ok(Self::of(random::<LENGTH>()?))
    }

    /// Parses 32 bytes in base64 or hexadecimal.
    pub fn parse(text: &str) -> Result<Self, CallError> {
        let bytes = decode(text.trim());
        bytes.map(Self::of).ok_or_else(|| CallError::new(ErrorKind::Validation, Message::new(&BAD_KEY)))
    }

    /// Derives the id from the key, so that every copy of a key has the same id.
    fn of(bytes: [u8; LENGTH]) -> Self {
        let digest = Sha256::new().chain_update(b"haft master key id").chain_update(bytes).finalize();
        let id = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        Self { id, bytes: SecretBox::new(Box::new(bytes)) }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.expose_secret()
    }
}

/// A snapshot of the keys: the current one encrypts, older ones only decrypt.
pub(crate) struct KeyRing {
    pub(crate) current: Key,
    older: Vec<Key>,
}

/// The keys of a store. A key file is read again when a value needs a key that is not loaded.
pub struct MasterKeys {
    ring: RwLock<Arc<KeyRing>>,
    /// The key file. `None` if the keys were given as text.
    source: Option<PathBuf>,
}

impl MasterKeys {
    pub fn new(current: Key, older: Vec<Key>) -> Self {
        Self::of(KeyRing { current, older }, None)
    }

    fn of(ring: KeyRing, source: Option<&Path>) -> Self {
        Self { ring: RwLock::new(Arc::new(ring)), source: source.map(Path::to_owned) }
    }

    /// Parses keys separated by commas, the current one first.
    pub fn parse(text: &SecretString) -> Result<Self, CallError> {
        let (current, older) = text.expose_secret().split_once(',').unwrap_or((text.expose_secret(), ""));
        let older = older.split(',').filter(|key| !key.trim().is_empty()).map(Key::parse);
        Ok(Self::new(Key::parse(current)?, older.collect::<Result<_, _>>()?))
    }

    /// Reads a key file, or creates one with a new key.
    pub fn from_file(path: &Path) -> Result<Self, CallError> {
        Ok(Self::of(KeyRing::from_file(path)?, Some(path)))
    }

    /// Adds a new current key to a key file. `Store::rotate_keys` re-encrypts the secrets with it.
    pub fn add_to_file(path: &Path) -> Result<Self, CallError> {
        let KeyRing { current, older } = KeyRing::from_file(path)?;
        let older = std::iter::once(current).chain(older).collect();
        let keys = KeyRing { current: Key::generate()?, older };
        let failed = |error| file_error(&NO_FILE, path, error);
        let written = keys.write(path).map_err(failed)?;
        std::fs::rename(written, path).and_then(|()| sync_directory(path)).map_err(failed)?;
        Ok(Self::of(keys, Some(path)))
    }

    /// Returns the loaded keys.
    pub(crate) fn ring(&self) -> Arc<KeyRing> {
        self.ring.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the loaded keys; reads the key file again first if none of them has this id.
    pub(crate) fn ring_with(&self, id: &str) -> Arc<KeyRing> {
        let ring = self.ring();
        let Some(path) = self.source.as_deref().filter(|_| ring.find(id).is_none()) else { return ring };
        match KeyRing::reread(path) {
            Ok(ring) => {
                let ring = Arc::new(ring);
                *self.ring.write().unwrap_or_else(PoisonError::into_inner) = ring.clone();
                ring
            }
            Err(error) => {
                tracing::warn!(cause = %error, key = id, "The key file could not be read again");
                ring
            }
        }
    }

    /// Fails if a key with one of these ids is missing.
    pub(crate) fn check(&self, ids: Vec<String>) -> Result<(), CallError> {
        let missing: Vec<String> =
            ids.into_iter().filter(|id| self.ring_with(id).find(id).is_none()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let message = Message::new(&MISSING_KEYS).with("keys", missing.join(", "));
        Err(CallError::new(ErrorKind::Internal, message))
    }
}

impl KeyRing {
    fn from_file(path: &Path) -> Result<Self, CallError> {
        match File::open(path) {
            Ok(file) => Self::read(path, &file),
            Err(error) if error.kind() == IoErrorKind::NotFound => {
                let keys = Self { current: Key::generate()?, older: Vec::new() };
                let written = keys.write(path).map_err(|error| file_error(&NO_FILE, path, error))?;
                let linked = std::fs::hard_link(&written, path).and_then(|()| sync_directory(path));
                let _ = std::fs::remove_file(&written);
                match linked {
                    Ok(()) => Ok(keys),
                    // Another process was faster; use its key.
                    Err(error) if error.kind() == IoErrorKind::AlreadyExists => Self::reread(path),
                    Err(error) => Err(file_error(&NO_FILE, path, error)),
                }
            }
            Err(error) => Err(file_error(&NO_FILE, path, error)),
        }
    }

    /// Reads an existing key file.
    fn reread(path: &Path) -> Result<Self, CallError> {
        let file = File::open(path).map_err(|error| file_error(&NO_FILE, path, error))?;
        Self::read(path, &file)
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Key> {
        self.all().find(|key| key.id == id)
    }

    /// Iterates over all keys, the current one first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Key> {
        std::iter::once(&self.current).chain(&self.older)
    }

    fn read(path: &Path, file: &File) -> Result<Self, CallError> {
        let unreadable = |error| file_error(&NO_FILE, path, error);
        // Check the open file, not the path, so that it cannot be replaced in between.
        if file.metadata().map_err(unreadable)?.mode() & 0o077 != 0 {
            return Err(file_error(&OPEN_FILE, path, IoError::other("its mode allows more than 0600")));
        }
        let text = SecretString::from(std::io::read_to_string(file).map_err(unreadable)?);
        let lines = text.expose_secret().lines().map(str::trim).filter(|line| !line.is_empty());
        let keys: Option<Vec<Key>> = lines
            .map(|line| {
                let (id, key) = line.split_once(':')?;
                Some(Key { id: id.to_owned(), ..Key::parse(key).ok()? })
            })
            .collect();
        let mut keys = keys.unwrap_or_default().into_iter();
        let bad = || file_error(&BAD_FILE, path, IoError::other("the file has no keys or an invalid line"));
        Ok(Self { current: keys.next().ok_or_else(bad)?, older: keys.collect() })
    }

    /// Writes a temporary file next to `path` and syncs it; the caller then renames it.
    fn write(&self, path: &Path) -> Result<PathBuf, IoError> {
        let temporary = path.with_extension(format!("{}.new", std::process::id()));
        // A crashed process may have left one.
        let _ = std::fs::remove_file(&temporary);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        for key in self.all() {
            let line = SecretString::from(format!("{}:{}\n", key.id, STANDARD.encode(key.bytes())));
            file.write_all(line.expose_secret().as_bytes())?;
        }
        file.sync_all()?;
        Ok(temporary)
    }
}

/// Syncs the directory, so that the new file name survives a power failure.
fn sync_directory(path: &Path) -> Result<(), IoError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

fn decode(text: &str) -> Option<[u8; LENGTH]> {
    let bytes = if text.len() == 2 * LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let digits = (0..LENGTH).map(|at| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok());
        digits.collect::<Option<Vec<u8>>>()?
    } else {
        let alphabets = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD];
        alphabets.into_iter().find_map(|alphabet| alphabet.decode(text).ok())?
    };
    bytes.try_into().ok()
}

fn file_error(template: &'static Template, path: &Path, error: IoError) -> CallError {
    let message = Message::new(template).with("path", path.display());
    CallError::new(ErrorKind::Internal, message).caused_by(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_parse_from_base64_and_hexadecimal() {
        let hex = "00".repeat(31) + "ff";
        let key = Key::parse(&hex).expect("hexadecimal");
        let base64 = STANDARD.encode(key.bytes());
        for text in [base64.clone(), URL_SAFE_NO_PAD.encode(key.bytes()), format!(" {base64}\n")] {
            assert_eq!(Key::parse(&text).expect("base64").id(), key.id());
        }
        for bad in ["", "abc", &"0".repeat(63), &STANDARD.encode([7_u8; 31])] {
            assert!(Key::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_first_key_is_the_current_one() {
        let keys = [Key::generate().expect("a key"), Key::generate().expect("a key")];
        let text = keys.each_ref().map(|key| STANDARD.encode(key.bytes())).join(",");
        let parsed = MasterKeys::parse(&SecretString::from(text)).expect("two keys").ring();
        let [current, older] = keys;
        assert_eq!(parsed.current.id(), current.id());
        assert!(parsed.find(older.id()).is_some() && parsed.find("x").is_none());
    }
    #[test]
    fn keys_added_to_the_file_by_another_process_are_found() {
        let path = std::env::temp_dir().join(format!("haft-keys-{}", uuid::Uuid::now_v7().simple()));
        let here = MasterKeys::from_file(&path).expect("made");
        let old = here.ring().current.id().to_owned();
        let there = MasterKeys::add_to_file(&path).expect("another");
        let new = there.ring().current.id().to_owned();
        assert!(here.ring().find(&new).is_none(), "not read yet");
        assert_eq!(here.ring_with(&old).current.id(), old, "nothing to read for a key that is known");
        assert_eq!(here.ring_with(&new).current.id(), new);
        assert!(here.ring().find(&old).is_some() && here.check(vec![old, new]).is_ok());
        std::fs::remove_file(&path).expect("removed");
        assert!(here.ring_with("x").find("x").is_none() && !path.exists(), "reading again makes no file");
        assert!(here.check(vec!["x".to_owned()]).is_err());
    }
}
