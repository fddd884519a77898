//! `--resume`: of a complete run, on another machine, of another plan, with options of another
//! plan.

use btu_contract::experiment::{AnyExperiment, Experiment, Named};
use btu_contract::job::Job;
use btu_contract::network::{HostRole, Machine, Machines, Network, Reached};
use btu_control::environment::{Environment, collect};
use btu_store::State;
use btu_studies::rate::Plan;
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::fuzz::seeds;
use crate::shelf::{Shelf, plan};

/// Another machine, with another kernel.
fn elsewhere() -> Environment {
    let mut machine = collect();
    machine.processor.model = Some("Somebody Else 9000".to_owned());
    machine.processor.online = 128;
    machine.kernel.release = Some("2.0.0".to_owned());
    machine
}

/// All rows of all tables, and how often other connections have written since this one was opened.
fn everything(connection: &Connection) -> (i64, Vec<Vec<Value>>) {
    let mut rows = Vec::new();
    for table in ["runs", "tags", "environments", "events", "cells", "machines"] {
        let mut select = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = select.column_count();
        let read = select
            .query_map([], |row| (0..columns).map(|column| row.get(column)).collect())
            .unwrap();
        rows.extend(read.map(Result::unwrap));
    }
    (connection.pragma_query_value(None, "data_version", |row| row.get(0)).unwrap(), rows)
}

#[test]
fn b1_a_complete_run_has_nothing_to_do_and_stays_as_it_is() {
    let mut shelf = Shelf::new();
    // A machine that has changed since then is no reason to touch it either.
    shelf.ended(&plan(Network::Veth), &[9.0, 9.1, 9.2], State::Complete, &[elsewhere()]);
    let connection = Connection::open(shelf.path("runs.sqlite")).unwrap();
    let before = everything(&connection);
    let (_, shown, _) = shelf.btu(&["show", "r1"]);
    for arguments in [
        ["rate", "--resume", "r1"].as_slice(),
        &["rate", "--resume", "latest", "--quiet", "--force"],
    ] {
        let (code, out, errors) = shelf.btu(arguments);
        assert_eq!((code, errors.as_str()), (Some(0), "r1 is complete; nothing to do.\n"));
        assert_eq!(out, shown);
    }
    assert_eq!(shelf.json(&["rate", "--resume", "r1"])["run"]["state"], "complete");
    assert_eq!(everything(&connection), before);
}

#[test]
fn another_machine_is_refused_with_both_named() {
    let mut shelf = Shelf::new();
    shelf.ended(&plan(Network::Veth), &[9.0], State::Interrupted, &[elsewhere()]);
    let connection = Connection::open(shelf.path("runs.sqlite")).unwrap();
    let before = everything(&connection);
    let (code, out, errors) = shelf.btu(&["rate", "--resume", "r1"]);
    assert_eq!((code, out.as_str(), errors.lines().count()), (Some(3), "", 1), "{errors}");
    let here = collect();
    let model = here.processor.model.unwrap_or_else(|| "unknown processor".to_owned());
    for word in [
        "128 x Somebody Else 9000",
        &model,
        "2.0.0 at its start",
        &here.kernel.release.unwrap(),
        "--force",
    ] {
        assert!(errors.contains(word), "{word}: {errors}");
    }
    assert_eq!(everything(&connection), before, "a refusal leaves no trace");

    let older = Environment { btu_version: "0.0.9".to_owned(), ..collect() };
    shelf.ended(&plan(Network::Veth), &[9.0], State::Interrupted, &[older]);
    let (code, _, errors) = shelf.btu(&["rate", "--resume", "r2"]);
    assert!(code == Some(3) && errors.contains("btu: 0.0.9 at its start"), "{errors}");
    assert!(!errors.contains("machine: ") && !errors.contains("kernel: "), "{errors}");
}

/// Two machines in one run: every output reports it, also for runs that an older version resumed.
#[test]
fn cells_of_two_machines_are_told_in_every_output() {
    let mut shelf = Shelf::new();
    let whole = Plan::whole(7, btu_studies::rate::Profile::quick(), Network::Veth);
    let of_two = shelf.ended(&whole, &[9.0, 9.1, 9.2], State::Complete, &[elsewhere(), collect()]);
    let of_one = shelf.run(&whole, &[9.0, 9.1, 9.2]);
    assert_eq!([of_two, of_one].map(|run| run.to_string()), ["r1", "r2"]);
    said_everywhere(&shelf);
    // And carried to another shelf.
    let other = Shelf::new();
    shelf.btu(&["runs", "export", "r1", "r2", "-o", "both.btu"]);
    let (code, _, errors) =
        other.btu(&["runs", "import", &shelf.path("both.btu").display().to_string()]);
    assert_eq!(code, Some(0), "{errors}");
    said_everywhere(&other);
}

