//! Fleets whose agents a launcher starts: a real `mpirun` (that of MPICH), and a real Slurm with eight `slurmd`. Each
//! node is a station of a raised network, in which one has a slow line.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use btu_conditions::judge;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::drawn::{Lab, is_there};
use crate::support::{LONG, send, text};

const NODES: usize = 8;

/// The node with the slow line.
const SLOW: usize = 5;

/// A raised network of nodes.
struct Nodes {
    lab: Lab,
}

impl Nodes {
    fn raise(lab: Lab) -> Self {
        let line = |node: usize| {
            let rate = if node == SLOW { 12 } else { 40 };
            format!(
                "[stations.n{node}]\n[links.l{node}]\nbetween = [\"n{node}\", \"core\"]\nrate = \"{rate} Mb/s\"\nqueue = \"64 KiB\"\n"
            )
        };
        let lines: String = (0..NODES).map(line).collect();
        lab.up(&format!("[bridges.core]\n{lines}"));
        Self { lab }
    }

    fn path(&self, name: &str) -> String {
        self.lab.home.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>, mode: u32) -> String {
        let path = self.path(name);
        fs::write(&path, content).expect("a file is written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode is set");
        path
    }

    /// A command on a node.
    fn on(&self, node: usize, command: &[&str]) -> Command {
        let mut command = self.lab.exec(&format!("n{node}"), command);
        command.env("BTU_DATA", self.path("data"));
        command
    }

    /// What `btu` on the first node prints as JSON, started by these words.
    fn json(&self, by: &[&str], btu: &[&str]) -> Value {
        let all = [by, &[env!("CARGO_BIN_EXE_btu")], btu, &["--json", "--quiet"]].concat();
        let output = self.on(0, &all).output().expect("btu runs");
        let error = text(&output.stderr);
        assert!(output.status.success(), "{all:?}: {error}");
        serde_json::from_slice(&output.stdout).expect("--json prints JSON")
    }

    /// Waits until the run of this number, from 1, has so many cells.
    fn wait_for_cells(&self, (run, cells): (usize, u64), of: &mut Child) {
        let stored = || {
            let output =
                self.lab.btu(&["runs", "--json"]).env("BTU_DATA", self.path("data")).output();
            let runs: Value = serde_json::from_slice(&output.expect("btu runs").stdout).ok()?;
            runs.as_array()?.get(run - 1)?["cells"].as_u64()
        };
        let start = Instant::now();
        while stored().is_none_or(|stored| stored < cells) {
            let ended = of.try_wait().expect("a child can be asked");
            assert!(ended.is_none(), "it ended before {cells} cells were stored: {ended:?}");
            assert!(start.elapsed() < LONG, "no {cells} cells");
            sleep(Duration::from_millis(50));
        }
    }

    fn agents(&self) -> Vec<i32> {
        let agents = self.lab.processes().into_iter().filter(|(_, line)| line.contains(AGENT));
        agents.map(|(number, _)| number).collect()
    }

    /// Waits until no agent is left.
    fn assert_no_agents(&self, within: Duration) {
        let start = Instant::now();
        while !self.agents().is_empty() {
            assert!(start.elapsed() < within, "agents are left: {:?}", self.lab.processes());
            sleep(Duration::from_millis(50));
        }
    }

    /// The fleet of all nodes, in which one node is slow.
    fn assert_found(&self, result: &Value, what: &str) {
        assert_eq!(result["run"]["state"], "complete", "{what}: {}", result["run"]["events"]);
        let fleet = &result["result"];
        let hosts: Vec<&Value> = fleet["hosts"].as_array().expect("hosts").iter().collect();
        let named: Vec<String> = (0..NODES).map(|node| format!("n{node}")).collect();
        assert_eq!(hosts, named.iter().collect::<Vec<_>>(), "{what}");
        let is_marked = |node: &usize| {
            ["hosts", "senders", "receivers"]
                .iter()
                .any(|way| fleet["model"][way][node]["is_slow"] == true)
        };
        let marked: Vec<usize> = (0..NODES).filter(is_marked).collect();
        judge!(self.lab, marked == [SLOW], "{what}: {marked:?} are slow");
        // All stations are one machine, which the result says.
        let events = result["run"]["events"].to_string();
        assert!(events.contains("n0, n1, n2 and 5 more are on one machine"), "{what}: {events}");
    }
}

/// In the command line of an agent, and of no other process.
const AGENT: &str = "hosts agent --launched";

