//! Remote procedure calls (RFC 5531): a call's header with its credential, an answer's header, and
//! records on a stream.

use std::io::{self, ErrorKind, Read};

use btu_contract::activity::Token;
use subtle::ConstantTimeEq;

use super::xdr::{Garbled, Writer, XdrReader};
use crate::pump::{self, IdleTimeout};

/// A program of remote procedures, and its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RpcProgram {
    pub(super) number: u32,
    pub(super) version: u32,
}

/// NFS (RFC 1813, section 1.2).
pub(super) const NFS: RpcProgram = RpcProgram { number: 100_003, version: 3 };

const CALL: u32 = 0;
const REPLY: u32 = 1;
const RPC_VERSION: u32 = 2;
const AUTH_NONE: u32 = 0;
const AUTH_SYS: u32 = 1;

/// Longest body of a credential or verifier (RFC 5531, section 8.2).
const LONGEST_AUTH: usize = 400;

/// Longest machine name of a credential (RFC 5531, appendix A).
const LONGEST_MACHINE: usize = 255;

/// Most groups of a credential (same).
const MOST_GROUPS: u32 = 16;

/// Most fragments of a record: a sender that writes whole records needs only one.
const MOST_FRAGMENTS: usize = 16;

/// Octets of a record's mark.
pub(super) const MARK: usize = 4;

/// The caller: the token, as the machine name of `AUTH_SYS` in hexadecimal digits, and the caller's
/// number, as its stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Credential {
    machine: [u8; 32],
    /// The number of this client in the server's account.
    pub(super) client: u32,
}

impl Credential {
    pub(super) fn new(token: &Token, client: u32) -> Self {
        let mut machine = [0; 32];
        for (digits, octet) in machine.chunks_exact_mut(2).zip(token) {
            let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
            digits.copy_from_slice(&[digit(octet >> 4), digit(octet & 15)]);
        }
        Self { machine, client }
    }

    /// Whether it has the token; takes equal time for every wrong one.
    pub(super) fn says(&self, token: &Token) -> bool {
        self.machine.ct_eq(&Self::new(token, 0).machine).into()
    }

    fn write(&self, to: &mut Writer<'_>) {
        let length = 4 + 4 + self.machine.len() + 4 + 4 + 4;
        to.number(AUTH_SYS);
        to.number(length as u32);
        to.number(self.client);
        to.opaque(&self.machine);
        // User and group 0, no further groups: the server's files have no owner.
        (0..3).for_each(|_| to.number(0));
    }

    /// The credential of a call; none where it is of another flavour, or its machine name cannot be
    /// a token.
    fn read(from: &mut XdrReader<'_>) -> Result<Option<Self>, Garbled> {
        let flavour = from.number()?;
        let body = from.opaque(LONGEST_AUTH)?;
        if flavour != AUTH_SYS {
            return Ok(None);
        }
        let mut body = XdrReader::new(body);
        let client = body.number()?;
        let machine = body.opaque(LONGEST_MACHINE)?;
        body.number()?;
        body.number()?;
        let groups = body.number()?;
        if groups > MOST_GROUPS {
            return Err(Garbled);
        }
        for _ in 0..groups {
            body.number()?;
        }
        body.end()?;
        Ok(machine.try_into().ok().map(|machine| Self { machine, client }))
    }
}

/// The header of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallHeader {
    /// The number that identifies its answer.
    pub(super) transaction: u32,
    pub(super) program: RpcProgram,
    pub(super) procedure: u32,
    pub(super) credential: Option<Credential>,
}

impl CallHeader {
    pub(super) fn write(
        transaction: u32,
        (program, procedure): (RpcProgram, u32),
        credential: &Credential,
        to: &mut Writer<'_>,
    ) {
        for number in [transaction, CALL, RPC_VERSION, program.number, program.version, procedure] {
            to.number(number);
        }
        credential.write(to);
        to.number(AUTH_NONE);
        to.opaque(&[]);
    }

    pub(super) fn read(from: &mut XdrReader<'_>) -> Result<Self, Garbled> {
        let transaction = from.number()?;
        if from.number()? != CALL || from.number()? != RPC_VERSION {
            return Err(Garbled);
        }
        let program = RpcProgram { number: from.number()?, version: from.number()? };
        let procedure = from.number()?;
        let credential = Credential::read(from)?;
        from.number()?;
        from.opaque(LONGEST_AUTH)?;
        Ok(Self { transaction, program, procedure, credential })
    }
}

/// The acceptance of a well-formed call (RFC 5531, section 9, `accept_stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accepted {
    Success = 0,
    OtherProgram = 1,
    OtherVersion = 2,
    NoSuchProcedure = 3,
    Garbled = 4,
}

/// Writes the header of an answer.
pub(super) fn write_answer(transaction: u32, accepted: Accepted, to: &mut Writer<'_>) {
    for number in [transaction, REPLY, 0, AUTH_NONE] {
        to.number(number);
    }
    to.opaque(&[]);
    match accepted {
        Accepted::OtherVersion => {
            for number in [2, NFS.version, NFS.version] {
                to.number(number);
            }
        }
        other => to.number(other as u32),
    }
}

/// Reads the header of an answer: the number of its call, and whether that was accepted.
pub(super) fn read_answer(from: &mut XdrReader<'_>) -> Result<(u32, bool), Garbled> {
    let transaction = from.number()?;
    if from.number()? != REPLY {
        return Err(Garbled);
    }
    match from.number()? {
        0 => {
            from.number()?;
            from.opaque(LONGEST_AUTH)?;
            Ok((transaction, from.number()? == 0))
        }
        1 => Ok((transaction, false)),
        _ => Err(Garbled),
    }
}