/// r1 is of two machines, r2 is not.
fn said_everywhere(shelf: &Shelf) {
    let word = "resumed elsewhere: machine: 128 x Somebody Else 9000";
    // Lines are broken where the terminal ends.
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = |arguments: &[&str]| {
        let (code, out, errors) = shelf.btu(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {errors}");
        flat(out)
    };
    for arguments in [
        ["show", "r1"].as_slice(),
        &["show", "r1", "--all"],
        &["show", "r1", "--json"],
        &["report", "r1", "--format", "text"],
        &["report", "r1", "--format", "json"],
        &["report", "r1", "--format", "markdown"],
        &["report", "r1", "--format", "html", "-o", "-"],
        &["compare", "r1", "r2"],
        &["compare", "r2", "r1", "--format", "markdown"],
        &["compare", "r2", "r1", "--json"],
    ] {
        assert!(said(arguments).contains(word), "{arguments:?}: {}", said(arguments));
    }
    for clean in [["show", "r2"].as_slice(), &["report", "r2", "--format", "markdown"]] {
        assert!(!said(clean).contains("resumed elsewhere"), "{clean:?}");
    }
    assert!(said(&["show", "r1"]).starts_with("Part of a BTU rating: "));
    let verdict = &shelf.json(&["show", "r1"])["result"];
    assert_eq!(
        (&verdict["title"], &verdict["obstacles"]),
        (&"part".into(), &serde_json::json!(["resumed-elsewhere"]))
    );
    assert_eq!(shelf.json(&["show", "r2"])["result"]["title"], "btu-rating");
    let listed = said(&["runs"]);
    assert_eq!((listed.matches("part: ").count(), listed.lines().count()), (1, 1), "{listed}");
    let ranking = shelf.json(&["rank"]);
    assert_eq!(ranking["left_out"][0]["run"], "r1", "{ranking}");
    assert_eq!(ranking["lists"][0]["places"][0]["runs"], serde_json::json!(["r2"]));
}

#[test]
fn a_plan_that_was_changed_is_not_carried_out() {
    let mut shelf = Shelf::new();
    shelf.ended(&plan(Network::Veth), &[9.0], State::Interrupted, &[collect()]);
    let connection = Connection::open(shelf.path("runs.sqlite")).unwrap();
    connection.execute("UPDATE runs SET plan = replace(plan, '65536', '100')", []).unwrap();
    for force in [&[][..], &["--force"]] {
        let (code, _, errors) = shelf.btu(&[&["rate", "--resume", "r1"], force].concat());
        assert_eq!(code, Some(2), "{errors}");
        assert!(
            errors.contains("was changed since it was begun")
                && errors.contains(&plan(Network::Veth).hash()),
            "{errors}"
        );
    }
    connection.execute("UPDATE runs SET plan = '{\"version\": 1}'", []).unwrap();
    let (code, _, errors) = shelf.btu(&["rate", "--resume", "r1"]);
    assert!(code == Some(2) && errors.contains("finish it with btu 0.1.0"), "{errors}");
}

fn hash_of(study: &dyn AnyExperiment, plan: &serde_json::Value) -> String {
    study.plan(&plan.to_string()).unwrap().hash().unwrap()
}

/// A plan of each other study that can be resumed: its name in the store, its command, the plan,
/// its hash.
fn plans() -> Vec<(String, String, serde_json::Value, String)> {
    let [one, set, _] = seeds::jobs();
    let signatures = [one, set].map(|job| {
        let plan = btu_contract::json::to_value(&job).unwrap();
        (Job::STUDY.to_owned(), "pipe".to_owned(), plan, job.hash())
    });
    let studies = seeds::studies().into_iter().map(|study| {
        let (name, hash) = (study.study.study(), hash_of(study.study, &study.plan));
        (name.to_owned(), name.to_owned(), study.plan, hash)
    });
    signatures.into_iter().chain(studies).collect()
}

/// Signatures and studies have the checks of ratings.
#[test]
fn no_study_is_resumed_on_another_machine_or_with_another_plan() {
    let plans = plans();
    assert!(plans.len() >= 6, "{plans:?}");
    for (study, command, plan, hash) in plans {
        let mut shelf = Shelf::new();
        shelf.interrupted(&study, &plan, &hash, &elsewhere());
        let connection = Connection::open(shelf.path("runs.sqlite")).unwrap();
        let before = everything(&connection);
        let (code, out, errors) = shelf.btu(&[&command, "--resume", "r1"]);
        assert_eq!(
            (code, out.as_str(), errors.lines().count()),
            (Some(3), "", 1),
            "{study}: {errors}"
        );
        for word in ["128 x Somebody Else 9000", "2.0.0 at its start", "--force"] {
            assert!(errors.contains(word), "{study}: {word}: {errors}");
        }
        assert_eq!(everything(&connection), before, "{study}: a refusal leaves no trace");
        // On its own machine, the plan is checked; --force does not change that.
        shelf.interrupted(&study, &plan, &hash, &collect());
        let first = if hash.starts_with('0') { '1' } else { '0' };
        let other = format!("{first}{}", &hash[1..]);
        connection.execute("UPDATE runs SET plan_hash = ?1 WHERE id = 2", [&other]).unwrap();
        for force in [&[][..], &["--force"]] {
            let (code, out, errors) =
                shelf.btu(&[&[command.as_str(), "--resume", "r2"], force].concat());
            assert_eq!(
                (code, out.as_str(), errors.lines().count()),
                (Some(2), "", 1),
                "{study}: {errors}"
            );
            assert!(
                errors.contains("was changed since it was begun") && errors.contains(&hash),
                "{study}: {errors}"
            );
        }
    }
}

#[test]
fn a_run_of_another_command_is_sent_there() {
    let mut shelf = Shelf::new();
    shelf.ended(&plan(Network::Veth), &[9.0], State::Interrupted, &[collect()]);
    let (code, _, errors) = shelf.btu(&["pipe", "--resume", "r1"]);
    assert_eq!(
        (code, errors.as_str()),
        (Some(2), "btu: run r1 is one of `btu rate`: resume it with `btu rate --resume r1`\n")
    );
    let connection = Connection::open(shelf.path("runs.sqlite")).unwrap();
    for (study, word) in [
        ("pipe", "is one of `btu pipe`: resume it with `btu pipe --resume r1`"),
        ("hosts", "greeted hosts, which takes no time to do again: `btu hosts check`"),
        (
            "tomorrow",
            "is of the study `tomorrow`, which this btu does not know: use btu 0.1.0, which made it",
        ),
    ] {
        connection.execute("UPDATE runs SET study = ?1", [study]).unwrap();
        let (code, _, errors) = shelf.btu(&["rate", "--resume", "r1"]);
        assert_eq!((code, errors.lines().count()), (Some(2), 1), "{errors}");
        assert!(errors.contains(word), "{errors}");
    }
    for command in [["show", "r1"], ["report", "r1"]] {
        let (code, out, errors) = shelf.btu(&command);
        assert_eq!((code, out.as_str(), errors.lines().count()), (Some(2), "", 1), "{errors}");
        assert!(errors.contains("study `tomorrow`"), "{errors}");
    }
}

#[test]
fn options_of_another_plan_are_refused() {
    let mut shelf = Shelf::new();
    shelf.run(&plan(Network::Veth), &[9.0]);
    for (arguments, option) in [
        (["rate", "--resume", "r1", "--profile", "full"].as_slice(), "--profile"),
        (&["rate", "--resume", "r1", "--component", "SEND"], "--component"),
        (&["pipe", "--resume", "r1", "--network", "10 Mb/s"], "--network"),
    ] {
        let (code, out, errors) = shelf.btu(arguments);
        assert_eq!((code, out.as_str(), errors.lines().count()), (Some(2), "", 1), "{errors}");
        assert!(
            errors.starts_with(&format!("btu: {option} cannot be used with --resume: ")),
            "{errors}"
        );
    }
    let (code, _, errors) = shelf.btu(&["rate", "--force"]);
    assert!(code == Some(2) && errors.contains("--resume"), "{errors}");
}

/// The author of the file named the hosts, and btu would call them with the keys and the ssh of
/// this user.
#[test]
fn an_imported_run_calls_no_host_without_being_asked() {
    let host = |station: HostRole| Machine {
        station: station.into(),
        name: station.name().to_owned(),
        reached: Reached::Ssh { destination: format!("somebody@{}.btu.invalid", station.name()) },
        measured: [192, 0, 2, 1].into(),
    };
    let plan = plan(Network::Machines(Machines { hosts: HostRole::ALL.map(host).to_vec() }));
    let (mut from, to) = (Shelf::new(), Shelf::new());
    from.ended(&plan, &[9.0], State::Interrupted, &[collect()]);
    from.btu(&["runs", "export", "r1", "-o", "runs.btu"]);
    assert_eq!(
        to.btu(&["runs", "import", &from.path("runs.btu").display().to_string()]).0,
        Some(0)
    );
    let called = to.path("called");
    let ssh = to.path("ssh");
    std::fs::write(&ssh, format!("#!/bin/sh\n: > {}\nexit 255\n", called.display())).unwrap();
    std::fs::set_permissions(&ssh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let resume = [
        "rate",
        "--resume",
        "r1",
        "--force",
        "--reconnect-timeout",
        "0 s",
        "--ssh-program",
        ssh.to_str().unwrap(),
    ];
    let (code, _, errors) = to.btu(&resume);
    assert!(code == Some(2) && errors.contains("was imported") && !called.exists(), "{errors}");
    assert!(
        errors.contains("controlled by ssh to somebody@test.btu.invalid")
            && errors.contains("--call-hosts"),
        "{errors}"
    );
    // It calls them if the user allows it, and without a question for the plan's own author.
    let (code, _, errors) = to.btu(&[&resume[..], &["--call-hosts"]].concat());
    assert!(code != Some(0) && called.exists() && !errors.contains("was imported"), "{errors}");
    let (_, _, errors) = from.btu(&resume);
    assert!(!errors.contains("was imported"), "{errors}");
}

/// The author of the file named a directory, and btu would write there with the rights of this user:
/// of every plan that has one.
#[test]
fn an_imported_run_writes_in_no_directory_without_being_asked() {
    let within = tempfile::tempdir().unwrap();
    let share = within.path().to_str().unwrap();
    let mut asked = Vec::new();
    for seed in seeds::studies() {
        let (mut plan, study) = (seed.plan.clone(), seed.study.study());
        plan["at"] = share.into();
        let hash = |plan: &serde_json::Value| hash_of(seed.study, plan);
        // A plan without such a field is the same as before.
        if hash(&plan) == hash(&seed.plan) {
            continue;
        }
        asked.push(study);
        let (mut from, to) = (Shelf::new(), Shelf::new());
        from.interrupted(study, &plan, &hash(&plan), &elsewhere());
        from.btu(&["runs", "export", "r1", "-o", "runs.btu"]);
        assert_eq!(
            to.btu(&["runs", "import", &from.path("runs.btu").display().to_string()]).0,
            Some(0)
        );
        let (code, out, errors) = to.btu(&[study, "--resume", "r1"]);
        assert_eq!((code, out.as_str(), errors.lines().count()), (Some(2), "", 1), "{errors}");
        for word in ["was imported", "write files in directories", share, "--use-directory"] {
            assert!(errors.contains(word), "{study}: {word}: {errors}");
        }
        // Then the machine is looked at, as it is at once for the plan's own author.
        for (shelf, words) in [
            (&to, &[study, "--resume", "r1", "--use-directory"][..]),
            (&from, &[study, "--resume", "r1"]),
        ] {
            let (code, _, errors) = shelf.btu(words);
            assert!(code == Some(3) && errors.contains("--force"), "{study}: {errors}");
        }
    }
    assert_eq!(asked, ["copy", "lan"]);
    assert_eq!(std::fs::read_dir(share).unwrap().count(), 0);
}

/// Of the programs of an imported run everything is named with which they would be started.
#[test]
fn an_imported_run_names_what_its_programs_are_started_with() {
    let seed = seeds::studies().into_iter().find(|seed| seed.study.study() == "run").unwrap();
    let mut plan = seed.plan.clone();
    let order = &mut plan["rows"][0]["programs"][0]["order"];
    order["directory"] = "/some where".into();
    order["environment"] = serde_json::json!({"LD_PRELOAD": "/tmp/evil.so"});
    order["command"] = serde_json::json!(["sh", "-c", "echo a\necho b"]);
    let hash = hash_of(seed.study, &plan);
    let (mut from, to) = (Shelf::new(), Shelf::new());
    from.interrupted("run", &plan, &hash, &elsewhere());
    from.btu(&["runs", "export", "r1", "-o", "runs.btu"]);
    let (code, _, errors) =
        to.btu(&["runs", "import", &from.path("runs.btu").display().to_string()]);
    assert_eq!(code, Some(0), "{errors}");
    let (code, _, errors) = to.btu(&["run", "--resume", "r1"]);
    assert_eq!((code, errors.lines().count()), (Some(2), 1), "{errors}");
    let typed = "cd '/some where' && LD_PRELOAD=/tmp/evil.so sh -c 'echo a?echo b'; true. ";
    assert!(errors.contains(typed) && errors.contains("--start-programs"), "{errors}");
}

/// A run of which nothing counts is no success, of whatever study, and the reason is said.
#[test]
fn a_run_in_which_nothing_counts_fails() {
    let mut shelf = Shelf::new();
    let run = shelf.run(&plan(Network::Veth), &[9.0]).to_string();
    assert_eq!(shelf.btu(&["rate", "--resume", &run, "-q"]).0, Some(0));
    let database = Connection::open(shelf.path("runs.sqlite")).unwrap();
    database.execute("UPDATE cells SET valid = 0", []).unwrap();
    let (code, out, errors) = shelf.btu(&["rate", "--resume", &run, "-q"]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(
        !out.is_empty() && errors.contains(&format!("nothing of run {run} counts")),
        "{errors}"
    );
}
