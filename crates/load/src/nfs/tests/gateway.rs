//! A gateway to the server for clients of other makes, which send no token: MOUNT, and the token in
//! the place of their own credential.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

use btu_contract::activity::Token;

use super::super::rpc::{self, Credential, MARK, NFS, RpcProgram};
use super::super::xdr::{Garbled, Writer, XdrReader};
use super::super::{Handle, NfsServer};

const MOUNT: u32 = 100_005;
const MNT: u32 = 1;
const LONGEST: usize = (1 << 20) + 4096;

/// Listens on this port, 0 for any, for as long as the process lives.
pub(crate) fn gateway(server: &NfsServer, token: Token, port: u16) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("a gateway");
    let (address, server) = (listener.local_addr().expect("bound"), server.address());
    thread::spawn(move || {
        for (number, client) in (1..).zip(listener.incoming().flatten()) {
            // Each client is served until it hangs up.
            thread::spawn(move || serve(client, server, Credential::new(&token, number), token));
        }
    });
    address
}

/// Records one after the other: calls of MOUNT are answered here, those of NFS there.
fn serve(
    mut client: TcpStream,
    server: SocketAddr,
    credential: Credential,
    token: Token,
) -> Option<()> {
    client.set_nodelay(true).ok()?;
    let mut behind = TcpStream::connect(server).ok()?;
    behind.set_nodelay(true).ok()?;
    // The server requires NULL first.
    let mut hello = Vec::new();
    rpc::begin(&mut hello);
    super::super::rpc::CallHeader::write(0, (NFS, 0), &credential, &mut Writer::new(&mut hello));
    rpc::finish(&mut hello);
    behind.write_all(&hello).ok()?;
    record(&mut behind)?;
    loop {
        let call = record(&mut client)?;
        let mut answer = if let Some(answer) = mount(&call, &token) {
            answer
        } else {
            let mut passed = with_credential(&call, &credential).ok()?;
            rpc::finish(&mut passed);
            behind.write_all(&passed).ok()?;
            let mut answer = vec![0; MARK];
            answer.extend(record(&mut behind)?);
            answer
        };
        rpc::finish(&mut answer);
        client.write_all(&answer).ok()?;
    }
}

/// A record, of however many fragments.
fn record(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut record = Vec::new();
    loop {
        let mut octets = [0; MARK];
        from.read_exact(&mut octets).ok()?;
        let (length, is_last) = rpc::mark(octets);
        let start = record.len();
        (start + length <= LONGEST).then(|| record.resize(start + length, 0))?;
        from.read_exact(&mut record[start..]).ok()?;
        if is_last {
            return Some(record);
        }
    }
}

/// Transaction and procedure of a call, the program, and what follows them.
fn header(call: &[u8]) -> Result<([u32; 2], RpcProgram, XdrReader<'_>), Garbled> {
    let mut from = XdrReader::new(call);
    let transaction = from.number()?;
    (0..2).try_for_each(|_| from.number().map(drop))?;
    let program = RpcProgram { number: from.number()?, version: from.number()? };
    let procedure = from.number()?;
    Ok(([transaction, procedure], program, from))
}

/// The answer to a call of MOUNT, with room for its mark: the root for every path, and no list of
/// exports.
fn mount(call: &[u8], token: &Token) -> Option<Vec<u8>> {
    let ([transaction, procedure], program, _) = header(call).ok()?;
    (program.number == MOUNT).then(|| {
        let mut answer = vec![0; MARK];
        let mut to = Writer::new(&mut answer);
        rpc::write_answer(transaction, rpc::Accepted::Success, &mut to);
        match procedure {
            MNT => {
                to.number(0);
                Handle::root(token).write(&mut to);
                // One way to authenticate: AUTH_SYS.
                to.number(1);
                to.number(1);
            }
            // NULL and UMNT have no result; DUMP and EXPORT an empty list.
            0 | 3 | 4 => {}
            _ => to.flag(false),
        }
        answer
    })
}

/// A call of NFS, or of what a client takes for a part of it, with another credential, with room
/// for its mark.
fn with_credential(call: &[u8], credential: &Credential) -> Result<Vec<u8>, Garbled> {
    let ([transaction, procedure], program, mut from) = header(call)?;
    // Credential and verifier of the client's own.
    for _ in 0..2 {
        from.number()?;
        from.opaque(400)?;
    }
    let mut passed = vec![0; MARK];
    rpc::CallHeader::write(
        transaction,
        (program, procedure),
        credential,
        &mut Writer::new(&mut passed),
    );
    passed.extend(&call[call.len() - from.left()..]);
    Ok(passed)
}