/// Begins a record in `out`: room for its mark.
pub(super) fn begin(out: &mut Vec<u8>) {
    out.clear();
    out.extend([0; MARK]);
}

/// Ends it: the mark says that it is the last fragment, and how long it is (RFC 5531, section 11).
pub(super) fn finish(out: &mut [u8]) {
    let mark = 1 << 31 | (out.len() - MARK) as u32;
    out[..MARK].copy_from_slice(&mark.to_be_bytes());
}

/// The content of a mark: the fragment's length, and whether it is the record's last.
pub(super) const fn mark(octets: [u8; MARK]) -> (usize, bool) {
    let number = u32::from_be_bytes(octets);
    ((number & !(1 << 31)) as usize, number >> 31 == 1)
}

/// Reads a record of at most `most` octets into the front of `into` and says how long it is; none
/// where the stream ends before it begins. `into` grows to the longest record that came, and is
/// never cleared: that would take as long as reading.
pub(super) fn read_record(
    from: &mut impl Read,
    into: &mut Vec<u8>,
    most: usize,
    timeout: &IdleTimeout<'_>,
) -> io::Result<Option<usize>> {
    let mut end = 0;
    for fragment in 0..MOST_FRAGMENTS {
        let mut octets = [0; MARK];
        if !read_whole(from, &mut octets, fragment == 0, timeout)? {
            return Ok(None);
        }
        let (length, is_last) = mark(octets);
        let start = end;
        if length > most - start {
            return Err(ErrorKind::InvalidData.into());
        }
        end += length;
        if into.len() < end {
            into.resize(end, 0);
        }
        read_whole(from, &mut into[start..end], false, timeout)?;
        if is_last {
            return Ok(Some(end));
        }
    }
    Err(ErrorKind::InvalidData.into())
}

/// Fills `into`; false where the stream ends before the first octet and `may_end`.
fn read_whole(
    from: &mut impl Read,
    into: &mut [u8],
    may_end: bool,
    timeout: &IdleTimeout<'_>,
) -> io::Result<bool> {
    let mut filled = 0;
    while filled < into.len() {
        match pump::read(from, &mut into[filled..], timeout)? {
            0 if filled == 0 && may_end => return Ok(false),
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            read => filled += read,
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn record(stream: &[u8], most: usize) -> io::Result<Option<Vec<u8>>> {
        let stop = AtomicBool::new(false);
        let timeout = IdleTimeout::new(&stop, Duration::from_secs(5));
        let mut record = Vec::new();
        Ok(read_record(&mut &stream[..], &mut record, most, &timeout)?
            .map(|length| record[..length].to_vec()))
    }

    /// By RFC 5531 sections 9 and 11: 24 octets of header, 60 of credential, 8 of verifier, and a
    /// mark of 4.
    #[test]
    fn a_header_has_the_lengths_of_the_standard() {
        let mut out = Vec::new();
        begin(&mut out);
        CallHeader::write(
            7,
            (NFS, 1),
            &Credential::new(&[0xab; 16], 3),
            &mut Writer::new(&mut out),
        );
        finish(&mut out);
        assert_eq!(out.len(), 96);
        assert_eq!(out[..8], [0x80, 0, 0, 92, 0, 0, 0, 7]);
        let header = CallHeader::read(&mut XdrReader::new(&out[MARK..])).expect("whole");
        assert_eq!((header.transaction, header.procedure, header.program), (7, 1, NFS));
        let credential = header.credential.expect("a token");
        assert!(credential.says(&[0xab; 16]) && !credential.says(&[0xac; 16]));
        assert_eq!(credential.client, 3);
    }

    #[test]
    fn records_are_put_together_and_bounded() {
        let two = [&[0, 0, 0, 2, 1, 2][..], &[0x80, 0, 0, 1, 3]].concat();
        assert_eq!(record(&two, 3).expect("whole"), Some(vec![1, 2, 3]));
        assert_eq!(record(&two, 2).map_err(|error| error.kind()), Err(ErrorKind::InvalidData));
        assert_eq!(
            record(&two[..9], 9).map_err(|error| error.kind()),
            Err(ErrorKind::UnexpectedEof)
        );
        assert_eq!(record(&[], 9).expect("an end"), None);
        let endless = [0u8; 4].repeat(1000);
        assert_eq!(record(&endless, 9).map_err(|error| error.kind()), Err(ErrorKind::InvalidData));
    }

    proptest! {
        #[test]
        fn a_credential_is_read_as_it_is_written(token in any::<Token>(), other in any::<Token>(), client in any::<u32>()) {
            let credential = Credential::new(&token, client);
            let mut out = Vec::new();
            credential.write(&mut Writer::new(&mut out));
            prop_assert_eq!(Credential::read(&mut XdrReader::new(&out)), Ok(Some(credential)));
            prop_assert!(credential.says(&token));
            prop_assert_eq!(credential.says(&other), token == other);
        }

        #[test]
        fn answers_are_read_as_they_are_written(transaction in any::<u32>(), which in 0usize..5) {
            let accepted = [Accepted::Success, Accepted::OtherProgram, Accepted::OtherVersion, Accepted::NoSuchProcedure, Accepted::Garbled][which];
            let mut out = Vec::new();
            write_answer(transaction, accepted, &mut Writer::new(&mut out));
            let read = read_answer(&mut XdrReader::new(&out));
            prop_assert_eq!(read, Ok((transaction, accepted == Accepted::Success)));
        }

        #[test]
        fn no_octets_panic(octets in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = CallHeader::read(&mut XdrReader::new(&octets));
            let _ = read_answer(&mut XdrReader::new(&octets));
            drop(record(&octets, 64));
        }
    }
}
