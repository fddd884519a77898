//! The server against a codec that others wrote: the crate `nfs3_types`.

use std::io::{Cursor, Read, Write};
use std::net::TcpStream;

use btu_units::hexadecimal;
use nfs3_types::nfs3::{
    COMMIT3args, COMMIT3res, CREATE3args, CREATE3res, GETATTR3args, GETATTR3res, LOOKUP3args,
    LOOKUP3res, Nfs3Option, Nfs3Result, READ3args, READ3res, REMOVE3args, REMOVE3res, RENAME3args,
    RENAME3res, WRITE3args, WRITE3res, createhow3, createverf3, diropargs3, filename3, ftype3,
    nfs_fh3, nfsstat3, sattr3, stable_how,
};
use nfs3_types::rpc::{
    accept_stat_data, auth_flavor, auth_unix, call_body, msg_body, opaque_auth, reply_body, rpc_msg,
};
use nfs3_types::xdr_codec::{Opaque, Pack, Unpack, Void};

use super::{TOKEN, server};

/// A connection that sends all messages by the foreign codec.
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
    /// Calls NFS and reads the answer's body.
    fn call<R: Unpack>(&mut self, procedure: u32, arguments: &[u8]) -> R {
        let (accepted, mut answer) = self.ask((100_003, 3), procedure, arguments);
        assert!(matches!(accepted, accept_stat_data::SUCCESS), "{accepted:?}");
        let (result, _) = R::unpack(&mut answer).expect("a result");
        assert_eq!(answer.position(), answer.get_ref().len() as u64, "all of it");
        result
    }

    /// Calls a version of a program; returns the acceptance, and the rest of the answer.
    fn ask(
        &mut self,
        (prog, vers): (u32, u32),
        procedure: u32,
        arguments: &[u8],
    ) -> (accept_stat_data, Cursor<Vec<u8>>) {
        let machine = hexadecimal(&TOKEN);
        let machinename = Opaque::owned(machine.into_bytes());
        let body = packed(&auth_unix { stamp: 5, machinename, uid: 0, gid: 0, gids: vec![1, 2] });
        let cred = opaque_auth { flavor: auth_flavor::AUTH_UNIX, body: Opaque::owned(body) };
        self.transaction += 1;
        let call = call_body {
            rpcvers: 2,
            prog,
            vers,
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
        let mut answer = Cursor::new(answer);
        let (message, _) = rpc_msg::unpack(&mut answer).expect("an answer");
        assert_eq!(message.xid, self.transaction);
        let msg_body::REPLY(reply_body::MSG_ACCEPTED(accepted)) = message.body else {
            panic!("{:?}", message.body)
        };
        (accepted.reply_data, answer)
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

/// Linux's client asks for access control lists, by a program of their own, on the same connection.
#[test]
fn other_programs_and_versions_are_answered_and_the_connection_stays() {
    let service = server();
    let mut foreign = Foreign {
        stream: TcpStream::connect(service.server.address()).expect("a connection"),
        transaction: 0,
    };
    let Void = foreign.call(0, &[]);
    let handle = packed(&Opaque::owned([&TOKEN[..], &1u64.to_be_bytes()].concat()));
    let (accepted, _) = foreign.ask((100_227, 3), 1, &handle);
    assert!(matches!(accepted, accept_stat_data::PROG_UNAVAIL), "{accepted:?}");
    let (accepted, _) = foreign.ask((100_003, 4), 1, &handle);
    let accept_stat_data::PROG_MISMATCH { low, high } = accepted else { panic!("{accepted:?}") };
    assert_eq!((low, high), (3, 3));
    let Void = foreign.call(0, &[]);
}

/// Opening an existing file keeps its content; a guarded creation is refused; and an exclusive
/// creation gets an error after which Linux's client uses a guarded one.
#[test]
fn a_file_that_exists_is_kept_or_refused_as_the_call_wants_it() {
    let service = server();
    let mut foreign = Foreign {
        stream: TcpStream::connect(service.server.address()).expect("a connection"),
        transaction: 0,
    };
    let Void = foreign.call(0, &[]);
    let root = nfs_fh3 { data: Opaque::owned([&TOKEN[..], &1u64.to_be_bytes()].concat()) };
    let mut create = |how| -> CREATE3res {
        foreign.call(8, &packed(&CREATE3args { where_: entry(&root, b"f"), how }))
    };
    let exclusive = create(createhow3::EXCLUSIVE(createverf3([7; 8])));
    assert!(matches!(exclusive, Nfs3Result::Err((nfsstat3::NFS3ERR_NOTSUPP, _))));
    let made = create(createhow3::GUARDED(sattr3::default())).unwrap();
    let Nfs3Option::Some(file) = made.obj else { panic!("no handle") };
    let again = create(createhow3::GUARDED(sattr3::default()));
    assert!(matches!(again, Nfs3Result::Err((nfsstat3::NFS3ERR_EXIST, _))));
    let data = Opaque::owned(b"kept".to_vec());
    let write = WRITE3args { file, offset: 0, count: 4, stable: stable_how::FILE_SYNC, data };
    let written: WRITE3res = foreign.call(7, &packed(&write));
    written.unwrap();
    for (size, expected) in [(None, 4), (Some(0), 0)] {
        let size = size.map_or(Nfs3Option::None, Nfs3Option::Some);
        let how = createhow3::UNCHECKED(sattr3 { size, ..sattr3::default() });
        let opened: CREATE3res =
            foreign.call(8, &packed(&CREATE3args { where_: entry(&root, b"f"), how }));
        let Nfs3Option::Some(about) = opened.unwrap().obj_attributes else { panic!("nothing") };
        assert_eq!(about.size, expected);
    }
}
