//! Master keys: read from a text or a file that only its owner can read, and made where there is none.
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
        "a master key has 32 bytes, in base64 or in hexadecimal digits",
        "主密钥为 32 字节，用 base64 或十六进制书写";
    BAD_FILE = "store.badKeyFile",
        "the key file {path} cannot be read: each line is an id, a colon and a key in base64",
        "密钥文件 {path} 无法解析：每行应为 id、冒号和 base64 密钥";
    OPEN_FILE = "store.openKeyFile",
        "the key file {path} can be read by others; set its mode to 0600",
        "密钥文件 {path} 可被他人读取；请将其权限设为 0600";
    NO_FILE = "store.noKeyFile",
        "the key file {path} cannot be read or written",
        "密钥文件 {path} 无法读写";
    MISSING_KEYS = "store.missingKeys",
        "the database holds secrets under the master keys {keys}, which are not among the keys given; give the key file or HAFT_MASTER_KEY that they were encrypted with",
        "数据库中的密钥由主密钥 {keys} 加密，而提供的主密钥中没有它们；请提供当时使用的密钥文件或 HAFT_MASTER_KEY";
}

const LENGTH: usize = 32;

/// One master key.
pub struct Key {
    id: String,
    bytes: SecretBox<[u8; LENGTH]>,
}

impl Key {
    /// A new one, at random.
    pub fn generate() -> Result<Self, CallError> {
        Ok(Self::of(random::<LENGTH>()?))
    }

    /// Reads 32 bytes in base64 or in hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, CallError> {
        let bytes = decode(text.trim());
        bytes.map(Self::of).ok_or_else(|| CallError::new(ErrorKind::Validation, Message::new(&BAD_KEY)))
    }

    /// The id follows from the key, so that the same key is known again wherever it was written down.
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

/// The key that encrypts, and older ones that only decrypt, as they were at one moment.
pub(crate) struct KeyRing {
    pub(crate) current: Key,
    older: Vec<Key>,
}

/// The keys of a store. Those of a file are read again when another process has put a new one there.
pub struct MasterKeys {
    ring: RwLock<Arc<KeyRing>>,
    /// None for keys that were given as a text.
    source: Option<PathBuf>,
}

impl MasterKeys {
    pub fn new(current: Key, older: Vec<Key>) -> Self {
        Self::of(KeyRing { current, older }, None)
    }

    fn of(ring: KeyRing, source: Option<&Path>) -> Self {
        Self { ring: RwLock::new(Arc::new(ring)), source: source.map(Path::to_owned) }
    }

    /// Reads keys separated by commas, the current one first.
    pub fn parse(text: &SecretString) -> Result<Self, CallError> {
        let (current, older) = text.expose_secret().split_once(',').unwrap_or((text.expose_secret(), ""));
        let older = older.split(',').filter(|key| !key.trim().is_empty()).map(Key::parse);
        Ok(Self::new(Key::parse(current)?, older.collect::<Result<_, _>>()?))
    }

    /// Reads a key file, or makes one with a new key where there is none.
    pub fn from_file(path: &Path) -> Result<Self, CallError> {
        Ok(Self::of(KeyRing::from_file(path)?, Some(path)))
    }

    /// Puts a new key before those of a key file. Secrets are moved to it by `Store::rotate_keys`.
    pub fn add_to_file(path: &Path) -> Result<Self, CallError> {
        let KeyRing { current, older } = KeyRing::from_file(path)?;
        let older = std::iter::once(current).chain(older).collect();
        let keys = KeyRing { current: Key::generate()?, older };
        let failed = |error| refused(&NO_FILE, path, error);
        let written = keys.write(path).map_err(failed)?;
        std::fs::rename(written, path).and_then(|()| sync_directory(path)).map_err(failed)?;
        Ok(Self::of(keys, Some(path)))
    }

