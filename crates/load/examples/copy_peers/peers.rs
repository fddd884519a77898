//! The other programs.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use btu_contract::copy::{Direction, Program};
use btu_units::{Bytes, hexadecimal};

use super::veth::{FAR, Far, in_memory};
use super::{Result, TOKEN, finished, serve};

/// What a command prints.
fn run(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Seconds from its start to its end.
fn timed(command: &mut Command) -> Result<f64> {
    let started = Instant::now();
    run(command)?;
    Ok(started.elapsed().as_secs_f64())
}

/// A server that ends with this, and listens at this port.
struct Listening(Child, u16);

impl Listening {
    fn start(far: &Far, mut command: Command, port: u16) -> Result<Self> {
        let server = Self(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?, port);
        let filter = format!("sport = :{port}");
        let deadline = Instant::now() + Duration::from_secs(5);
        while run(far.command("ss").args(["-Hltn", &filter]))?.is_empty() {
            if Instant::now() > deadline {
                return Err(format!("{command:?} does not listen").into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Seconds of a copy by curl at our server.
pub(crate) fn curl(
    far: &Far,
    direction: Direction,
    program: Program,
    size: Bytes,
    file: &Path,
) -> Result<f64> {
    let (address, serving) = serve(far, direction, program, size)?;
    let mut command = Command::new("curl");
    command.args(["-sSf", "--noproxy", "*", "-w", "%{stderr}%{time_total}"]);
    match direction {
        Direction::Put => command.arg("-T").arg(file),
        Direction::Get => command.arg("-o").arg(file),
    };
    let secret = hexadecimal(&TOKEN);
    match program {
        Program::Ftp => {
            command.args(["-u", &format!("btu:{secret}"), &format!("ftp://{address}/copy.bin")])
        }
        _ => command.args([
            "-H",
            &format!("Authorization: Bearer {secret}"),
            &format!("http://{address}/copy"),
        ]),
    };
    let output = command.stdin(Stdio::null()).output()?;
    let told = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    finished(serving)?;
    told.parse().map_err(|_| format!("{command:?}: {told}").into())
}

/// Seconds of a copy by lftp at our server.
pub(crate) fn lftp(far: &Far, direction: Direction, size: Bytes, file: &Path) -> Result<f64> {
    let (address, serving) = serve(far, direction, Program::Ftp, size)?;
    let what = match direction {
        Direction::Put => format!("put {} -o copy.bin", file.display()),
        Direction::Get => format!("get copy.bin -o {}", file.display()),
    };
    let settings = "set net:max-retries 1; set xfer:clobber yes; set ftp:ssl-allow no";
    let mut command = Command::new("lftp");
    command.args(["-u", &format!("btu,{}", hexadecimal(&TOKEN)), "-p"]);
    command.arg(address.port().to_string()).arg("-e");
    command.arg(format!("{settings}; {what}; bye")).arg(address.ip().to_string());
    let seconds = timed(&mut command)?;
    finished(serving)?;
    Ok(seconds)
}

/// Seconds that iperf3 takes for as many bytes, by its receiver's rate.
pub(crate) fn iperf3(far: &Far, size: Bytes) -> Result<f64> {
    let mut command = far.command("iperf3");
    command.args(["-s", "-1"]);
    let _server = Listening::start(far, command, 5201)?;
    let told = run(Command::new("iperf3").args([
        "-c",
        &FAR.to_string(),
        "-n",
        &size.count().to_string(),
        "-J",
    ]))?;
    let told: serde_json::Value = serde_json::from_str(&told)?;
    let rate =
        told["end"]["sum_received"]["bits_per_second"].as_f64().ok_or("iperf3 told no rate")?;
    Ok(size.bits() / rate)
}

/// OpenSSH by itself: an sshd that is one for all rounds, and a key, in files with names.
pub(crate) struct OpenSsh(Listening);

impl OpenSsh {
    /// Starts the server, as an account that belongs to no person.
    pub(crate) fn start(far: &Far) -> Result<Self> {
        for name in ["host", "user"] {
            let file = in_memory(name);
            run(Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(file))?;
        }
        let port = 2222;
        let mut command = far.command("unshare");
        command.args(["--user", "--map-user=1", "--map-group=1", "/usr/sbin/sshd", "-D", "-e"]);
        command.args(["-f", "/dev/null", "-p", &port.to_string()]);
        let options = [
            format!("HostKey={}", in_memory("host").display()),
            format!("AuthorizedKeysFile={}", in_memory("user.pub").display()),
            "PidFile=none".to_owned(),
            "StrictModes=no".to_owned(),
            "Subsystem=sftp internal-sftp".to_owned(),
            "ForceCommand=internal-sftp".to_owned(),
            "UsePAM=no".to_owned(),
        ];
        command.args(options.iter().flat_map(|option| ["-o", option])).stderr(Stdio::null());
        Ok(Self(Listening::start(far, command, port)?))
    }

    /// Seconds of a copy by sftp.
    pub(crate) fn copy(&self, direction: Direction, file: &Path) -> Result<f64> {
        let there = in_memory("there");
        let batch = in_memory("batch");
        std::fs::write(
            &batch,
            match direction {
                Direction::Put => format!("put {} {}\n", file.display(), there.display()),
                Direction::Get => format!("get {} {}\n", there.display(), file.display()),
            },
        )?;
        let mut command = Command::new("sftp");
        command.args(["-q", "-F", "none", "-P", &self.0.1.to_string(), "-b"]).arg(batch);
        let options = [
            format!("IdentityFile={}", in_memory("user").display()),
            "IdentitiesOnly=yes".to_owned(),
            "StrictHostKeyChecking=no".to_owned(),
            "UserKnownHostsFile=/dev/null".to_owned(),
        ];
        command.args(options.iter().flat_map(|option| ["-o", option]));
        let to = SocketAddr::new(FAR, self.0.1);
        timed(command.arg(format!("daemon@{}", to.ip())))
    }
}
