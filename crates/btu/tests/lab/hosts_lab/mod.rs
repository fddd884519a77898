//! Hosts as stations of a raised network: agents of one job, control and measured networks apart.
//!
//! The control network is the drawn one, through the wire. The measured network is a bridge of its
//! own, in the controller's station, with a second interface in each host; only the hosts have
//! addresses on it.

mod trio;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use btu_control::trust::{Bundle, BundleLimits};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::drawn::{Lab, is_there};
use crate::support::{LONG, text};
pub(crate) use trio::Trio;

/// The hosts of `btu rate`, in the order of their roles.
pub(crate) const RATED: [&str; 3] = ["alpha", "beta", "gamma"];

/// A rating small enough for a test, and long enough to be struck in its middle: 3 blocks of 6 rows.
pub(crate) const SMALL_RATING: [&str; 6] =
    ["--component", "SEND,SEND_RECV", "--message", "65536", "--load", "idle,cpu"];

/// A raised network of hosts.
pub(crate) struct Hosts {
    pub(crate) lab: Lab,
    pub(crate) names: Vec<String>,
    agents: Mutex<BTreeMap<String, Child>>,
}

impl Hosts {
    /// Raises `count` hosts in addition to the controller's desk; the first three are on the
    /// measured network, too.
    pub(crate) fn raise(count: usize) -> Option<Self> {
        Self::raise_in(Lab::open(), count, RATED.len())
    }

    /// Like `raise`, for a long test with a result that does not depend on root.
    pub(crate) fn raise_once(count: usize) -> Option<Self> {
        Self::raise_in(Lab::open_once(), count, RATED.len())
    }

    /// Like `raise_once`, for a part that other tests look at each time: see [`Lab::open_once_if_changed`].
    pub(crate) fn raise_once_if_changed(count: usize) -> Option<Self> {
        Self::raise_in(Lab::open_once_if_changed(), count, RATED.len())
    }

    /// Like `raise_once_if_changed`, for this number of trios, all on the measured network.
    pub(crate) fn raise_trios_if_changed(trios: usize) -> Option<Self> {
        let count = trios * RATED.len();
        Self::raise_in(Lab::open_once_if_changed(), count, count)
    }

    fn raise_in(lab: Option<Lab>, count: usize, measured: usize) -> Option<Self> {
        let lab = lab.filter(|_| is_there("ip") && is_there("nft"))?;
        let more = (RATED.len()..count).map(|number| format!("host-{number}"));
        let names: Vec<String> =
            RATED.iter().map(ToString::to_string).chain(more).take(count).collect();
        lab.up(&drawing(&names));
        let hosts = Self { lab, names, agents: Mutex::default() };
        hosts.measured_network(measured);
        hosts.bundle("bundle", "me.pem");
        Some(hosts)
    }

