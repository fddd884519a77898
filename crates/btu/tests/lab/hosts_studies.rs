//! Studies of scripted cells between real hosts, with agents in stations of a raised network.

use std::process::Output;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::machine::of_the_measurement;
use crate::hosts_lab::{Hosts, Trio, ended};
use crate::support::text;

#[test]
fn studies_are_measured_between_hosts_and_survive_a_lost_one() {
    let Some(hosts) = Hosts::raise_trios_if_changed(1) else { return };
    hosts.start_agents();
    let trio = hosts.trio(0);
    an_application_draws_from_host_to_host(&trio);
    a_file_is_copied_from_host_to_host(&trio);
    ssh_of_the_system_copies_where_policies_name_it(&trio);
    each_host_sends_to_each(&trio);
    this_machine_takes_part_itself(&trio);
    a_server_is_lost_and_the_run_goes_on_later(&trio);
    what_makes_no_sense_begins_no_run(&trio);
    hosts.lower();
}

/// A study on the hosts of the inventory.
fn measured(trio: &Trio<'_>, study: &str, arguments: &[&str]) -> Value {
    let inventory = trio.inventory();
    let result =
        Hosts::json(trio.desk(&[&[study, "--hosts", &inventory, "--quiet"], arguments].concat()));
    let run = &result["run"];
    assert_eq!(
        (&run["state"], &run["study"]),
        (&"complete".into(), &study.into()),
        "{}",
        run["events"]
    );
    let cells = trio.cells();
    assert!(!cells.is_empty());
    for cell in &cells {
        assert_eq!(cell["faults"], Value::Array(Vec::new()), "{cell}");
    }
    // In a cell of some milliseconds the kernel may have counted nothing.
    let counted = cells
        .iter()
        .filter_map(|cell| cell["machine"].as_object())
        .flat_map(|times| times.values());
    assert!(counted.filter_map(Value::as_u64).sum::<u64>() > 0, "{}", cells[0]["machine"]);
    result
}

fn each_host_sends_to_each(trio: &Trio<'_>) {
    let result = measured(trio, "fleet", &["--per-pair", "100 ms"])["result"].clone();
    let pairs = result["pairs"].as_array().expect("pairs");
    assert_eq!((result["hosts"].as_array().map(Vec::len), pairs.len()), (Some(3), 6));
    assert!(pairs.iter().all(|pair| pair["goodput_bits_per_second"]["value"].is_f64()), "{result}");
}

fn an_application_draws_from_host_to_host(trio: &Trio<'_>) {
    let ends = ["--application", "alpha", "--display", "gamma"];
    let what =
        ["--workload", "text", "--protocol", "stop-and-wait,batched", "--transport", "tcp,udp"];
    let result = measured(trio, "app", &[ends, what[..4].try_into().expect("four words")].concat());
    let network = &result["run"]["plan"]["network"];
    assert_eq!(network["kind"], "machines");
    let hosts: Vec<[&Value; 3]> = network["hosts"]
        .as_array()
        .expect("hosts")
        .iter()
        .map(|host| [&host["station"], &host["name"], &host["measured"]])
        .collect();
    assert_eq!(hosts, [["alpha", "alpha", "10.99.0.10"], ["gamma", "gamma", "10.99.0.12"]]);
    // The environments of both hosts, before and after.
    assert_eq!(result["run"]["environments"].as_array().map(Vec::len), Some(4));
    let shown = text(&trio.lab_command(&["show", "--all"]).output().expect("btu starts").stdout);
    for line in [
        ", hosts alpha, gamma, quick profile",
        "gamma, measured at 10.99.0.12, controlled by TLS to 198.18.1.3:7417",
    ] {
        assert!(shown.contains(line), "no `{line}` in {shown}");
    }
    for format in ["html", "csv"] {
        let file = trio.hosts.path(&format!("app.{format}"));
        let output = trio
            .lab_command(&["report", "--format", format, "--output", &file])
            .output()
            .expect("btu starts");
        assert!(output.status.success(), "{format}: {}", text(&output.stderr));
    }
}

fn a_file_is_copied_from_host_to_host(trio: &Trio<'_>) {
    let result = measured(
        trio,
        "copy",
        &[
            "--sender",
            "beta",
            "--receiver",
            "alpha",
            "--program",
            "bare,ftp,nfs",
            "--size",
            "200 kB",
            "--storage",
            "disk,memory",
        ],
    );
    let rows = result["result"]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 6, "{rows:?}");
    // The network between them is not known, so it has no predicted time.
    assert!(
        rows.iter().all(|row| row["seconds"]["median"]["value"].as_f64().is_some()
            && row["line_seconds"].is_null()),
        "{rows:?}"
    );
    let left =
        std::fs::read_dir(trio.hosts.path("scratch-alpha")).expect("the scratch directory").count();
    assert_eq!(left, 0, "files are left");
}

