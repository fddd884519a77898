//! What surrounds a server of the system that other hosts order: namespaces in which it finds the
//! programs of the system, the open file, and nothing else of this host.
//!
//! sftp gives its user every path that the server can open, whatever directory it begins in. So the
//! server has a file system of its own, in memory, with the system's programs and libraries, four
//! files that they read, and the processes of the sandbox alone. It has no network but its
//! connection. All of its processes end with the first, and that with this process.

use std::ffi::OsString;

use nix::unistd::{AccessFlags, access};

use super::find;
use crate::LoadError;

/// Makes the file system over a directory that every system has, changes to it, and runs the rest of
/// the words. The shell stays as the first process, which ends with its parent.
const SURROUND: &str = r#"
set -e
PATH=/usr/bin:/usr/sbin:/bin:/sbin
mount -t tmpfs -o mode=755,size=1m tmpfs /tmp
cd /tmp
mkdir usr etc dev proc old
for name in bin sbin lib lib32 lib64; do
    if [ -L /$name ]; then ln -s "$(readlink /$name)" $name
    elif [ -d /$name ]; then mkdir $name && mount --rbind /$name $name
    fi
done
mount --rbind /usr usr
for name in passwd group nsswitch.conf ld.so.cache; do
    if [ -e /etc/$name ]; then cat /etc/$name >etc/$name; fi
done
for name in null urandom; do : >dev/$name && mount --bind /dev/$name dev/$name; done
mount -t proc proc proc
pivot_root . old
umount -l /old
rmdir /old
set +e
"$@"
exit $?
"#;

/// What only the superuser may write, in whatever namespace.
const OF_THE_SUPERUSER: &str = "/proc/sys/kernel/core_pattern";

/// The superuser's server could change what belongs to the superuser, such as the programs.
pub(super) fn check(program: &'static str) -> Result<(), LoadError> {
    if access(OF_THE_SUPERUSER, AccessFlags::W_OK).is_err() {
        return Ok(());
    }
    let problem = "the superuser's agent starts no program of the system for other hosts, which could change this one: \
                   run the agent as another user";
    Err(LoadError::Program { program, problem: problem.to_owned() })
}

/// The command in front of the server's.
pub(super) fn words() -> Result<Vec<OsString>, LoadError> {
    let (unshare, setpriv) = (find("unshare")?, find("setpriv")?);
    // A new user namespace forgets what is to happen when the parent ends, so that comes after it.
    let mut words = vec![unshare.clone().into()];
    words.extend(
        ["--user", "--map-root-user", "--mount", "--net", "--ipc", "--uts"].map(Into::into),
    );
    words.push(setpriv.into());
    words.extend(["--pdeathsig", "KILL", "--"].map(Into::into));
    words.push(unshare.into());
    words.extend(["--pid", "--fork", "--kill-child", "--"].map(Into::into));
    words.push(find("sh")?.into());
    words.extend(["-c", SURROUND, "sh"].map(Into::into));
    Ok(words)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Stdio;
    use std::sync::atomic::AtomicBool;

    use btu_contract::activity::{Activity, FileServer};
    use btu_contract::copy::{Cache, Direction, FilePlace, Program, Storage};
    use btu_contract::peers::{Callers, Peers};
    use btu_units::Bytes;

    use super::super::{missing_for, openssh};
    use crate::copy::tests::order;

    const TOKEN: [u8; 16] = *b"sixteen byte key";
    const SIZE: u64 = 300_000;

    /// What sshd serves to other hosts: the file, and none of this host's others.
    #[test]
    fn other_hosts_find_the_file_and_nothing_else() {
        if let Some(missing) = missing_for(Program::Sftp) {
            assert!(std::env::var("BTU_LAB").as_deref() != Ok("required"), "no {missing}");
            eprintln!("LAB SKIPPED: no {missing}");
            return;
        }
        let directory = tempfile::tempdir().expect("tempdir");
        std::fs::write(directory.path().join("secret"), b"a key").expect("written");
        let (size, storage) = (Bytes::new(SIZE), Storage::Disk);
        let place = directory.path().to_owned();
        let file = FilePlace { size, storage, cache: Cache::Warm, directory: place };
        let on = "127.0.0.1".parse().expect("an address");
        let server = FileServer { program: Program::Sftp, on, token: TOKEN, file };
        let order = order(Activity::FileOffer(server));
        let peers = Peers::within(vec!["127.0.0.0/8".parse().expect("a network")]);
        let server = match crate::prepare(&order, &Callers::only(peers, |_, _| ())) {
            Err(error) if nix::unistd::geteuid().is_root() => {
                assert!(error.to_string().contains("superuser"), "{error}");
                return;
            }
            prepared => prepared.expect("prepared").expect("one of this room's"),
        };
        let to = server.endpoint().expect("it listens");
        let serving = std::thread::spawn(move || {
            server.perform(&AtomicBool::new(false)).map(drop).map_err(|error| error.to_string())
        });
        let at = |name: &str| directory.path().join(name).display().to_string();
        // The words go on after the path, a line each; a failed one does not end the rest.
        let script = format!(
            "{}\n-get {} {}\n-get /etc/hostname {}\n-get /proc/self/environ {}\n-put {} /usr/bin/btu-was-here\n-ls -1 /",
            at("got"),
            at("secret"),
            at("leaked"),
            at("hostname"),
            at("environ"),
            at("got")
        );
        let client = openssh::client(Program::Sftp, to, &TOKEN, Direction::Get, Path::new(&script));
        let mut client = client.expect("a client");
        let output = client.command.stdin(Stdio::null()).output().expect("sftp starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        println!("{said}{}", String::from_utf8_lossy(&output.stderr));
        serving.join().expect("no panic").expect("served");
        assert_eq!(std::fs::metadata(at("got")).expect("the file").len(), SIZE);
        for name in ["leaked", "hostname"] {
            assert!(!Path::new(&at(name)).exists(), "{name}");
        }
        assert!(!Path::new("/usr/bin/btu-was-here").exists());
        let all = ["/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/sbin", "/usr"];
        let found: Vec<&str> = said.lines().filter(|line| line.starts_with('/')).collect();
        assert!(!found.is_empty() && found.iter().all(|name| all.contains(name)), "{found:?}");
    }
}
