//! Decodes content codings while the body is streamed, and limits the output of every layer: a
//! decompression bomb fails as too large, before its decompressed bytes fill the memory.

use std::io::{self, Write};

use brotli_decompressor::{BrotliDecoderParameter, DecompressorWriter};
use bytes::{Bytes, BytesMut};
use flate2::write::GzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use haft_core::CallError;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

use crate::failure;

/// Maximum number of nested codings; legitimate servers do not use more.
const MAX_CODINGS: usize = 4;

/// Maximum number of members in a gzip stream.
const MAX_MEMBERS: usize = 1_000;

/// Maximum window of a zstd stream, as a power of two: 8 MiB, as RFC 9659 defines for HTTP.
const ZSTD_WINDOW: u32 = 23;

const BUFFER: usize = 16 << 10;

/// Decodes the chunks of a body and collects the output.
pub(crate) struct Decoder {
    stage: Stage,
    limit: usize,
    /// No bytes so far. A response without a body may have a `Content-Encoding` anyway.
    is_empty: bool,
    /// Remaining raw bytes. Limited separately, because a coding can continue without any output.
    raw_left: usize,
}

enum Stage {
    Plain(Plain),
    Gzip(Box<Gzip>),
    /// The start of a deflate stream, until its first bytes show whether it has a zlib header.
    Deflate {
        start: Vec<u8>,
        next: Option<Counted>,
    },
    Inflate(Box<Inflate>),
    Brotli(Box<DecompressorWriter<Counted>>),
    Zstd(Box<zstd::stream::write::Decoder<'static, Counted>>),
}

/// An uncompressed body. A single chunk is not copied.
#[derive(Default)]
struct Plain {
    first: Bytes,
    more: BytesMut,
    left: usize,
}

/// A gzip stream. Its members are limited, because each allocates memory, whatever its size.
struct Gzip {
    /// `None` only during the change to the next member.
    member: Option<GzDecoder<Counted>>,
    left: usize,
}

/// A zlib or raw deflate stream, which must be complete.
struct Inflate {
    state: Decompress,
    buffer: Vec<u8>,
    has_ended: bool,
    next: Counted,
}

/// Passes bytes to the next stage until the limit is reached.
struct Counted {
    left: usize,
    next: Box<Stage>,
}

#[derive(Debug, thiserror::Error)]
#[error("too large")]
struct TooLarge;

impl Decoder {
    pub(crate) fn new(headers: &HeaderMap, limit: usize) -> Result<Self, CallError> {
        let mut stage = Stage::Plain(Plain { left: limit, ..Plain::default() });
        let mut layers = 0;
        // A body that is still encoded may be slightly larger than its decoded form.
        let within = limit + limit / 8 + BUFFER;
        // The coding named last was applied last and is decoded first, so the stages are built in reverse.
        for value in headers.get_all(CONTENT_ENCODING) {
            let codings = value.to_str().map_err(|_| failure::unknown_coding("?"))?;
            for coding in codings.split(',').map(str::trim) {
                layers += 1;
                if layers > MAX_CODINGS {
                    return Err(failure::too_many_codings(MAX_CODINGS));
                }
                stage = stage.under(coding, within)?;
            }
        }
        Ok(Self { stage, limit, is_empty: true, raw_left: within })
    }

    pub(crate) fn write(&mut self, chunk: Bytes) -> Result<(), CallError> {
        self.is_empty &= chunk.is_empty();
        self.raw_left =
            self.raw_left.checked_sub(chunk.len()).ok_or_else(|| failure::too_large(self.limit))?;
        let written = if let Stage::Plain(plain) = &mut self.stage {
            plain.push(chunk)
        } else {
            self.stage.write_all(&chunk)
        };
        written.map_err(|error| failed(&error, self.limit))
    }

    /// Takes the output since the last call. The limit applies to the whole output.
    pub(crate) fn take(&mut self) -> Result<Bytes, CallError> {
        self.stage.flush().map_err(|error| failed(&error, self.limit))?;
        Ok(self.stage.so_far())
    }

    /// Returns the output before an error.
    pub(crate) fn so_far(mut self) -> Bytes {
        self.stage.so_far()
    }

    pub(crate) fn finish(self) -> Result<Bytes, CallError> {
        if self.is_empty {
            return Ok(Bytes::new());
        }
        let limit = self.limit;
        self.stage.finish().map_err(|error| failed(&error, limit))
    }
}

fn failed(error: &io::Error, limit: usize) -> CallError {
    match error.get_ref() {
        Some(inner) if inner.is::<TooLarge>() => failure::too_large(limit),
        _ => failure::undecodable(error),
    }
}

impl Stage {
    /// Returns a stage that decodes `coding` and passes its output to this one.
    fn under(self, coding: &str, limit: usize) -> Result<Self, CallError> {
        let next = |stage: Self| Counted { left: limit, next: Box::new(stage) };
        Ok(match coding.to_ascii_lowercase().as_str() {
            "" | "identity" => self,
            "gzip" | "x-gzip" => {
                Self::Gzip(Box::new(Gzip { member: Some(GzDecoder::new(next(self))), left: MAX_MEMBERS }))
            }
            "deflate" => Self::Deflate { start: Vec::new(), next: Some(next(self)) },
            "br" => {
                let mut decoder = DecompressorWriter::new(next(self), BUFFER);
                // Brotli windows of up to a gigabyte are not part of HTTP.
                decoder.set_parameter(BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
                Self::Brotli(Box::new(decoder))
            }
            "zstd" => {
                let mut decoder = zstd::stream::write::Decoder::new(next(self))
                    .map_err(|error| failure::undecodable(&error))?;
                decoder.window_log_max(ZSTD_WINDOW).map_err(|error| failure::undecodable(&error))?;
                Self::Zstd(Box::new(decoder))
            }
            _ => return Err(failure::unknown_coding(coding)),
        })
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(plain) => plain.push(Bytes::copy_from_slice(bytes)),
            Self::Gzip(decoder) => decoder.write_all(bytes),
            Self::Inflate(decoder) => decoder.write_all(bytes),
            Self::Brotli(decoder) => decoder.write_all(bytes),
            Self::Zstd(decoder) => decoder.write_all(bytes),
            Self::Deflate { start, next } => {
                start.extend_from_slice(bytes);
                if start.len() < 2 {
                    return Ok(());
                }
                let Some(next) = next.take() else { return Ok(()) };
                let start = std::mem::take(start);
                *self = Self::Inflate(Box::new(Inflate {
                    state: Decompress::new(has_zlib_header(&start)),
                    buffer: vec![0; BUFFER],
                    has_ended: false,
                    next,
                }));
                self.write_all(&start)
            }
        }
    }