    /// The keys as they are known.
    pub(crate) fn ring(&self) -> Arc<KeyRing> {
        self.ring.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The keys, read again from their file where none of those known has an id.
    pub(crate) fn knowing(&self, id: &str) -> Arc<KeyRing> {
        let known = self.ring();
        let Some(path) = self.source.as_deref().filter(|_| known.find(id).is_none()) else { return known };
        match KeyRing::reread(path) {
            Ok(ring) => {
                let ring = Arc::new(ring);
                *self.ring.write().unwrap_or_else(PoisonError::into_inner) = ring.clone();
                ring
            }
            Err(error) => {
                tracing::warn!(cause = %error, key = id, "The key file could not be read again");
                known
            }
        }
    }

    /// Refuses when none of the keys has one of these ids.
    pub(crate) fn check(&self, ids: Vec<String>) -> Result<(), CallError> {
        let missing: Vec<String> = ids.into_iter().filter(|id| self.knowing(id).find(id).is_none()).collect();
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
                let written = keys.write(path).map_err(|error| refused(&NO_FILE, path, error))?;
                let linked = std::fs::hard_link(&written, path).and_then(|()| sync_directory(path));
                let _ = std::fs::remove_file(&written);
                match linked {
                    Ok(()) => Ok(keys),
                    // Another process was faster: its key is the one that counts.
                    Err(error) if error.kind() == IoErrorKind::AlreadyExists => Self::reread(path),
                    Err(error) => Err(refused(&NO_FILE, path, error)),
                }
            }
            Err(error) => Err(refused(&NO_FILE, path, error)),
        }
    }

    /// Reads a file that is there, and makes none.
    fn reread(path: &Path) -> Result<Self, CallError> {
        let file = File::open(path).map_err(|error| refused(&NO_FILE, path, error))?;
        Self::read(path, &file)
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Key> {
        self.all().find(|key| key.id == id)
    }

    /// The current one first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Key> {
        std::iter::once(&self.current).chain(&self.older)
    }

    fn read(path: &Path, file: &File) -> Result<Self, CallError> {
        let unreadable = |error| refused(&NO_FILE, path, error);
        // Asked of the file that is open, so that nobody can exchange it in between.
        if file.metadata().map_err(unreadable)?.mode() & 0o077 != 0 {
            return Err(refused(&OPEN_FILE, path, IoError::other("its mode allows more than 0600")));
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
        let bad = || refused(&BAD_FILE, path, IoError::other("no keys, or a line that is none"));
        Ok(Self { current: keys.next().ok_or_else(bad)?, older: keys.collect() })
    }

    /// Writes a file beside the one that is meant, complete and on the disk before it gets its name.
    fn write(&self, path: &Path) -> Result<PathBuf, IoError> {
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        // Left behind by a process that died.
        let _ = std::fs::remove_file(&beside);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        for key in self.all() {
            let line = SecretString::from(format!("{}:{}\n", key.id, STANDARD.encode(key.bytes())));
            file.write_all(line.expose_secret().as_bytes())?;
        }
        file.sync_all()?;
        Ok(beside)
    }
}

/// A name is safe from a power cut only when its directory is on the disk.
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

fn refused(template: &'static Template, path: &Path, error: IoError) -> CallError {
    let message = Message::new(template).with("path", path.display());
    CallError::new(ErrorKind::Internal, message).caused_by(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_in_every_spelling() {
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
    fn a_key_that_another_process_put_into_the_file_is_found() {
        let path = std::env::temp_dir().join(format!("haft-keys-{}", uuid::Uuid::now_v7().simple()));
        let here = MasterKeys::from_file(&path).expect("made");
        let old = here.ring().current.id().to_owned();
        let there = MasterKeys::add_to_file(&path).expect("another");
        let new = there.ring().current.id().to_owned();
        assert!(here.ring().find(&new).is_none(), "not read yet");
        assert_eq!(here.knowing(&old).current.id(), old, "nothing to read for a key that is known");
        assert_eq!(here.knowing(&new).current.id(), new);
        assert!(here.ring().find(&old).is_some() && here.check(vec![old, new]).is_ok());
        std::fs::remove_file(&path).expect("removed");
        assert!(here.knowing("x").find("x").is_none() && !path.exists(), "reading again makes no file");
        assert!(here.check(vec!["x".to_owned()]).is_err());
    }
}
