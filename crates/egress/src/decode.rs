//! Content codings, undone while the body streams, with every layer's output counted.

use std::io::{self, Write};

use brotli_decompressor::{BrotliDecoderParameter, DecompressorWriter};
use bytes::{Bytes, BytesMut};
use flate2::write::GzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use haft_core::CallError;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

use crate::failure;

/// Codings within codings; nobody honest has more.
const MOST_CODINGS: usize = 4;

/// Members of one gzip stream.
const MOST_MEMBERS: usize = 1_000;

/// The window a zstd stream may ask for, as a power of two: 8 MiB, as RFC 9659 has it for HTTP.
const ZSTD_WINDOW: u32 = 23;

const BUFFER: usize = 16 << 10;

/// Takes a body's chunks and keeps what they decode to.
pub(crate) struct Decoder {
    stage: Stage,
    limit: usize,
    /// An answer without a body may well say how the body would be coded.
    is_empty: bool,
    /// Of the bytes as they come: a coding can go on for ever without giving anything.
    raw_left: usize,
}

enum Stage {
    Plain(Plain),
    Gzip(Box<Gzip>),
    /// Undecided until its first bytes tell a zlib header from a raw stream.
    Deflate {
        start: Vec<u8>,
        next: Option<Counted>,
    },
    Inflate(Box<Inflate>),
    Brotli(Box<DecompressorWriter<Counted>>),
    Zstd(Box<zstd::stream::write::Decoder<'static, Counted>>),
}

/// A body as it is. One chunk alone is not copied.
#[derive(Default)]
struct Plain {
    first: Bytes,
    more: BytesMut,
    left: usize,
}

/// Members one after another, each of which costs memory to begin, whatever it holds.
struct Gzip {
    /// Nothing only while one member gives way to the next.
    member: Option<GzDecoder<Counted>>,
    left: usize,
}

/// A zlib or raw stream, which must come to its own end.
struct Inflate {
    state: Decompress,
    buffer: Vec<u8>,
    has_ended: bool,
    next: Counted,
}

/// Passes bytes on to the next stage until there are too many.
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
        // What is still coded may be a little larger than what comes out of it in the end.
        let within = limit + limit / 8 + BUFFER;
        // What was applied last is undone first, so the first named stands next to the plain body.
        for value in headers.get_all(CONTENT_ENCODING) {
            let codings = value.to_str().map_err(|_| failure::unknown_coding("?"))?;
            for coding in codings.split(',').map(str::trim) {
                layers += 1;
                if layers > MOST_CODINGS {
                    return Err(failure::too_many_codings(MOST_CODINGS));
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
        let kept = if let Stage::Plain(plain) = &mut self.stage {
            plain.keep(chunk)
        } else {
            self.stage.write_all(&chunk)
        };
        kept.map_err(|error| failed(&error, self.limit))
    }

    /// What is decoded by now and was not taken before; the limit is over all of it.
    pub(crate) fn take(&mut self) -> Result<Bytes, CallError> {
        self.stage.flush().map_err(|error| failed(&error, self.limit))?;
        Ok(self.stage.so_far())
    }

    /// What was decoded before something went wrong.
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
    /// The stage that undoes `coding` and passes on to this one.
    fn under(self, coding: &str, limit: usize) -> Result<Self, CallError> {
        let next = |stage: Self| Counted { left: limit, next: Box::new(stage) };
        Ok(match coding.to_ascii_lowercase().as_str() {
            "" | "identity" => self,
            "gzip" | "x-gzip" => {
                Self::Gzip(Box::new(Gzip { member: Some(GzDecoder::new(next(self))), left: MOST_MEMBERS }))
            }
            "deflate" => Self::Deflate { start: Vec::new(), next: Some(next(self)) },
            "br" => {
                let mut decoder = DecompressorWriter::new(next(self), BUFFER);
                // A window of up to a gigabyte is no part of HTTP's brotli.
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
            Self::Plain(plain) => plain.keep(Bytes::copy_from_slice(bytes)),
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

    /// Passes on what is decoded and only kept back.
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
            // The member has come to its end, and another begins.
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
        // What follows the end of the stream is nobody's.
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
    fn keep(&mut self, chunk: Bytes) -> io::Result<()> {
        if chunk.len() > self.left {
            // The beginning may still be of use.
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