    /// Passes on output that is still buffered.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) | Self::Deflate { .. } => Ok(()),
            Self::Gzip(decoder) => {
                let Some(member) = &mut decoder.member else { return Ok(()) };
                member.flush()?;
                member.get_mut().next.flush()
            }
            Self::Inflate(decoder) => decoder.next.next.flush(),
            Self::Brotli(decoder) => {
                decoder.flush()?;
                decoder.get_mut().next.flush()
            }
            Self::Zstd(decoder) => {
                decoder.flush()?;
                decoder.get_mut().next.flush()
            }
        }
    }

    fn so_far(&mut self) -> Bytes {
        match self {
            Self::Plain(plain) => plain.take(),
            Self::Gzip(decoder) => {
                decoder.member.as_mut().map(|member| member.get_mut().next.so_far()).unwrap_or_default()
            }
            Self::Inflate(decoder) => decoder.next.next.so_far(),
            Self::Brotli(decoder) => decoder.get_mut().next.so_far(),
            Self::Zstd(decoder) => decoder.get_mut().next.so_far(),
            Self::Deflate { .. } => Bytes::new(),
        }
    }

    fn finish(self) -> io::Result<Bytes> {
        let cut = || io::Error::new(io::ErrorKind::UnexpectedEof, "the body ends too early");
        let counted = match self {
            Self::Plain(plain) => return Ok(plain.finish()),
            Self::Gzip(decoder) => decoder.member.ok_or_else(cut)?.finish()?,
            Self::Inflate(decoder) if decoder.has_ended => decoder.next,
            Self::Inflate(_) => return Err(cut()),
            Self::Brotli(mut decoder) => {
                decoder.close()?;
                decoder.into_inner().map_err(|_| cut())?
            }
            Self::Zstd(decoder) => decoder.finish()?,
            Self::Deflate { start, next } => match next {
                Some(next) if start.is_empty() => next,
                _ => return Err(cut()),
            },
        };
        counted.next.finish()
    }
}

fn has_zlib_header(start: &[u8]) -> bool {
    let [first, second, ..] = start else { return false };
    first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)).is_multiple_of(31)
}

impl Gzip {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some(member) = &mut self.member else { return Err(io::ErrorKind::InvalidData.into()) };
            let taken = member.write(rest)?;
            rest = rest.get(taken..).unwrap_or_default();
            if taken > 0 {
                continue;
            }
            // The end of a member; the next one begins.
            self.left = self.left.checked_sub(1).ok_or_else(|| io::Error::other(TooLarge))?;
            let next = self.member.take().map(GzDecoder::finish).transpose()?;
            self.member = next.map(GzDecoder::new);
        }
        Ok(())
    }
}

impl Inflate {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        // Bytes after the end of the stream are ignored.
        while !self.has_ended {
            let (taken, made) = (self.state.total_in(), self.state.total_out());
            let status = self.state.decompress(rest, &mut self.buffer, FlushDecompress::None)?;
            let (taken, made) = (self.state.total_in() - taken, self.state.total_out() - made);
            rest = rest.get(taken as usize..).unwrap_or_default();
            self.next.write_all(self.buffer.get(..made as usize).unwrap_or_default())?;
            self.has_ended = status == Status::StreamEnd;
            if taken == 0 && made == 0 {
                break;
            }
        }
        Ok(())
    }
}

impl Plain {
    fn push(&mut self, chunk: Bytes) -> io::Result<()> {
        if chunk.len() > self.left {
            // The beginning may still be useful.
            let chunk = chunk.slice(..self.left);
            self.left = 0;
            self.append(chunk);
            return Err(io::Error::other(TooLarge));
        }
        self.left -= chunk.len();
        self.append(chunk);
        Ok(())
    }

    fn append(&mut self, chunk: Bytes) {
        if self.first.is_empty() && self.more.is_empty() {
            self.first = chunk;
        } else {
            if self.more.is_empty() {
                self.more.extend_from_slice(&std::mem::take(&mut self.first));
            }
            self.more.extend_from_slice(&chunk);
        }
    }

    fn take(&mut self) -> Bytes {
        let left = self.left;
        std::mem::replace(self, Self { left, ..Self::default() }).finish()
    }

    fn finish(self) -> Bytes {
        if self.more.is_empty() { self.first } else { self.more.freeze() }
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or_else(|| io::Error::other(TooLarge))?;
        self.next.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
