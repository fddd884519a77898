//! The server against the programs of libnfs (Debian: libnfs-utils), which share nothing with it.

use std::process::{Command, Output};

use super::gateway::gateway;
use super::{
    Bytes, Callers, Ipv4Addr, NfsClient, NfsServer, ServerSettings, Span, Stability, TIMEOUT,
    TOKEN, Transfer, content, server,
};

/// The output of a program of libnfs with these arguments; `None` if it is not installed.
fn libnfs(program: &str, words: &[&str]) -> Option<Output> {
    match Command::new(program).args(words).output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!(
                "LAB SKIPPED: the NFS server is not tested with libnfs: no {program} (Debian: libnfs-utils)"
            );
            assert_ne!(
                std::env::var("BTU_LAB").as_deref(),
                Ok("required"),
                "BTU_LAB=required, and there is no {program}"
            );
            None
        }
        Err(error) => panic!("{program}: {error}"),
    }
}

/// libnfs stores a file at the server, fetches it and lists its size, and btu's own client reads
/// the stored file.
#[test]
fn programs_of_libnfs_copy_to_and_from_the_server() {
    let service = server();
    let port = gateway(&service.server, TOKEN, 0).port();
    let directory = tempfile::tempdir().expect("tempdir");
    let path =
        |name: &str| directory.path().join(name).to_str().expect("a path in UTF-8").to_owned();
    let url = |name: &str| format!("nfs://127.0.0.1/export/{name}?nfsport={port}&mountport={port}");
    let original = content(3 << 20);
    std::fs::write(path("original"), &original).expect("written");
    let Some(output) = libnfs("nfs-cp", &[&path("original"), &url("copy")]) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = libnfs("nfs-cp", &[&url("copy"), &path("back")]).expect("it was there before");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read(path("back")).expect("copied"), original);
    let listed =
        libnfs("nfs-ls", &[&format!("nfs://127.0.0.1/export?nfsport={port}&mountport={port}")]);
    let listed = String::from_utf8(listed.expect("it was there before").stdout).expect("text");
    assert!(listed.contains(&(3 << 20).to_string()) && listed.contains("copy"), "{listed}");
    let mut client = service.client(9);
    let root = client.root();
    let file = client.look_up(&root, "copy").expect("there").handle;
    let mut first = [0; 4096];
    client.read_at(&file, 0, &mut first).expect("read");
    assert_eq!(first[..], original[..4096]);
}

/// Our client and nfs-cp put the same file in turns, through the same gateway: ours is no slower
/// than chance makes it. In pairs, since both share a machine with others.
#[test]
#[ignore = "compares speeds, of a release build: scripts/lan-lab copy"]
fn our_client_is_no_slower_than_nfs_cp() {
    const ROUNDS: usize = 9;
    let directory = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
    let settings = ServerSettings {
        address: Ipv4Addr::LOCALHOST.into(),
        token: TOKEN,
        directory: directory.path().to_owned(),
        room: Bytes::new(256 << 20),
        service: Span::ZERO,
    };
    let server = NfsServer::start(&settings, &Callers::any()).expect("a server");
    let port = gateway(&server, TOKEN, 0).port();
    let path = directory.path().join("original");
    let original = content(64 << 20);
    std::fs::write(&path, &original).expect("written");
    let path = path.to_str().expect("UTF-8");
    let url = format!("nfs://127.0.0.1/export/theirs?nfsport={port}&mountport={port}");
    let to = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let theirs = || {
        let started = std::time::Instant::now();
        let output = libnfs("nfs-cp", &[path, &url])?;
        let seconds = started.elapsed().as_secs_f64();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // It makes no file that is there already.
        let mut client = NfsClient::connect(to, &TOKEN, 8, TIMEOUT).expect("connected");
        let root = client.root();
        client.remove(&root, "theirs").expect("removed");
        Some(seconds)
    };
    let transfer = Transfer { block: 1 << 20, window: 4, stability: Stability::Unstable };
    let ours = || {
        let started = std::time::Instant::now();
        let mut client = NfsClient::connect(to, &TOKEN, 7, TIMEOUT).expect("connected");
        let root = client.root();
        let file = client.create(&root, "ours").expect("made").handle;
        let mut source = std::fs::File::open(path).expect("open");
        let written = client.write_file(&file, &mut source, transfer).expect("written");
        client.commit_written(&file, &written).expect("durable");
        started.elapsed().as_secs_f64()
    };
    let mut ratios = Vec::new();
    for round in 0..=ROUNDS {
        let first = (round % 2 == 0).then(ours);
        let Some(theirs) = theirs() else { return };
        let ours = first.unwrap_or_else(ours);
        println!("nfs-cp {theirs:.3} s, ours {ours:.3} s");
        // The first round finds nothing warm.
        if round > 0 {
            ratios.push(theirs / ours);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let [quarter, half, three] = [ROUNDS / 4, ROUNDS / 2, ROUNDS * 3 / 4].map(|at| ratios[at]);
    println!("nfs put, nfs-cp: ratio {half:.3} ({quarter:.3} .. {three:.3})");
    assert!(three >= 1.0, "ours is slower in three quarters of the rounds: {ratios:?}");
}