/// The time in which the agents of a dead controller end.
const GONE_WITHIN: Duration = Duration::from_secs(20);

const FLEET: [&str; 3] = ["fleet", "--per-pair", "100 ms"];

/// `mpirun` starts its helpers by a program that takes a host and a command, as rsh does: here one
/// that enters a station.
fn mpirun(nodes: &Nodes) -> String {
    let btu = env!("CARGO_BIN_EXE_btu");
    let rsh = format!(
        "#!/bin/sh\nwhile case $1 in -*) true ;; *) false ;; esac; do shift; done\nhost=$1; shift\nexec {btu} net exec \"$host\" -- sh -c \"$*\"\n"
    );
    let rsh = nodes.write("rsh", rsh, 0o755);
    let names: Vec<String> = (0..NODES).map(|node| format!("n{node}")).collect();
    let names = names.join(",");
    format!(
        "mpiexec.hydra -np {NODES} -launcher rsh -launcher-exec {rsh} -hosts {names} -localhost {}",
        address(nodes, 0)
    )
}

/// The address of a station.
fn address(nodes: &Nodes, node: usize) -> String {
    let output = nodes.lab.output(&["net", "status", "--json"]);
    let networks: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    networks[0]["stations"][node]["address"].as_str().expect("an address").to_owned()
}

#[test]
fn mpirun_starts_a_fleet_that_names_its_slow_node() {
    let Some(lab) = Lab::open_once_if_changed() else { return };
    if !is_there("mpiexec.hydra") {
        return;
    }
    let nodes = Nodes::raise(lab);
    let launcher = mpirun(&nodes);
    let fleet = [&FLEET[..], &["--launcher", &launcher]].concat();
    nodes.assert_found(&nodes.json(&[], &fleet), "mpirun");
    nodes.assert_no_agents(GONE_WITHIN);
    // The bundle of a killed controller is removed by the next one, and its agents end by themselves.
    let command = [&[env!("CARGO_BIN_EXE_btu")], &fleet[..], &["--quiet"]].concat();
    let mut killed = nodes.on(0, &command).spawn().expect("btu starts");
    nodes.wait_for_cells((2, 4), &mut killed);
    let controller = nodes
        .lab
        .processes()
        .into_iter()
        .find(|(_, line)| line.contains("fleet --per-pair") && !line.contains(" exec "));
    send(controller.expect("the controller").0, Signal::SIGKILL);
    nodes.assert_no_agents(GONE_WITHIN);
    let _ = killed.wait();
    let resumed = ["fleet", "--resume", "latest", "--launcher", &launcher];
    nodes.assert_found(&nodes.json(&[], &resumed), "resumed with mpirun");
    a_pair_that_fails_is_named(&nodes, &launcher);
    let left = fs::read_dir(nodes.path("data")).expect("a directory").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("launch-")), "{left:?}");
    nodes.lab.output(&["net", "down"]);
    nodes.lab.assert_gone();
}

/// A launcher that starts the agents of all nodes and knows nothing of their ends.
fn plain_launcher(nodes: &Nodes) -> String {
    let btu = env!("CARGO_BIN_EXE_btu");
    let each = format!(
        "#!/bin/sh\ntrap 'trap - TERM; kill 0' TERM\nfor node in 0 1 2 3 4 5 6 7; do\nPMI_RANK=$node PMI_SIZE={NODES} {btu} net exec n$node -- \"$@\" &\ndone\nwait\n"
    );
    nodes.write("launcher", each, 0o755)
}

