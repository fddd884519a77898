//! The server against a codec that others wrote: the crate `nfs3_types`.

use std::io::{Cursor, Read, Write};
use std::net::TcpStream;

use btu_units::hexadecimal;
use nfs3_types::nfs3::{
    COMMIT3args, COMMIT3res, CREATE3args, CREATE3res, GETATTR3args, GETATTR3res, LOOKUP3args,
    LOOKUP3res, Nfs3Option, Nfs3Result, READ3args, READ3res, REMOVE3args, REMOVE3res, RENAME3args,
    RENAME3res, WRITE3args, WRITE3res, createhow3, diropargs3, filename3, ftype3, nfs_fh3,
    nfsstat3, sattr3, stable_how,
};
use nfs3_types::rpc::{
    accept_stat_data, auth_flavor, auth_unix, call_body, msg_body, opaque_auth, reply_body, rpc_msg,
};
use nfs3_types::xdr_codec::{Opaque, Pack, Unpack, Void};

use super::{TOKEN, server};

/// A connection that says everything by the foreign codec.
struct Foreign {
    stream: TcpStream,
    transaction: u32,
}

/// Packs as a call wants it.
fn packed(value: &impl Pack) -> Vec<u8> {
    let mut out = Vec::new();
    value.pack(&mut out).expect("packed");
    out
}

impl Foreign {
    /// Calls and reads the answer's body.
    fn call<R: Unpack>(&mut self, procedure: u32, arguments: &[u8]) -> R {
        let machine = hexadecimal(&TOKEN);
        let machinename = Opaque::owned(machine.into_bytes());
        let body = packed(&auth_unix { stamp: 5, machinename, uid: 0, gid: 0, gids: vec![1, 2] });
        let cred = opaque_auth { flavor: auth_flavor::AUTH_UNIX, body: Opaque::owned(body) };
        self.transaction += 1;
        let call = call_body {
            rpcvers: 2,
            prog: 100_003,
            vers: 3,
            proc: procedure,
            cred,
            verf: opaque_auth::default(),
        };
        let body = msg_body::CALL(call);
        let mut out = packed(&rpc_msg { xid: self.transaction, body });
        out.extend(arguments);
        self.stream.write_all(&(1u32 << 31 | out.len() as u32).to_be_bytes()).expect("sent");
        self.stream.write_all(&out).expect("sent");
        let mut mark = [0; 4];
        self.stream.read_exact(&mut mark).expect("answered");
        let mut answer = vec![0; (u32::from_be_bytes(mark) & !(1 << 31)) as usize];
        self.stream.read_exact(&mut answer).expect("whole");
        let length = answer.len() as u64;
        let mut answer = Cursor::new(answer);
        let (message, _) = rpc_msg::unpack(&mut answer).expect("an answer");
        assert_eq!(message.xid, self.transaction);
        let msg_body::REPLY(reply_body::MSG_ACCEPTED(accepted)) = message.body else {
            panic!("{:?}", message.body)
        };
        assert!(matches!(accepted.reply_data, accept_stat_data::SUCCESS), "{accepted:?}");
        let (result, _) = R::unpack(&mut answer).expect("a result");
        assert_eq!(answer.position(), length, "all of it");
        result
    }
}

fn entry(directory: &nfs_fh3, name: &[u8]) -> diropargs3<'static> {
    diropargs3 { dir: directory.clone(), name: filename3(Opaque::owned(name.to_vec())) }
}

#[test]
fn a_codec_that_others_wrote_understands_the_server() {
    let service = server();
    let mut foreign = Foreign {
        stream: TcpStream::connect(service.server.address()).expect("a connection"),
        transaction: 0,
    };
    let Void = foreign.call(0, &[]);
    let handle = [&TOKEN[..], &1u64.to_be_bytes()].concat();
    let root = nfs_fh3 { data: Opaque::owned(handle) };
    let about: GETATTR3res = foreign.call(1, &packed(&GETATTR3args { object: root.clone() }));
    assert_eq!(about.unwrap().obj_attributes.type_, ftype3::NF3DIR);

    let how = createhow3::UNCHECKED(sattr3::default());
    let made: CREATE3res =
        foreign.call(8, &packed(&CREATE3args { where_: entry(&root, b"new"), how }));
    let Nfs3Option::Some(file) = made.unwrap().obj else { panic!("no handle") };

    let data = Opaque::owned(b"seven x".to_vec());
    let write =
        WRITE3args { file: file.clone(), offset: 0, count: 7, stable: stable_how::UNSTABLE, data };
    let written: WRITE3res = foreign.call(7, &packed(&write));
    let written = written.unwrap();
    assert_eq!((written.count, written.committed), (7, stable_how::UNSTABLE));
    let Nfs3Option::Some(after) = written.file_wcc.after else { panic!("no attributes") };
    assert_eq!((after.size, after.type_), (7, ftype3::NF3REG));
    let committed: COMMIT3res =
        foreign.call(21, &packed(&COMMIT3args { file: file.clone(), offset: 0, count: 0 }));
    assert_eq!(committed.unwrap().verf, written.verf);

    let rename = RENAME3args { from: entry(&root, b"new"), to: entry(&root, b"old") };
    let renamed: RENAME3res = foreign.call(14, &packed(&rename));
    renamed.unwrap();
    let found: LOOKUP3res = foreign.call(3, &packed(&LOOKUP3args { what: entry(&root, b"old") }));
    assert_eq!(found.unwrap().object, file);
    let read: READ3res<'static> =
        foreign.call(6, &packed(&READ3args { file: file.clone(), offset: 2, count: 100 }));
    let read = read.unwrap();
    assert_eq!((read.count, read.eof, read.data.as_ref()), (5, true, &b"ven x"[..]));

    let removed: REMOVE3res =
        foreign.call(12, &packed(&REMOVE3args { object: entry(&root, b"old") }));
    removed.unwrap();
    let gone: GETATTR3res = foreign.call(1, &packed(&GETATTR3args { object: file }));
    let Nfs3Result::Err((status, _)) = gone else { panic!("{gone:?}") };
    assert_eq!(status, nfsstat3::NFS3ERR_STALE);
    let none: LOOKUP3res = foreign.call(3, &packed(&LOOKUP3args { what: entry(&root, b"old") }));
    assert!(matches!(none, Nfs3Result::Err((nfsstat3::NFS3ERR_NOENT, _))));
    drop(foreign);
    assert_eq!(service.server.stop()[&5].operations, 10);
}
