//! How a client finds the root of an export: the port mapper (RFC 1833, section 3) says where the
//! MOUNT service listens, and that (RFC 1813, appendix I) gives the handle.

use std::io::ErrorKind;
use std::net::SocketAddr;

use btu_units::Span;

use super::answer;
use super::client::{NEVER, connected};
use super::protocol::Handle;
use super::rpc::{self, CallHeader, Credential, RpcProgram};
use super::xdr::{Garbled, Writer, XdrReader};
use super::{NfsError, Status};
use crate::pump::{self, IdleTimeout};

/// The program MOUNT, version 3.
const MOUNT: RpcProgram = RpcProgram { number: 100_005, version: 3 };

/// MNT of a directory.
const MNT: u32 = 1;

/// The port mapper, version 2, and its well-known port.
const PORT_MAPPER: RpcProgram = RpcProgram { number: 100_000, version: 2 };
const PORT_MAPPER_PORT: u16 = 111;

/// GETPORT of a program over a transport.
const GETPORT: u32 = 3;
const OVER_TCP: u32 = 6;

/// No answer of these services is longer.
const LONGEST_ANSWER: usize = 1024;

/// Most ways to authenticate in an answer.
const MOST_FLAVOURS: u32 = 64;

/// The handle of the directory that `server` exports as `path`.
pub(super) fn root_of(
    server: SocketAddr,
    port: Option<u16>,
    path: &str,
    credential: &Credential,
    timeout: Span,
) -> Result<Handle, NfsError> {
    let port = match port {
        Some(port) => port,
        None => port_of_mount(server, credential, timeout)?,
    };
    let service = SocketAddr::new(server.ip(), port);
    let arguments = |to: &mut Writer<'_>| to.opaque(path.as_bytes());
    ask(service, ("MNT", MOUNT, MNT), credential, timeout, arguments, read_mounted)?
        .map_err(|status| NfsError::Refused { server: service, call: "MNT", status })
}

fn port_of_mount(
    server: SocketAddr,
    credential: &Credential,
    timeout: Span,
) -> Result<u16, NfsError> {
    let mapper = SocketAddr::new(server.ip(), PORT_MAPPER_PORT);
    let arguments = |to: &mut Writer<'_>| {
        for number in [MOUNT.number, MOUNT.version, OVER_TCP, 0] {
            to.number(number);
        }
    };
    let port =
        ask(mapper, ("GETPORT", PORT_MAPPER, GETPORT), credential, timeout, arguments, read_port)?;
    match u16::try_from(port) {
        Ok(port @ 1..) => Ok(port),
        // Zero means that there is no such service.
        _ => Err(NfsError::NoMountService { server: mapper }),
    }
}

fn read_port(from: &mut XdrReader<'_>) -> Result<u32, Garbled> {
    from.number()
}

/// A handle, or why there is none; the following authentication flavours are skipped.
fn read_mounted(from: &mut XdrReader<'_>) -> Result<Result<Handle, Status>, Garbled> {
    if let Err(status) = answer::read_status(from)? {
        return Ok(Err(status));
    }
    let handle = Handle::read(from)?;
    let flavours = from.number()?;
    if flavours > MOST_FLAVOURS {
        return Err(Garbled);
    }
    for _ in 0..flavours {
        from.number()?;
    }
    Ok(Ok(handle))
}

/// One call over a connection of its own.
fn ask<T>(
    server: SocketAddr,
    (name, program, procedure): (&'static str, RpcProgram, u32),
    credential: &Credential,
    timeout: Span,
    arguments: impl FnOnce(&mut Writer<'_>),
    read: impl FnOnce(&mut XdrReader<'_>) -> Result<T, Garbled>,
) -> Result<T, NfsError> {
    let mut stream = connected(server, timeout)?;
    let garbled = || NfsError::Garbled { server, call: name };
    let failed = |source: std::io::Error| match source.kind() {
        ErrorKind::TimedOut => NfsError::Silent { server, call: name, timeout },
        ErrorKind::InvalidData => garbled(),
        _ => NfsError::Connection { server, call: name, source },
    };
    let (mut output, mut input) = (Vec::new(), Vec::new());
    rpc::begin(&mut output);
    let mut to = Writer::new(&mut output);
    CallHeader::write(1, (program, procedure), credential, &mut to);
    arguments(&mut to);
    rpc::finish(&mut output);
    let timeout = IdleTimeout::new(&NEVER, timeout.into());
    pump::write(&mut stream, &output, &timeout).map_err(failed)?;
    let length = rpc::read_record(&mut stream, &mut input, LONGEST_ANSWER, &timeout)
        .and_then(|length| length.ok_or_else(|| ErrorKind::UnexpectedEof.into()))
        .map_err(failed)?;
    let mut reader = XdrReader::new(&input[..length]);
    match rpc::read_answer(&mut reader) {
        Ok((1, true)) => read(&mut reader).map_err(|Garbled| garbled()),
        _ => Err(garbled()),
    }
}

/// For fuzzers: any octets as answers of the two services.
pub(super) fn read_all(octets: &[u8]) {
    let _ = read_mounted(&mut XdrReader::new(octets));
    let _ = XdrReader::new(octets).number();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By RFC 1813, appendix I: status 0, a handle of four octets, one flavour, `AUTH_SYS`; and
    /// status 13, not permitted.
    #[test]
    fn an_answer_of_the_standard_is_read() {
        let granted = [0, 0, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 1];
        let handle = read_mounted(&mut XdrReader::new(&granted)).expect("whole").expect("granted");
        let mut out = Vec::new();
        handle.write(&mut Writer::new(&mut out));
        assert_eq!(out, [0, 0, 0, 4, 1, 2, 3, 4]);
        assert_eq!(read_mounted(&mut XdrReader::new(&[0, 0, 0, 13])), Ok(Err(Status(13))));
        for cut in 4..granted.len() {
            assert_eq!(read_mounted(&mut XdrReader::new(&granted[..cut])), Err(Garbled));
        }
        assert_eq!(
            read_mounted(&mut XdrReader::new(&[0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff])),
            Err(Garbled)
        );
    }
}
