//! The files of the console, as `web/` was built. How they are sent is the server's business.

/// One file of the console.
#[derive(Debug)]
pub struct File {
    /// Below the root, as in `assets/index-1a2b.js`.
    pub path: &'static str,
    pub bytes: &'static [u8],
    /// The same, compressed, where that makes it smaller.
    pub brotli: Option<&'static [u8]>,
}

/// Every file; none when the console was not built before this was compiled.
pub const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The page that all addresses of the console show.
pub const PAGE: &str = "index.html";

/// Files in this folder are named after what they hold: the same name is the same file for ever.
pub const FOR_EVER: &str = "assets/";