/// This machine takes part together with a single host: nothing runs on this machine before and
/// after.
fn this_machine_takes_part_itself(trio: &Trio<'_>) {
    let inventory = trio.hosts.path("alone.toml");
    std::fs::write(&inventory, "[hosts.alpha]\ncontrol = \"198.18.1.1\"\n").expect("written");
    let short = ["-t", "300 ms", "--udp", "1 Mb/s", "--quiet"];
    let far = ["speed", "alpha", "--hosts", &inventory];
    let result = Hosts::json(trio.desk(&[&far[..], &short].concat()));
    let hosts = result["run"]["plan"]["network"]["hosts"].as_array().expect("hosts");
    let names: Vec<&Value> = hosts.iter().map(|host| &host["name"]).collect();
    assert_eq!(
        (names.as_slice(), &hosts[0]["reached"]["by"]),
        (&[&"here".into(), &"alpha".into()][..], &"here".into())
    );
    for row in result["result"]["rows"].as_array().expect("rows") {
        assert_eq!(row["invalid"], 0, "{row}");
        assert!(row["round_trip"]["count"].as_u64().is_some_and(|count| count > 2), "{row}");
    }
    let shown = text(&trio.lab_command(&["show", "--all"]).output().expect("btu starts").stdout);
    assert!(
        shown.contains("hosts here, alpha") && shown.contains("controlled by this machine itself"),
        "{shown}"
    );
}

/// The agents' policies name scp and not sftp; the superuser's agents start neither.
fn ssh_of_the_system_copies_where_policies_name_it(trio: &Trio<'_>) {
    if !std::path::Path::new("/usr/sbin/sshd").exists() {
        assert!(std::env::var("BTU_LAB").as_deref() != Ok("required"), "there is no sshd");
        eprintln!("LAB SKIPPED: no sshd");
        return;
    }
    let ends = ["--sender", "beta", "--receiver", "alpha", "--size", "200 kB", "--storage", "disk"];
    let by = |program| [&ends[..], &["--direction", "put,get", "--program", program]].concat();
    if nix::unistd::geteuid().is_root() {
        let said = faults(trio, &by("scp"));
        assert!(said.contains("run the agent as another user"), "{said}");
    } else {
        let result = measured(trio, "copy", &by("scp"));
        assert_eq!(result["result"]["rows"].as_array().map(Vec::len), Some(2), "{result}");
    }
    let said = faults(trio, &by("sftp"));
    assert!(said.contains("scp is named: `copy.programs` in line"), "{said}");
    let left = std::fs::read_dir(trio.hosts.path("scratch-alpha")).expect("readable").count();
    assert_eq!(left, 0, "files are left");
}

/// What a copy that cannot be made says, in its errors and in the faults of its cells.
fn faults(trio: &Trio<'_>, arguments: &[&str]) -> String {
    let inventory = trio.inventory();
    let what = ["copy", "--hosts", &inventory, "--quiet"];
    let output = trio.desk(&[&what[..], arguments].concat()).output().expect("btu starts");
    let cells = trio.cells().iter().map(|cell| cell["faults"].to_string()).collect::<String>();
    text(&output.stderr) + &cells
}

fn a_server_is_lost_and_the_run_goes_on_later(trio: &Trio<'_>) {
    let (hosts, inventory) = (trio.hosts, trio.inventory());
    let server = ["lan", "--hosts", &inventory, "--server", "beta", "--bench", "alpha"];
    let rest = ["--task", "wp-save-document,fm-sort", "--reconnect-timeout", "2 s", "--quiet"];
    let child = trio.begin(trio.desk(&[&server[..], &rest].concat()), 3);
    hosts.signal_agent("beta", Signal::SIGKILL);
    hosts.bury_agent("beta");
    let output = ended(child);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("host beta was lost and not found again within 2 s (--reconnect-timeout)"),
        "{said}"
    );
    assert!(said.contains("btu lan --resume"), "{said}");
    hosts.start_agent("beta");
    hosts.await_agents();
    let before = trio.runs();
    let result = Hosts::json(trio.desk(&["lan", "--resume", "latest", "--quiet"]));
    assert_eq!(result["run"]["state"], "complete", "{}", result["run"]["events"]);
    let after = trio.runs();
    assert!(
        after.0 == before.0 && after.1 > before.1,
        "the same run went on: {before:?} {after:?}"
    );
    // There are two tasks: on the local disk without load, and with the one other host at work.
    let rows = result["result"]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 6, "{rows:?}");
    assert!(rows.iter().all(|row| row["seconds"]["value"].as_f64().is_some()), "{rows:?}");
    let warnings = of_the_measurement(&result["result"]);
    assert!(warnings.is_empty(), "{warnings:?}");
}

fn refused(trio: &Trio<'_>, arguments: &[&str]) -> Output {
    let output = trio.desk(arguments).output().expect("btu starts");
    assert!(!output.status.success());
    output
}

fn what_makes_no_sense_begins_no_run(trio: &Trio<'_>) {
    let (inventory, runs) = (trio.inventory(), trio.runs());
    let hosts = ["--hosts", inventory.as_str()];
    for (arguments, code, word) in [
        (["lan", "--server", "delta"], 2, "there is no host `delta`; there are alpha, beta, gamma"),
        (["copy", "--contention", "60"], 2, "an unknown rate"),
        (["app", "--delay", "5 ms"], 2, "--delay, --set and --scratch"),
        (["app", "--congestion-control", "reno"], 2, "--congestion-control"),
        (["lan", "--stations", "101"], 2, "are too many"),
    ] {
        let output = refused(trio, &[&arguments[..], &hosts].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(word), "{said}");
    }
    // A host with a wrong measured address.
    let elsewhere = trio.hosts.path("elsewhere.toml");
    let written = std::fs::read_to_string(&inventory).expect("the inventory");
    std::fs::write(&elsewhere, written.replace("10.99.0.11", "10.99.0.99")).expect("written");
    let output = refused(trio, &["copy", "--hosts", &elsewhere, "--quiet"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("beta") && said.contains("10.99.0.99"), "{said}");
    assert_eq!(trio.runs(), runs, "a run was begun");
}
