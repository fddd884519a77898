//! The two directions of a connection: octets come and go while whole frames are taken and put.

use btu_contract::json;
use std::io;

use bytes::{Buf, Bytes, BytesMut};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::time::Instant;
use tokio_util::codec::{Decoder, Encoder, LengthDelimitedCodec};

use super::MESSAGE_LIMIT_BYTES;

/// A stream of octets in both directions.
pub trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Duplex for S {}

type AnyDuplex = Box<dyn Duplex>;

/// Octets that are read at a time, at least.
const READ_BYTES: usize = 4 << 10;

/// Octets that may wait to leave before nothing more is taken on; also what an idle connection may
/// keep of a buffer that has grown.
const ROOM_BYTES: usize = 1 << 20;

/// Both ends of a stream.
pub(super) fn ends(stream: impl Duplex + 'static) -> (Incoming, Outgoing) {
    let (reader, writer) = tokio::io::split(Box::new(stream) as AnyDuplex);
    let codec =
        || LengthDelimitedCodec::builder().max_frame_length(MESSAGE_LIMIT_BYTES).new_codec();
    let incoming =
        Incoming { reader, codec: codec(), buffer: BytesMut::new(), heard: Instant::now() };
    let outgoing = Outgoing {
        writer,
        codec: codec(),
        buffer: BytesMut::new(),
        is_flushed: true,
        moved: Instant::now(),
    };
    (incoming, outgoing)
}

/// What the other side says.
pub(super) struct Incoming {
    reader: ReadHalf<AnyDuplex>,
    codec: LengthDelimitedCodec,
    buffer: BytesMut,
    /// The time of the last octets.
    pub(super) heard: Instant,
}

impl Incoming {
    /// Waits for more octets; false at the end of the stream. Nothing is lost when it is dropped.
    pub(super) async fn read(&mut self) -> io::Result<bool> {
        self.buffer.reserve(READ_BYTES);
        let read = self.reader.read_buf(&mut self.buffer).await?;
        self.heard = Instant::now();
        Ok(read > 0)
    }

    /// The next frame, if all of it is here.
    ///
    /// # Errors
    /// It is longer than a message may be, or not what is due.
    pub(super) fn frame<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some(frame) = self.codec.decode(&mut self.buffer)? else { return Ok(None) };
        if self.buffer.is_empty() && frame.len() > ROOM_BYTES {
            self.buffer = BytesMut::new();
        }
        json::from_octets(&frame).map(Some).map_err(io::Error::from)
    }

    /// What has come and was not taken.
    pub(super) fn waiting(&self) -> &[u8] {
        &self.buffer
    }

    /// Takes so many octets of what has come.
    pub(super) fn take(&mut self, octets: usize) -> Bytes {
        self.buffer.split_to(octets.min(self.buffer.len())).freeze()
    }
}

/// What is said to the other side.
pub(super) struct Outgoing {
    writer: WriteHalf<AnyDuplex>,
    codec: LengthDelimitedCodec,
    buffer: BytesMut,
    is_flushed: bool,
    /// The time at which octets last left, or began to wait.
    pub(super) moved: Instant,
}

impl Outgoing {
    /// Has a frame wait to leave.
    ///
    /// # Errors
    /// It is longer than a message may be. Nothing waits then.
    pub(super) fn put(&mut self, frame: &impl Serialize) -> io::Result<()> {
        let frame = serde_json::to_string(frame)?;
        self.begin();
        self.codec.encode(Bytes::from(frame), &mut self.buffer)
    }

    /// Has octets wait to leave that are no frame.
    pub(super) fn put_octets(&mut self, octets: &[u8]) {
        self.begin();
        self.buffer.extend_from_slice(octets);
    }

    fn begin(&mut self) {
        if !self.is_pending() {
            self.moved = Instant::now();
        }
        self.is_flushed = false;
    }

    /// Whether anything waits to leave.
    pub(super) fn is_pending(&self) -> bool {
        !self.is_flushed
    }

    /// Whether so little waits that more may be taken on.
    pub(super) fn has_room(&self) -> bool {
        self.buffer.len() < ROOM_BYTES
    }

    /// Sends some of what waits. Nothing is lost when it is dropped.
    pub(super) async fn write(&mut self) -> io::Result<()> {
        if self.buffer.has_remaining() {
            if self.writer.write_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            if self.buffer.is_empty() {
                self.buffer = BytesMut::new();
            }
        } else {
            self.writer.flush().await?;
            self.is_flushed = true;
        }
        self.moved = Instant::now();
        Ok(())
    }

    /// Sends all that waits.
    pub(super) async fn write_all(&mut self) -> io::Result<()> {
        while self.is_pending() {
            self.write().await?;
        }
        Ok(())
    }
}
