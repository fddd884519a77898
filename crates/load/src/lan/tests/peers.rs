//! Tests that perform the tasks at file servers, and through clients, of other authors.
//! `scripts/nfs-lab` runs these tests: environment variables give the address of the peer.

use std::io::Read;
use std::net::SocketAddr;
use std::path::PathBuf;

use btu_contract::activity::FilesPlace;
use btu_contract::lan::{FileSizes, Task};
use btu_contract::peers::Callers;
use btu_units::Span;

use super::super::work::TaskState;
use super::{ROOM, task};
use crate::files::{Files, RemoteFiles};
use crate::nfs::tests::gateway::gateway;
use crate::nfs::{NfsClient, NfsServer, ServerSettings};

const TIMEOUT: Span = Span::from_seconds(20);

/// The seed of [`task`], so that files and digests are the same.
const SEED: u64 = 11;

fn told(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} says where the peer is: run scripts/nfs-lab"))
}

/// Digests of the tasks on this machine's own disk, and their operations.
fn here(which: Task) -> (String, u64) {
    let directory = tempfile::tempdir().expect("tempdir");
    let own =
        FilesPlace::Own { directory: directory.path().to_owned(), room: ROOM, service: Span::ZERO };
    let done = task(which, own);
    assert_eq!(done.wrong, 0, "{which}");
    (done.digest, done.operations)
}

/// btu's client at a server of another make: `BTU_NFS_SERVER` is its address and port,
/// `BTU_NFS_MOUNT_PORT` the port of its MOUNT service (by default its port mapper gives it), and
/// `BTU_NFS_EXPORT` its exported directory.
#[test]
#[ignore = "needs a server of another make: scripts/nfs-lab"]
fn our_client_does_every_task_at_a_server_of_another_make() {
    let server: SocketAddr = told("BTU_NFS_SERVER").parse().expect("an address and a port");
    let mount_port =
        std::env::var("BTU_NFS_MOUNT_PORT").ok().map(|port| port.parse().expect("a port"));
    let client =
        NfsClient::mount(server, mount_port, &told("BTU_NFS_EXPORT"), 1, TIMEOUT).expect("mounted");
    let mut files = RemoteFiles::new(client);
    for which in Task::ALL {
        let mut work = TaskState::new(which, FileSizes::Scaled(1), SEED);
        work.lay_out(&mut files).unwrap_or_else(|error| panic!("{which}: {error}"));
        let before = files.operations();
        work.perform(&mut files).unwrap_or_else(|error| panic!("{which}: {error}"));
        let operations = files.operations() - before;
        assert!(
            work.is_right() && work.is_left(&mut files).expect("it can be looked at"),
            "{which}"
        );
        assert_eq!(operations, here(which).1, "{which}: as many calls as at our own server");
        println!("{which}: {operations} operations");
    }
}

/// Another client at any server: `BTU_NFS_SHARE` is a directory where it has mounted that.
#[test]
#[ignore = "needs a mounted share: scripts/nfs-lab"]
fn every_task_is_the_same_through_another_client() {
    let directory = PathBuf::from(told("BTU_NFS_SHARE"));
    let before = std::fs::read_dir(&directory).expect("readable").count();
    for which in Task::ALL {
        let done = task(which, FilesPlace::Share { directory: directory.clone() });
        assert_eq!(
            (done.wrong, done.digest.clone(), done.operations),
            (0, here(which).0, here(which).1),
            "{which}"
        );
        let share = done.share.expect("it says what it is");
        assert!(
            share.filesystem.starts_with("nfs") || share.filesystem.starts_with("fuse"),
            "{share:?}"
        );
        println!(
            "{which}: {} operations on {} ({}), past the cache: {}",
            done.operations, share.filesystem, share.options, share.is_direct
        );
    }
    assert_eq!(std::fs::read_dir(&directory).expect("readable").count(), before, "nothing is left");
}

/// Our server for other clients on `BTU_NFS_PORT`, MOUNT included, until standard input ends.
#[test]
#[ignore = "serves until its input ends: scripts/nfs-lab"]
fn our_server_serves_other_clients() {
    let directory = tempfile::tempdir().expect("tempdir");
    let settings = ServerSettings {
        address: std::net::Ipv4Addr::LOCALHOST.into(),
        token: [7; 16],
        directory: directory.path().to_owned(),
        // Programs that copy files there need free space.
        room: ROOM * 4,
        service: Span::ZERO,
    };
    let ours = NfsServer::start(&settings, &Callers::any()).expect("a server");
    let address = gateway(&ours, [7; 16], told("BTU_NFS_PORT").parse().expect("a port"));
    println!("serving on {address}");
    std::io::stdin().read_to_end(&mut Vec::new()).expect("read");
    let served: u64 = ours.stop().values().map(|client| client.operations).sum();
    assert!(served > 0, "somebody was served");
    println!("{served} operations served");
}
