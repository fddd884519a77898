//! The server against the programs of libnfs (Debian: libnfs-utils), which share nothing with it.

use std::process::{Command, Output};

use super::gateway::gateway;
use super::{TOKEN, content, server};

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
