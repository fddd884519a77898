//! Full disks.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::databases::{Stored, directory, is_root};
use crate::support::{Made, Publisher, Sent, Server, curl, publish};
use crate::uploads::server_with;

/// A small disk; it is unmounted with this value.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// `None` for a user who may not mount: it prints that, and root fails if a lab is required.
    fn mount() -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=6m,mode=777", "tmpfs"]).arg(directory.path());
        if mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
            return Some(Self(directory));
        }
        if is_root() {
            let is_required = std::env::var("BTU_LAB").as_deref() == Ok("required");
            assert!(!is_required, "LAB REQUIRED but root may not mount here");
            eprintln!("LAB SKIPPED: root may not mount a small disk here");
        } else {
            eprintln!("small disks are root's: tested as root only");
        }
        None
    }

    /// Fills it to the last bytes; returns the file that does.
    fn fill(&self, spare: u64) -> PathBuf {
        let path = self.0.path().join("filler");
        let mut file = fs::File::create(&path).expect("a file");
        while file.write(&[0; 4096]).is_ok_and(|count| count > 0) {}
        let length = file.metadata().expect("a length").len();
        file.set_len(length.saturating_sub(spare)).expect("shortened");
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["--lazy"]).arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_stores_nothing_half() {
    let Some(disk) = SmallDisk::mount() else { return };
    let stored = Stored::Directory(tempfile::tempdir_in(disk.0.path()).expect("a directory"));
    let server = stored.server();
    refuses_while_full(&stored, &server, &disk);
}

#[test]
fn a_full_temporary_directory_stores_nothing_half() {
    let Some(disk) = SmallDisk::mount() else { return };
    let stored = directory();
    let server = server_with(&stored, disk.0.path(), &[]);
    refuses_while_full(&stored, &server, &disk);
}

fn refuses_while_full(stored: &Stored, server: &Server, disk: &SmallDisk) {
    let ada = Publisher::new("Ada");
    let first = publish(&Made::of(100.0), &ada, server);
    let sent = Sent::of(&Made::of(200.0), &ada, &server.url);
    let listed = || curl(&[&format!("{}/api/v1/runs", server.url)]).text();
    let before = listed();
    // Space for nothing, for the archive, for what is computed of it.
    for spare in [0, 0, 24 << 10, 96 << 10, 256 << 10, 640 << 10] {
        let filler = disk.fill(spare);
        let answer = sent.send(&ada, &server.url);
        eprintln!("{spare} bytes free: {}", answer.status);
        if answer.status == 201 {
            fs::remove_file(filler).expect("removed");
            break;
        }
        assert!(matches!(answer.status, 503 | 507), "{spare}: {}", answer.text());
        assert!(spare > 0 || answer.refused().contains("disk is full: nothing was stored"));
        assert_eq!(listed(), before);
        assert_eq!(curl(&[&format!("{}/runs/{}", server.url, first.id)]).status, 200);
        assert!(stored.command(&["check"]).expect("the chain holds").contains("1 accepted"));
        fs::remove_file(filler).expect("removed");
    }
    let again = sent.send(&ada, &server.url);
    assert!(again.status == 201 || again.refused().contains("here already"), "{}", again.text());
    assert!(stored.command(&["check"]).expect("the chain holds").contains("2 accepted"));
}
