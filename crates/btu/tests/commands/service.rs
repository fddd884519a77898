//! The agent as a service: systemd starts the unit, in a container of its own that has this
//! machine's programs (systemd-nspawn(1)), and a controller in there examines it and measures with
//! it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::packaging::unit;
use crate::support::{lab_skipped, text};

/// The script that runs in the container once it has booted. Keys and results go to /out.
const SCRIPT: &str = r#"
cd /out
export BTU_KEYS=/out/keys BTU_DATA=/out/data
{
    ./btu hosts keys init && ./btu hosts keys issue alpha --role agent --out agent.pem && ./btu hosts keys issue me --role controller --out me.pem
    mkdir -p /etc/btu && install -m 600 agent.pem /etc/btu/agent.pem
    systemctl start btu-agent
    printf '[hosts.alpha]\ncontrol = "127.0.0.1"\n' >hosts.toml
    ./btu hosts check hosts.toml --identity me.pem
    echo "code=$?"
    systemctl show btu-agent -p ActiveState -p MemoryMax -p TasksMax -p CPUWeight -p IOWeight -p StateDirectory
    pid=$(systemctl show btu-agent -p MainPID --value)
    cat /proc/$pid/status /proc/$pid/limits
    echo "memory=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)"
    # Where the container is given these controllers, the kernel holds it to them.
    group=/sys/fs/cgroup/system.slice/btu-agent.service
    for file in memory.max pids.max; do echo "$file=$(cat $group/$file 2>/dev/null)"; done
    systemctl stop btu-agent
    echo "stopped=$(systemctl show btu-agent -p Result --value) $(ls /run/credentials/btu-agent.service 2>/dev/null)"
} >seen 2>&1
systemctl --force --force poweroff
"#;

const STARTER: &str =
    "[Unit]\nAfter=basic.target\n[Service]\nType=oneshot\nExecStart=/bin/bash /out/script\n";

/// MPI's library, which test programs have, prints on standard output that the service may not make
/// code (`MemoryDenyWriteExecute`).
const WITHOUT_HOOKS: &str =
    "Type=notify\nEnvironment=UCX_MEM_MMAP_HOOK_MODE=none UCX_LOG_LEVEL=fatal";

/// Boots systemd with the unit; the container goes with its first process.
fn boot(directory: &Path, name: &str) -> Output {
    let unit = unit().replace("/usr/bin/btu", "/out/btu").replace("Type=notify", WITHOUT_HOOKS);
    for (file, content) in
        [("script", SCRIPT), ("try.service", STARTER), ("btu-agent.service", &unit), ("btu", "")]
    {
        fs::write(directory.join(file), content).unwrap();
    }
    let bind = |from: &Path, to: &str| format!("{}:{to}", from.display());
    let within = |file: &str| bind(&directory.join(file), &format!("/etc/systemd/system/{file}"));
    let mut command = Command::new("timeout");
    command.args([
        "--kill-after=5",
        "90",
        "systemd-nspawn",
        "--quiet",
        "--boot",
        "--register=no",
        "--keep-unit",
    ]);
    command.args(["--directory=/", "--volatile=yes", "--private-network", "--console=pipe"]);
    command.arg(format!("--machine={name}")).arg("--bind").arg(bind(directory, "/out"));
    command.arg("--bind-ro").arg(bind(Path::new(env!("CARGO_BIN_EXE_btu")), "/out/btu"));
    command
        .arg("--bind-ro")
        .arg(within("try.service"))
        .arg("--bind-ro")
        .arg(within("btu-agent.service"));
    command.args(["systemd.firstboot=no", "systemd.unit=try.service"]);
    command.arg("systemd.mask=systemd-networkd-wait-online.service");
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn the_service_works_within_its_bounds_under_systemd() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("containers that systemd boots are root's: tested as root only");
        return;
    }
    if Command::new("systemd-nspawn").arg("--version").output().is_err() {
        lab_skipped("there is no systemd-nspawn (Debian: systemd-container)");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // The service's user must have access to the program.
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let name = format!("btu-service-{}", std::process::id());
    let booted = boot(directory.path(), &name);
    let Ok(seen) = fs::read_to_string(directory.path().join("seen")) else {
        let said = text(&booted.stdout) + &text(&booted.stderr);
        lab_skipped(&format!("systemd cannot be booted in a container here: {said}"));
        return;
    };
    let value = |name: &str| {
        let line = seen.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no `{name}` in {seen}")).trim().to_owned()
    };
    assert!(value("code=") == "0" && seen.contains("Hosts 1 of 1 answer as they should"), "{seen}");
    for (name, wanted) in [
        ("ActiveState=", "active"),
        ("TasksMax=", "512"),
        ("CPUWeight=", "50"),
        ("IOWeight=", "50"),
        ("stopped=", "success"),
        ("NoNewPrivs:", "1"),
        ("Seccomp:", "2"),
    ] {
        assert_eq!(value(name), wanted, "{name} {seen}");
    }
    // Only CAP_NET_ADMIN, also in its inheritable and bounding sets.
    for set in ["CapEff:", "CapPrm:", "CapBnd:", "CapAmb:"] {
        assert_eq!(u64::from_str_radix(&value(set), 16).unwrap(), 1 << 12, "{set} {seen}");
    }
    assert!(!value("Uid:").split_whitespace().any(|user| user == "0"), "{seen}");
    assert!(value("Max open files").starts_with("16384"), "{seen}");
    // Half of the memory, to the page.
    let (most, memory) = (
        value("MemoryMax=").parse::<u64>().unwrap(),
        value("memory=").parse::<u64>().unwrap() * 1024,
    );
    assert!(most.abs_diff(memory / 2) <= 65536, "{most} of {memory}");
    for (file, wanted) in [("memory.max=", most.to_string()), ("pids.max=", "512".to_owned())] {
        assert!(value(file).is_empty() || value(file) == wanted, "{file} {seen}");
    }
}