    /// Hosts 3 x `number` and the two after it.
    pub(crate) fn trio(&self, number: usize) -> Trio<'_> {
        Trio { hosts: self, number }
    }

    /// A second interface for the measured ones, all on one bridge.
    fn measured_network(&self, count: usize) {
        self.shell("desk", "ip link add measured type bridge && ip link set measured up");
        for (name, address) in self.names.iter().take(count).zip(10..) {
            let mut held =
                self.lab.exec(name, &["sh", "-c", "echo $$; exec sleep 60"]).spawn().unwrap();
            let mut number = String::new();
            BufReader::new(held.stdout.take().unwrap()).read_line(&mut number).unwrap();
            let number = number.trim();
            self.shell(
                "desk",
                &format!("ip link add m-{name} type veth peer name m0 netns {number} && ip link set m-{name} master measured up"),
            );
            self.shell(
                name,
                &format!("ip address add 10.99.0.{address}/24 dev m0 && ip link set m0 up"),
            );
            held.kill().unwrap();
            held.wait().unwrap();
        }
    }

    /// Gives this place on the measured network an IPv6 address as well, which stations do not have
    /// by themselves; false, with a loud message, if the kernel has no IPv6.
    pub(crate) fn speak_ipv6(&self, station: &str, interface: &str, address: &str) -> bool {
        let has_it = self.shell(station, "test -e /proc/net/if_inet6 && echo yes || true");
        if has_it.is_empty() {
            eprintln!("LAB SKIPPED: this kernel has no IPv6");
            assert!(
                std::env::var_os("BTU_LAB").is_none_or(|lab| lab != "required"),
                "IPv6 must exist here"
            );
            return false;
        }
        let switch = format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6");
        self.shell(
            station,
            &format!("echo 0 > {switch} && ip -6 address add {address}/64 dev {interface} nodad"),
        );
        true
    }

    /// What a job's agents get, and its controller.
    pub(crate) fn bundle(&self, agents: &str, controller: &str) {
        let hour = Duration::from_hours(1);
        let limits = BundleLimits { lasts: hour, idle: hour, towards: Vec::new(), over: None };
        let (bundle, identity) = Bundle::issue(&self.names, limits).unwrap();
        bundle.save(self.path(agents).as_ref()).unwrap();
        let controller = self.path(controller);
        fs::write(&controller, identity).unwrap();
        fs::set_permissions(&controller, fs::Permissions::from_mode(0o600)).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.lab.home.path().join(name).display().to_string()
    }

    /// Runs a line of shell in a station.
    pub(crate) fn shell(&self, station: &str, line: &str) -> String {
        let output = self.lab.exec(station, &["sh", "-c", line]).output().unwrap();
        assert!(output.status.success(), "{station}: {line}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// A host's address on the control network.
    pub(crate) fn control(&self, name: &str) -> String {
        let place = self.names.iter().position(|one| one == name).expect("a host of this lab");
        format!("198.18.1.{}", place + 1)
    }

    /// Starts every agent and waits until they listen.
    pub(crate) fn start_agents(&self) {
        self.names.iter().for_each(|name| self.start_agent(name));
        self.await_agents();
    }

    pub(crate) fn start_agent(&self, name: &str) {
        self.start_agent_after(name, &[]);
    }

    /// Starts an agent by another program.
    pub(crate) fn start_agent_after(&self, name: &str, before: &[&str]) {
        let listen = format!("{}:7417", self.control(name));
        let scratch = self.path(&format!("scratch-{name}"));
        fs::create_dir_all(&scratch).unwrap();
        let policy = self.path(&format!("{name}.policy"));
        let rules = format!("[scratch]\ndirectory = \"{scratch}\"\n[copy]\nprograms = [\"scp\"]\n");
        fs::write(&policy, rules).unwrap();
        let index = self.names.iter().position(|one| one == name).expect("a host of this lab");
        let (bundle, index) = (self.path("bundle"), index.to_string());
        let agent = [env!("CARGO_BIN_EXE_btu"), "hosts", "agent", "--listen", &listen];
        let options = ["--policy", &policy, "--launched", &bundle, "--index", &index];
        let mut command = self.lab.exec(name, &[before, &agent, &options].concat());
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.path(&format!("{name}.log")))
            .unwrap();
        let child = command.stderr(log).spawn().unwrap();
        self.agents().insert(name.to_owned(), child);
    }

    fn agents(&self) -> MutexGuard<'_, BTreeMap<String, Child>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until each agent takes connections.
    pub(crate) fn await_agents(&self) {
        self.names.iter().for_each(|name| self.await_agent(name));
    }

    pub(crate) fn await_agent(&self, name: &str) {
        let deadline = Instant::now() + LONG;
        // In /proc/net/tcp6 or tcp: state 0A is LISTEN, 1CF9 is 7417.
        while !self.shell(name, "cat /proc/net/tcp /proc/net/tcp6").contains(":1CF9 00000000") {
            assert!(Instant::now() < deadline, "{name} does not listen: {}", self.log(name));
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Takes all of it down, and checks that nothing is left.
    pub(crate) fn lower(self) {
        let output = self.lab.output(&["net", "down"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        for mut agent in
            self.agents.into_inner().unwrap_or_else(PoisonError::into_inner).into_values()
        {
            // This process was stopped together with its agent, and no other process sends it
            // SIGCONT.
            kill(Pid::from_raw(agent.id().cast_signed()), Signal::SIGCONT).unwrap();
            agent.wait().unwrap();
        }
        self.lab.assert_gone();
    }

    pub(crate) fn log(&self, name: &str) -> String {
        fs::read_to_string(self.path(&format!("{name}.log"))).unwrap_or_default()
    }

    /// The agent's process id in this test's namespace.
    pub(crate) fn agent(&self, name: &str) -> i32 {
        let listen = format!(" agent --listen {}:7417 ", self.control(name));
        let others = [" exec ", " enter ", "unshare "];
        self.lab.process(name, |line| {
            line.contains(&listen) && !others.iter().any(|other| line.contains(other))
        })
    }

    pub(crate) fn signal_agent(&self, name: &str, signal: Signal) {
        kill(Pid::from_raw(self.agent(name)), signal).unwrap();
    }

    /// Waits until a killed agent is gone.
    pub(crate) fn bury_agent(&self, name: &str) {
        let mut agent = self.agents().remove(name).expect("it was started");
        agent.wait().unwrap();
    }

    /// Ends an agent in order.
    pub(crate) fn end_agent(&self, name: &str) {
        self.signal_agent(name, Signal::SIGTERM);
        self.bury_agent(name);
    }

    /// The workers of a host's agent.
    pub(crate) fn workers(&self, name: &str) -> Vec<i32> {
        let agent = self.agent(name);
        let children =
            fs::read_to_string(format!("/proc/{agent}/task/{agent}/children")).unwrap_or_default();
        children.split_whitespace().filter_map(|number| number.parse().ok()).collect()
    }

    /// An inventory of all hosts, changed by `change`.
    pub(crate) fn inventory(&self, change: impl FnOnce(String) -> String) -> String {
        self.write_inventory("hosts.toml", 0..self.names.len(), change)
    }

    fn write_inventory(
        &self,
        file: &str,
        which: Range<usize>,
        change: impl FnOnce(String) -> String,
    ) -> String {
        let roles = ["test", "active", "passive"];
        let mut written = String::new();
        for (number, (name, measured)) in
            self.names.iter().zip(10..).enumerate().skip(which.start).take(which.len())
        {
            writeln!(written, "[hosts.{name}]\ncontrol = \"{}\"", self.control(name)).unwrap();
            if let Some(role) = roles.get(number - which.start) {
                writeln!(written, "role = \"{role}\"\nmeasured = \"10.99.0.{measured}\"").unwrap();
            }
        }
        let path = self.path(file);
        fs::write(&path, change(written)).unwrap();
        path
    }

    /// `btu ARGUMENTS` at the controller's desk.
    pub(crate) fn desk(&self, arguments: &[&str]) -> Command {
        self.trio(0).desk(arguments)
    }

    /// `btu rate --hosts` with few components.
    pub(crate) fn rate(&self, arguments: &[&str]) -> Command {
        let inventory = self.inventory(|text| text);
        self.desk(&[&["rate", "--hosts", &inventory, "--quiet"], arguments].concat())
    }

    /// Runs a command and reads what it prints as JSON.
    pub(crate) fn json(mut command: Command) -> Value {
        let output = command.arg("--json").output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("--json prints JSON")
    }

    /// The controller's process id in this test's namespace.
    pub(crate) fn controller(&self) -> i32 {
        self.lab.process("the controller", |line| {
            line.contains(" rate --hosts") && !line.contains(" exec ") && !line.contains(" enter ")
        })
    }

    /// The stored data of the newest run.
    pub(crate) fn stored(&self) -> Value {
        self.trio(0).stored()
    }

    /// `btu ARGUMENTS` outside, on the same database.
    pub(crate) fn lab_command(&self, arguments: &[&str]) -> Command {
        self.trio(0).lab_command(arguments)
    }

    /// The number of runs, and of cells in the newest one.
    pub(crate) fn runs(&self) -> (usize, u64) {
        self.trio(0).runs()
    }

    /// Begins a command that makes a run, and waits until that has this number of cells.
    pub(crate) fn begin(&self, command: Command, cells: u64) -> Child {
        self.trio(0).begin(command, cells)
    }
}

/// Waits for a child's end, and kills it when it takes too long.
pub(crate) fn ended(mut child: Child) -> Output {
    let deadline = Instant::now() + LONG;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it did not end: {}", text(&child.wait_with_output().unwrap().stderr));
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

/// The events of a run that hold `part`.
pub(crate) fn events(run: &Value, part: &str) -> Vec<String> {
    let events = run["run"]["events"].as_array().expect("a run has events");
    let texts = events.iter().filter_map(|event| event["text"].as_str());
    texts.filter(|text| text.contains(part)).map(str::to_owned).collect()
}

/// The controller's desk and the hosts on one switch.
fn drawing(names: &[String]) -> String {
    let mut drawn = "name = \"control\"\n[segments.control]\nmedium = \"switched-ethernet\"\nrate = \"1 Gb/s\"\n\
                     [stations.desk]\nsegment = \"control\"\naddress = \"198.18.0.1\"\n"
        .to_owned();
    for (number, name) in names.iter().enumerate() {
        writeln!(
            drawn,
            "[stations.{name}]\nsegment = \"control\"\naddress = \"198.18.1.{}\"",
            number + 1
        )
        .unwrap();
    }
    drawn
}
