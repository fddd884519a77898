//! `btu` alone, and small things that every command has.

use std::path::Path;

use crate::shelf::Shelf;

/// The questions of the first screen, of README and of docs/questions.md: one list.
const QUESTIONS: [(&str, &[&str]); 5] = [
    ("How fast is it to that host?", &["btu speed --ssh HOST"]),
    (
        "Is my queue bloated?",
        &["btu speed --network home-bloated --from laptop --to server -C reno"],
    ),
    (
        "Did the upgrade hurt?",
        &["btu rate --tag before", "btu rate --tag after", "btu compare tag:before tag:after"],
    ),
    ("Which machine is best?", &["btu rank"]),
    ("What will a transfer take", &["btu model '50 Mb/s' --transfer '100 MB' --delay '20 ms'"]),
];

/// `btu` without arguments shows questions with their commands, and no internal processes.
#[test]
fn btu_alone_offers_questions() {
    let (code, out, errors) = Shelf::new().btu(&[]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    for page in ["README.md", "docs/questions.md"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
        let listed = std::fs::read_to_string(path).expect("a page");
        for (question, commands) in QUESTIONS {
            for text in std::iter::once(question).chain(commands.iter().copied()) {
                assert!(out.contains(text), "{text}: {out}");
                assert!(listed.contains(text), "{text} is not in {page}");
            }
        }
    }
    assert!(
        !out.contains("internal") && out.lines().all(|line| line.chars().count() <= 80),
        "{out}"
    );
    let (_, help, _) = Shelf::new().btu(&["--help"]);
    assert!(!help.contains("internal"), "{help}");
}

/// A command that needs more than its name offers commands to type, as `btu` alone does; with exit code 2,
/// since a script may have lost its arguments.
#[test]
fn a_command_alone_offers_what_to_type() {
    let shelf = Shelf::new();
    for (command, offered) in [
        ("net", "btu net run home-bloated -C reno --watch"),
        ("hosts", "btu hosts check lab.toml"),
        ("compare", "btu compare r4 r9"),
        ("runs machine", "btu runs machine list"),
        ("model", "btu model "),
        ("sim", "btu sim "),
        ("run", "btu run --example"),
        ("speed", "btu speed --ssh me@alpha"),
    ] {
        let (code, _, errors) = shelf.btu(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(code, Some(2), "{command}: {errors}");
        assert!(errors.contains(offered) && !errors.contains("Usage:"), "{command}: {errors}");
    }
    let (code, _, errors) = shelf.btu(&["show"]);
    assert!(code == Some(2) && errors.contains("none is stored yet; `btu rate` makes"), "{errors}");
}

#[test]
fn a_network_of_the_library_is_json_on_demand() {
    let found = Shelf::new().json(&["net", "show", "home-bloated"]);
    assert_eq!(found["name"], "home-bloated");
    assert!(found["toml"].as_str().is_some_and(|text| text.contains("[stations.")), "{found}");
}

/// The first screen of every stored study of the rating fits, and `--all` has more.
#[test]
fn show_is_one_screen_and_all_has_every_table() {
    let mut shelf = Shelf::new();
    let plan = btu_studies::rate::Plan::whole(
        7,
        btu_studies::rate::Profile::quick(),
        btu_contract::network::Network::Veth,
    );
    shelf.run(&plan, &[9.0, 9.1, 9.2]);
    let (_, first, _) = shelf.btu(&["show"]);
    assert!(first.starts_with("BTU rating ") && first.lines().count() <= 16, "{first}");
    assert!(
        first.contains("> btu show r1 --all")
            && first.contains("intervals (95 %) are of this run, not the next"),
        "{first}"
    );
    // The list says the same to people and to programs.
    let (_, list, _) = shelf.btu(&["runs"]);
    let listed = &shelf.json(&["runs"])[0];
    let answer = listed["answer"].as_str().expect("an answer");
    assert!(answer.ends_with("b/s") && list.contains(answer), "{listed} {list}");
    assert_eq!(listed["command"], "rate");
    let (_, all, _) = shelf.btu(&["show", "--all"]);
    assert!(all.lines().count() > 40, "{all}");
    // From the third run on, the machine's own spread is known.
    shelf.run(&plan, &[9.3, 9.4, 9.5]);
    shelf.run(&plan, &[8.8, 8.9, 9.0]);
    let (_, third, _) = shelf.btu(&["show"]);
    assert!(
        third.contains("this machine's mean over 3 runs of this plan")
            && third.lines().count() <= 16,
        "{third}"
    );
}
