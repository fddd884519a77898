//! The protocol of rcp, as 4.2BSD has it: the receiver sends a zero octet, the sender a record
//! `C0644 SIZE NAME`, which is answered, then the file and a zero octet, which is answered. An
//! answer is a zero octet, or 1 or 2 and a line of text.

use btu_traffic::{Flow, Limit};

use super::Over;
use super::store::Stored;
use super::stream::{DONE, hear_done, other_size, receive, say_done, send};
use crate::LoadError;
use crate::account::now;

/// The longest record: a name of 255 octets and the fields before it.
const LONGEST: usize = 300;

/// The name of the only file.
const NAME: &str = "copy";

/// The content of a record about a file.
#[derive(Debug, PartialEq, Eq)]
struct CopyRecord<'a> {
    size: u64,
    name: &'a str,
}

/// Reads `C0644 SIZE NAME`, without its newline: four octal digits, decimal digits, and a name
/// without a directory.
fn record(line: &[u8]) -> Option<CopyRecord<'_>> {
    let line = std::str::from_utf8(line).ok()?.strip_prefix('C')?;
    let mut words = line.splitn(3, ' ');
    let (mode, size, name) = (words.next()?, words.next()?, words.next()?);
    let is_mode = mode.len() == 4 && mode.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    let is_size = !size.is_empty() && size.bytes().all(|digit| digit.is_ascii_digit());
    let is_name =
        !name.is_empty() && !name.contains(['/', '\n', '\0']) && name != "." && name != "..";
    (is_mode && is_size && is_name).then_some(())?;
    Some(CopyRecord { size: size.parse().ok()?, name })
}

/// For fuzzers: any octets from a sender.
pub fn fuzz_record(line: &[u8]) {
    std::hint::black_box(record(line));
}

/// Sends the file by rcp's protocol.
pub(super) fn rcp_send(flow: &Flow, source: &Stored, limit: &Limit<'_>) -> Result<Over, LoadError> {
    hear_done(flow, limit, "wait for rcp's receiver")?;
    let connected = now()?;
    let record = format!("C0644 {} {NAME}\n", source.size());
    flow.write(record.as_bytes(), limit, "announce the file")?;
    hear_done(flow, limit, "wait for an answer to the announcement")?;
    let moved = send(flow, source, limit)?;
    flow.write(&[DONE], limit, "say that the file is complete")?;
    hear_done(flow, limit, "wait until the copy is durable")?;
    Ok(Over { connected, moved, durable: now()?, tcp: None })
}

/// Receives a file by rcp's protocol.
pub(super) fn rcp_receive(
    flow: &Flow,
    copy: &Stored,
    limit: &Limit<'_>,
) -> Result<Over, LoadError> {
    let connected = now()?;
    say_done(flow, limit)?;
    let mut room = [0; LONGEST];
    let line = read_line(flow, &mut room, limit)?;
    match record(line) {
        None => return Err(other_size(flow, copy, "its record is not an rcp record".to_owned())),
        Some(record) if record.size != copy.size() => {
            return Err(other_size(flow, copy, format!("announced {}", record.size)));
        }
        Some(_) => say_done(flow, limit)?,
    }
    let moved = receive(flow, copy, limit)?;
    let mut end = [DONE + 1];
    if !flow.read_exactly(&mut end, limit, "wait for the end of the file")? || end != [DONE] {
        return Err(other_size(
            flow,
            copy,
            "sent more, or said that it could not read all".to_owned(),
        ));
    }
    copy.make_durable()?;
    let durable = now()?;
    say_done(flow, limit)?;
    Ok(Over { connected, moved, durable, tcp: None })
}

/// A line, without its newline. A peer that sends more before it is answered has not sent a line.
fn read_line<'a>(
    flow: &Flow,
    room: &'a mut [u8],
    limit: &Limit<'_>,
) -> Result<&'a [u8], LoadError> {
    let mut length = 0;
    while length < room.len() {
        let came = flow.read(&mut room[length..], limit, "wait for rcp's record")?;
        length += came;
        if came == 0 || room[..length].contains(&b'\n') {
            break;
        }
    }
    Ok(room[..length].strip_suffix(b"\n").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn records_are_those_of_rcp() {
        assert_eq!(
            record(b"C0644 1000000 copy"),
            Some(CopyRecord { size: 1_000_000, name: "copy" })
        );
        assert_eq!(record(b"C0777 0 a name"), Some(CopyRecord { size: 0, name: "a name" }));
        for line in [
            &b"D0755 0 directory"[..],
            b"C644 1 x",
            b"C0844 1 x",
            b"C0644 -1 x",
            b"C0644 +1 x",
            b"C0644 1",
            b"C0644 1 ",
            b"C0644 1 ..",
            b"C0644 1 a/b",
            b"C0644 99999999999999999999 x",
            b"C0644 1 \xff",
            b"",
        ] {
            assert_eq!(record(line), None, "{}", String::from_utf8_lossy(line));
        }
    }

    proptest! {
        #[test]
        fn every_size_is_read_as_it_is_written(size: u64, name in "[a-z. ]{1,20}[a-z]") {
            let line = format!("C0644 {size} {name}");
            prop_assert_eq!(record(line.as_bytes()), Some(CopyRecord { size, name: &name }));
        }

        #[test]
        fn no_line_panics(line in prop::collection::vec(any::<u8>(), 0..60), near in "C[0-9]{3,5} [0-9+-]{0,21} \\PC{0,9}") {
            fuzz_record(&line);
            fuzz_record(near.as_bytes());
        }
    }
}
