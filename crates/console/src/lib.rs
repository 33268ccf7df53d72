//! The files of the web console, embedded at compile time from `web/dist`. The server decides how to serve
//! them.

/// One file of the console.
#[derive(Debug)]
pub struct File {
    /// Path relative to the root, such as `assets/index-1a2b.js`.
    pub path: &'static str,
    pub bytes: &'static [u8],
    /// The Brotli-compressed content. `None` if compression does not make the file smaller.
    pub brotli: Option<&'static [u8]>,
}

/// All files of the console. Empty if the console had not been built when this crate was compiled.
pub const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The page that is served for all console URLs; the console routes on the client.
pub const PAGE: &str = "index.html";

/// Files below this prefix have a content hash in their name, so clients may cache them forever.
pub const FOR_EVER: &str = "assets/";