/// A node that is gone is what was looked for: the run names it, and measures the others.
#[test]
fn a_fleet_goes_on_without_a_lost_node_and_names_it() {
    let Some(lab) = Lab::open_once() else { return };
    let nodes = Nodes::raise(lab);
    let launcher = plain_launcher(&nodes);
    let btu = env!("CARGO_BIN_EXE_btu");
    let options = ["--launcher", &launcher, "--reconnect-timeout", "2 s", "--quiet"];
    let command = [&[btu], &FLEET[..], &options].concat();
    let mut struck = nodes.on(0, &command).spawn().expect("btu starts");
    nodes.wait_for_cells((1, 4), &mut struck);
    let namespace = nodes.lab.exec("n6", &["readlink", "/proc/self/ns/net"]).output();
    let namespace = text(&namespace.expect("readlink runs").stdout);
    let is_there = |number: &i32| {
        let link = fs::read_link(format!("/proc/{number}/ns/net"));
        link.is_ok_and(|link| link.display().to_string() == namespace.trim())
    };
    let agent = nodes.agents().into_iter().find(is_there).expect("the agent of n6");
    send(agent, Signal::SIGKILL);
    let output = struck.wait_with_output().expect("it ends");
    let (said, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{error}");
    assert!(error.contains("host n6 was lost") && error.contains("goes on without it"), "{error}");
    assert!(said.contains("pairs of n6 fail") || said.contains("from or to n6"), "{said}");
    let stored = nodes.lab.btu(&["show", "--json"]).env("BTU_DATA", nodes.path("data")).output();
    let run: Value = serde_json::from_slice(&stored.expect("btu runs").stdout).expect("JSON");
    assert_eq!(run["run"]["state"], "complete");
    let result = &run["result"];
    assert_eq!(result["missing"], 0, "{result}");
    let measured = |pair: &&Value| pair["goodput_bits_per_second"]["value"].is_f64();
    let measured = result["pairs"].as_array().expect("pairs").iter().filter(measured).count();
    assert!(measured >= (NODES - 1) * (NODES - 2), "{measured}");
    judge!(nodes.lab, result["model"]["hosts"][SLOW]["is_slow"] == true, "{result}");
    nodes.assert_no_agents(GONE_WITHIN);
    nodes.lab.output(&["net", "down"]);
    nodes.lab.assert_gone();
}

/// Sends to a drawn other node for 0.5 to 2 s, every 2 s in the mean.
const TRAFFIC: &str = "
import random, socket, sys, threading, time
own, others = sys.argv[1], sys.argv[2].split()
sink = socket.create_server((own, 5999))
def swallow():
    while True:
        caller = sink.accept()[0]
        threading.Thread(target=lambda: [None for _ in iter(lambda: caller.recv(65536), b'')], daemon=True).start()
threading.Thread(target=swallow, daemon=True).start()
draw = random.Random(own)
time.sleep(1)
while True:
    time.sleep(draw.expovariate(1 / 2.0))
    try:
        with socket.create_connection((draw.choice(others), 5999)) as there:
            end = time.monotonic() + draw.uniform(0.5, 2)
            while time.monotonic() < end:
                there.sendall(bytes(16384))
    except OSError:
        pass  # The other one has not begun to listen.
";

/// Other traffic makes rates differ: the slow node is named all the same, or the run says that it cannot tell.
#[test]
fn other_traffic_hides_no_slow_node() {
    let Some(lab) = Lab::open_once_if_changed() else { return };
    if !is_there("python3") {
        return;
    }
    let nodes = Nodes::raise(lab);
    let busy: Vec<usize> = (0..NODES).filter(|node| *node != SLOW).collect();
    let start = |node: &usize| {
        let others: Vec<String> =
            busy.iter().filter(|one| *one != node).map(|one| address(&nodes, *one)).collect();
        let command = ["python3", "-c", TRAFFIC, &address(&nodes, *node), &others.join(" ")];
        nodes.on(*node, &command).spawn().expect("python starts")
    };
    let mut traffic: Vec<Child> = busy.iter().map(start).collect();
    let launcher = plain_launcher(&nodes);
    let result = nodes.json(&[], &["fleet", "--launcher", &launcher]);
    let model = &result["result"]["model"];
    let marked: Vec<usize> =
        (0..NODES).filter(|node| model["hosts"][node]["is_slow"] == true).collect();
    let least = model["least_host"].as_f64().expect("a share");
    println!("{marked:?} are slow, the least share is {least:.2}: {model}");
    let cannot_tell = marked.is_empty() && least < 0.5;
    judge!(nodes.lab, marked == [SLOW] || cannot_tell, "{marked:?}, {least}: {model}");
    for child in &mut traffic {
        let _ = child.kill();
        let _ = child.wait();
    }
    nodes.lab.output(&["net", "down"]);
    nodes.lab.assert_gone();
}

/// The jobs of a manifest.
const AGENTS: usize = 3;
const CONTROLLER: usize = 4;

/// A file system of a pod's own: its secrets with the permissions that the cluster gives them, the
/// names of the service, and the other volumes.
fn pod(nodes: &Nodes, manifest: &Value, job: usize, name: &str) -> String {
    let pod = &manifest["items"][job]["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let secret = &pod["volumes"][0]["secret"];
    let items = manifest["items"].as_array().expect("items").iter();
    let mut secrets = items.filter(|item| {
        item["kind"] == "Secret" && item["metadata"]["name"] == secret["secretName"]
    });
    let directory = nodes.path(name);
    fs::create_dir(&directory).expect("a directory");
    let data = secrets.next().expect("its secret")["stringData"].as_object().expect("data");
    let mode = secret["defaultMode"].as_u64().expect("a mode") as u32;
    for (file, content) in data {
        nodes.write(&format!("{name}/{file}"), content.as_str().expect("a text"), mode);
    }
    // The manifest's path is none of this machine's.
    let at = |text: &str| text.replace("/btu/", &format!("{directory}/"));
    let arguments = container["args"].as_array().expect("arguments").iter();
    let arguments: Vec<String> =
        arguments.map(|word| format!("'{}'", at(word.as_str().expect("a word")))).collect();
    format!(
        "exec unshare --mount sh -c \"mount --bind {} /etc/hosts && exec env CREDENTIALS_DIRECTORY={directory} {} {}\"",
        nodes.path("hosts"),
        env!("CARGO_BIN_EXE_btu"),
        arguments.join(" ")
    )
}

/// The pods of a manifest, each a station with the environment and the names that the cluster would
/// give it.
#[test]
fn the_pods_of_a_manifest_measure_with_each_other() {
    let Some(lab) = Lab::open_once_if_changed() else { return };
    let nodes = Nodes::raise(lab);
    let count = NODES.to_string();
    let printed =
        nodes.lab.output(&["hosts", "kubernetes", "--nodes", &count, "--image", "registry/btu"]);
    let manifest: Value = serde_json::from_slice(&printed.stdout).expect("JSON");
    let names = |node: usize| format!("{} btu-{node}.btu btu-{node}\n", address(&nodes, node));
    nodes.write("hosts", (0..NODES).map(names).collect::<String>(), 0o644);
    let spec = &manifest["items"][AGENTS]["spec"];
    assert_eq!((&spec["completionMode"], &spec["completions"]), (&"Indexed".into(), &NODES.into()));
    let start = |node: usize| {
        let script = pod(&nodes, &manifest, AGENTS, &format!("pod-{node}"));
        let mut pod = nodes.on(node, &["sh", "-c", &script]);
        pod.env("JOB_COMPLETION_INDEX", node.to_string()).env("NODE_NAME", format!("n{node}"));
        pod.spawn().expect("a pod starts")
    };
    let mut pods: Vec<Child> = (0..NODES).map(start).collect();
    let mut script = pod(&nodes, &manifest, CONTROLLER, "controller");
    script = script.replace("'--all'", "--json --quiet --per-pair '100 ms'");
    // As the cluster does, until all agents answer.
    let begun = Instant::now();
    let result = loop {
        let output = nodes.on(0, &["sh", "-c", &script]).output().expect("the controller runs");
        if output.status.success() {
            break serde_json::from_slice::<Value>(&output.stdout).expect("--json prints JSON");
        }
        assert!(begun.elapsed() < LONG, "{}", text(&output.stderr));
        sleep(Duration::from_millis(500));
    };
    let hosts = result["result"]["hosts"].to_string();
    assert!(hosts.contains("btu-0") && hosts.contains("btu-7"), "{hosts}");
    let model = &result["result"]["model"];
    judge!(nodes.lab, model["hosts"][SLOW]["is_slow"] == true, "{model}");
    let events = result["run"]["events"].to_string();
    assert!(
        events.contains("are on one machine"),
        "two pods of one node are not two nodes: {events}"
    );
    let environments = result["run"]["environments"].to_string();
    assert!(environments.contains("\"NODE_NAME\":\"n7\""), "{environments}");
    for pod in &mut pods {
        send(pod.id().cast_signed(), Signal::SIGTERM);
        let _ = pod.wait();
    }
    nodes.lab.output(&["net", "down"]);
    nodes.lab.assert_gone();
}

/// A firewall of one node against one other: the rest of the round counts.
fn a_pair_that_fails_is_named(nodes: &Nodes, launcher: &str) {
    if !is_there("nft") {
        return;
    }
    let other = address(nodes, 2);
    let wall = format!(
        "nft add table inet wall && nft add chain inet wall in '{{ type filter hook input priority 0; }}' && nft add rule inet wall in ip saddr {other} drop"
    );
    let output = nodes.on(1, &["sh", "-c", &wall]).output().expect("nft runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let fleet = [&FLEET[..], &["--at-once", "--launcher", launcher]].concat();
    let result = nodes.json(&[], &fleet);
    let broken = result["result"]["broken"].as_array().expect("pairs").iter();
    let mut broken: Vec<[&str; 2]> =
        broken.map(|pair| ["from", "to"].map(|end| pair[end].as_str().expect("a name"))).collect();
    broken.sort_unstable();
    assert_eq!(broken, [["n1", "n2"], ["n2", "n1"]], "{}", result["result"]["broken"]);
    let pairs = result["result"]["pairs"].as_array().expect("pairs").iter();
    let measured = pairs.filter(|pair| pair["goodput_bits_per_second"]["value"].is_f64()).count();
    // Without one of its pairs no round is measured, neither forth nor back.
    assert_eq!(measured, NODES * (NODES - 1) - NODES);
    let shown = nodes.lab.btu(&["show"]).env("BTU_DATA", nodes.path("data")).output();
    let shown = text(&shown.expect("btu runs").stdout);
    assert!(shown.starts_with("n1 to n2 fails") || shown.starts_with("n2 to n1 fails"), "{shown}");
}

/// A Slurm of as many nodes.
struct Slurm<'a> {
    nodes: &'a Nodes,
    daemons: Vec<Child>,
}

impl<'a> Slurm<'a> {
    fn start(nodes: &'a Nodes) -> Self {
        nodes.write("munge.key", [7; 1024], 0o600);
        fs::create_dir(nodes.path("spool")).expect("a directory");
        nodes.write("cgroup.conf", "CgroupPlugin=cgroup/v1\n", 0o644);
        let configuration = nodes.write("slurm.conf", configuration(nodes), 0o644);
        let mut slurm = Self { nodes, daemons: Vec::new() };
        let file = |option: &str, name: &str| format!("--{option}={}", nodes.path(name));
        slurm.daemon(
            0,
            &[
                "munged",
                "--force",
                "--foreground",
                &file("key-file", "munge.key"),
                &file("socket", "munge.sock"),
                &file("pid-file", "munge.pid"),
                &file("log-file", "munge.log"),
                &file("seed-file", "munge.seed"),
            ],
        );
        slurm.daemon(0, &["slurmctld", "-D", "-f", &configuration]);
        for node in 0..NODES {
            let name = format!("n{node}");
            slurm.daemon(node, &["slurmd", "-D", "-N", &name, "-f", &configuration]);
        }
        slurm.wait_for_nodes();
        slurm
    }

    fn daemon(&mut self, node: usize, command: &[&str]) {
        let mut daemon = self.nodes.on(node, command);
        // They write logs, and would wait for a reader of their output.
        daemon.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        self.daemons.push(daemon.spawn().expect("a daemon starts"));
    }

    fn variable(&self) -> String {
        format!("SLURM_CONF={}", self.nodes.path("slurm.conf"))
    }

    fn said(&self, command: &[&str]) -> String {
        let variable = self.variable();
        let output = self.nodes.on(0, &words(&variable, command)).output().expect("it runs");
        text(&output.stdout) + &text(&output.stderr)
    }

    fn wait_for_nodes(&self) {
        let start = Instant::now();
        loop {
            let said = self.said(&["sinfo", "--noheader", "--format", "%T %D"]);
            if said.trim() == format!("idle {NODES}") {
                return;
            }
            assert!(start.elapsed() < LONG, "Slurm does not start: {said}");
            sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Slurm<'_> {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            send(daemon.id().cast_signed(), Signal::SIGTERM);
        }
        for daemon in &mut self.daemons {
            let _ = daemon.wait();
        }
    }
}

/// `env SLURM_CONF=...` and a command of Slurm.
fn words<'a>(variable: &'a str, command: &[&'a str]) -> Vec<&'a str> {
    [&["env", variable], command].concat()
}

fn configuration(nodes: &Nodes) -> String {
    let path = |name: &str| nodes.path(name);
    let mut text = format!(
        "ClusterName=lab\nSlurmctldHost=n0({})\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\nAuthInfo=socket={}\n\
         CredType=cred/munge\nStateSaveLocation={}\nSlurmdSpoolDir={}/%n\nSlurmctldPidFile={}\nSlurmdPidFile={}-%n\n\
         SlurmctldLogFile={}\nSlurmdLogFile={}-%n\nProctrackType=proctrack/pgid\nTaskPlugin=task/none\n\
         SelectType=select/cons_tres\nMpiDefault=none\nSwitchType=switch/none\nReturnToService=2\n",
        address(nodes, 0),
        path("munge.sock"),
        path("spool"),
        path("spool"),
        path("slurmctld.pid"),
        path("slurmd.pid"),
        path("slurmctld.log"),
        path("slurmd.log"),
    );
    for node in 0..NODES {
        let address = address(nodes, node);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "NodeName=n{node} NodeHostname=n{node} NodeAddr={address} CPUs=2");
    }
    text + "PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
}

#[test]
#[ignore = "needs slurm-wlm and root: scripts/fleet-lab"]
fn slurm_starts_a_fleet_that_names_its_slow_node() {
    if !nix::unistd::geteuid().is_root() {
        return crate::support::lab_skipped("a slurmd wants root");
    }
    let Some(lab) = Lab::open() else { return };
    let nodes = Nodes::raise(lab);
    let slurm = Slurm::start(&nodes);
    let variable = slurm.variable();
    let whole = words(&variable, &["salloc", "--quiet", "--nodes", "8"]);
    let fleet = [&FLEET[..], &["--launcher", "slurm"]].concat();
    let result = nodes.json(&whole, &fleet);
    nodes.assert_found(&result, "srun");
    let environments = result["run"]["environments"].to_string();
    assert!(environments.contains("\"SLURM_JOB_PARTITION\":\"debug\""), "{environments}");
    nodes.assert_no_agents(GONE_WITHIN);
    a_cancelled_job_is_finished_in_another(&nodes, &slurm, &whole, &fleet);
    a_lost_node_is_named(&nodes, &whole, &fleet);
    let outside = nodes.on(0, &[&[env!("CARGO_BIN_EXE_btu")], &fleet[..]].concat()).output();
    let outside = text(&outside.expect("btu runs").stderr);
    assert!(outside.contains("--launcher slurm works within a job"), "{outside}");
    drop(slurm);
    nodes.lab.output(&["net", "down"]);
    nodes.lab.assert_gone();
}

fn a_cancelled_job_is_finished_in_another(
    nodes: &Nodes,
    slurm: &Slurm<'_>,
    whole: &[&str],
    fleet: &[&str],
) {
    let btu = env!("CARGO_BIN_EXE_btu");
    let command = [whole, &[btu], fleet, &["--quiet"]].concat();
    let mut cancelled = nodes.on(0, &command).spawn().expect("salloc starts");
    nodes.wait_for_cells((2, 4), &mut cancelled);
    let job = slurm.said(&["squeue", "--noheader", "--format", "%i"]);
    slurm.said(&["scancel", job.trim()]);
    let _ = cancelled.wait();
    nodes.assert_no_agents(GONE_WITHIN);
    // Fewer nodes are not the same fleet.
    let variable = slurm.variable();
    let few = words(&variable, &["salloc", "--quiet", "--nodelist", "n[0-2]", btu]);
    let resume = ["fleet", "--resume", "latest", "--launcher", "slurm"];
    let output = nodes.on(0, &[&few[..], &resume].concat()).output().expect("salloc runs");
    let error = text(&output.stderr);
    assert!(error.contains("this job does not have its node; it has n0, n1, n2"), "{error}");
    nodes.assert_found(&nodes.json(whole, &resume), "resumed in another job");
}

/// An agent that is killed is not found again: its node is named, and the others are measured.
fn a_lost_node_is_named(nodes: &Nodes, whole: &[&str], fleet: &[&str]) {
    let btu = env!("CARGO_BIN_EXE_btu");
    let command = [whole, &[btu], fleet, &["--quiet", "--reconnect-timeout", "2 s"]].concat();
    let mut struck = nodes.on(0, &command).spawn().expect("salloc starts");
    nodes.wait_for_cells((3, 4), &mut struck);
    let is_agent = |line: &str| line.starts_with(btu) && line.contains(AGENT);
    let agent = nodes.lab.processes().into_iter().find(|(_, line)| is_agent(line));
    send(agent.expect("an agent").0, Signal::SIGKILL);
    let output = struck.wait_with_output().expect("it ends");
    let error = text(&output.stderr);
    assert!(output.status.success() && error.contains("goes on without it"), "{error}");
    nodes.assert_no_agents(GONE_WITHIN);
}
