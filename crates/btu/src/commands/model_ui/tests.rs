//! Tests of keys and their effects.

use std::fs;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::save::{command_line, save};
use super::state::{Mode, ShownDelay, TRANSFER, Wish};
use super::view::tests::Bench;

fn value(bench: &Bench, key: &str) -> String {
    let parameter = bench
        .state
        .parameters
        .iter()
        .find(|at| at.key == key)
        .unwrap_or_else(|| panic!("no {key}"));
    bench.state.text(parameter).to_owned()
}

fn choose(bench: &mut Bench, filter: &str) {
    bench.keys("/").keys(filter).keys("\n");
}

fn type_value(bench: &mut Bench, text: &str) {
    bench.keys("e").state.press(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
    bench.keys(text).keys("\n").settle();
}

#[test]
fn held_keys_make_one_question() {
    let mut bench = Bench::open(&["ethernet-shared-10"]);
    choose(&mut bench, "ether.rate");
    bench.settle();
    let before = bench.asked;
    for _ in 0..9 {
        bench.key(KeyCode::Left);
    }
    bench.keys("lll>").settle();
    assert_eq!(
        (value(&bench, "segments.ether.rate"), bench.asked - before),
        ("105 kb/s".to_owned(), 1)
    );
}

#[test]
fn what_the_file_does_not_take_goes_back_to_what_it_took() {
    let mut bench = Bench::open(&["ethernet-shared-10"]);
    choose(&mut bench, "length");
    for _ in 0..2 {
        bench.key(KeyCode::Right).settle();
    }
    assert_eq!(value(&bench, "segments.ether.length"), "2 km");
    bench.key(KeyCode::Right).key(KeyCode::Right).settle();
    assert_eq!(
        value(&bench, "segments.ether.length"),
        "2 km",
        "10 km are longer than the slot allows"
    );
    let note = bench.state.note.clone().unwrap();
    assert!(note.is_problem && note.text.contains("at most 5909 m"), "{note:?}");
    assert!(bench.screen(80, 24).contains("segments.ether.length: a shared Ethernet"));
}

#[test]
fn bad_input_stays_to_be_corrected() {
    let mut bench = Bench::open(&["ethernet-shared-10"]);
    choose(&mut bench, "ether.rate");
    type_value(&mut bench, "10 MB/s");
    let Mode::Value { line, problem: Some(problem), .. } = &bench.state.mode else {
        panic!("{:?}", bench.state.mode)
    };
    assert_eq!(line.text(), "10 MB/s");
    assert!(problem.contains("`MB/s` is not a unit here"), "{problem}");
    assert_eq!(value(&bench, "segments.ether.rate"), "10 Mb/s");
    assert!(bench.screen(80, 24).contains("units are b/s, kb/s, Mb/s"));
    type_value_on(&mut bench, "20 Mb/s");
    assert_eq!(
        (value(&bench, "segments.ether.rate"), &bench.state.mode),
        ("20 Mb/s".to_owned(), &Mode::Browse)
    );
}

/// Continues in an open prompt.
fn type_value_on(bench: &mut Bench, text: &str) {
    bench.state.press(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
    bench.keys(text).keys("\n").settle();
}

#[test]
fn keys_behind_a_typed_value_wait_for_it() {
    let mut bench = Bench::open(&["ethernet-shared-10"]);
    choose(&mut bench, "ether.rate");
    bench.keys("e").state.press(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
    bench.keys("30 Mb/s\nl").settle();
    assert_eq!(
        (value(&bench, "segments.ether.rate"), &bench.state.mode),
        ("50 Mb/s".to_owned(), &Mode::Browse)
    );
    bench.keys("e").keys("x\nl").settle();
    assert_eq!(
        value(&bench, "segments.ether.rate"),
        "50 Mb/s",
        "refused, and nothing turned behind it"
    );
    assert!(
        bench.state.held.is_empty() && matches!(bench.state.mode, Mode::Value { .. }),
        "{:?}",
        bench.state
    );
}

#[test]
fn a_mix_of_sizes_can_be_typed_and_then_turned() {
    let mut bench = Bench::open(&["ethernet-shared-10"]);
    choose(&mut bench, "size everyone");
    bench.key(KeyCode::Right);
    assert!(
        bench.state.note.as_ref().is_some_and(|note| note.text.contains("type it")),
        "{:?}",
        bench.state.note
    );
    type_value(&mut bench, "594 B");
    bench.key(KeyCode::Right).settle();
    assert_eq!(value(&bench, "traffic.everyone.size"), "1000 B");
    bench.keys("r").settle();
    assert!(value(&bench, "traffic.everyone.size").contains("mix"));
    assert!(bench.state.changes.is_empty());
}

#[test]
fn one_value_or_all_go_back() {
    let mut bench = Bench::open(&["citi-1989-light", "--set", "traffic.file.packets_per_s=70"]);
    choose(&mut bench, "file packets");
    bench.key(KeyCode::Right).settle();
    choose_again(&mut bench, "ether.rate");
    bench.key(KeyCode::Right).settle();
    assert_eq!(bench.state.changes.len(), 2);
    bench.keys("r").settle();
    assert_eq!(value(&bench, "segments.ether.rate"), "10 Mb/s");
    bench.keys("R").settle();
    assert_eq!(value(&bench, "traffic.file.packets_per_s"), "70", "as the command line set it");
    assert!(bench.state.changes.is_empty());
}

fn choose_again(bench: &mut Bench, filter: &str) {
    bench.key(KeyCode::Esc);
    choose(bench, filter);
}

#[test]
fn a_transfer_comes_and_goes() {
    let mut bench = Bench::open(&["citi-1989-light"]);
    choose(&mut bench, "transfer");
    assert_eq!(bench.state.chosen, TRANSFER);
    bench.key(KeyCode::Right).settle();
    assert_eq!(bench.state.figure, ShownDelay::Transfer);
    type_value(&mut bench, "100 MB");
    let simple = bench
        .state
        .answer
        .prediction
        .transfer
        .as_ref()
        .and_then(|transfer| transfer.paced.as_ref())
        .unwrap()
        .simple_seconds;
    assert!((simple - 1141.5525).abs() < 1e-3, "methods C1: 1141.55 s, not {simple}");
    let line = command_line("citi-1989-light", &bench.basis, &bench.state.changes, Some("100 MB"));
    assert_eq!(line, "btu model citi-1989-light --transfer '100 MB'");
    type_value(&mut bench, "ten");
    assert!(
        matches!(&bench.state.mode, Mode::Value { problem: Some(_), .. }),
        "{:?}",
        bench.state.mode
    );
    bench.key(KeyCode::Esc).keys("r").settle();
    assert_eq!(bench.state.answer.prediction.transfer, None);
    assert_eq!(bench.state.figure, ShownDelay::All);
}

#[test]
fn a_curve_is_to_be_seen_from_far_above_saturation() {
    let mut bench = Bench::open(&["ethernet-shared-10"]);
    type_value(&mut bench, "2000 %");
    bench.key(KeyCode::Tab).settle();
    let curve = bench.state.curve.as_ref().unwrap();
    let with_mean = curve.points.iter().filter(|point| point.all.value.is_some()).count();
    // Two thirds of the range at most, one third at least, lie below saturation.
    assert!((13..=28).contains(&with_mean), "{with_mean} of {:?}", curve.range);
}

#[test]
fn what_the_filter_hides_is_not_turned() {
    let mut bench = Bench::open(&["citi-1989-light"]);
    choose(&mut bench, "nothing like it");
    bench.key(KeyCode::Down).key(KeyCode::Right).keys("er");
    assert!(bench.screen(80, 24).contains("no key has these words"));
    bench.key(KeyCode::Esc);
    assert_eq!(bench.state.visible().len(), bench.state.parameters.len());
    assert!(
        bench.state.changes.is_empty() && bench.state.mode == Mode::Browse,
        "{:?}",
        bench.state.changes
    );
}

#[test]
fn an_answer_that_is_late_is_not_taken_back() {
    let mut bench = Bench::open(&["citi-1989-light"]);
    choose(&mut bench, "ether.rate");
    bench.key(KeyCode::Right);
    let first = bench.state.ask().unwrap();
    bench.key(KeyCode::Right);
    bench
        .state
        .told(super::asking::WorkerMessage::Answer(first.number, Err("too late".to_owned())));
    assert_eq!(
        (value(&bench, "segments.ether.rate"), &bench.state.note),
        ("50 Mb/s".to_owned(), &None)
    );
}

#[test]
fn saving_asks_before_it_writes_over_something() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new.toml");
    let mut bench = Bench::open(&["citi-1989-light"]);
    choose(&mut bench, "ether.rate");
    bench.key(KeyCode::Right).settle();
    assert!(bench.state.is_unsaved());
    saves(&mut bench, path.to_str().unwrap());
    assert!(!bench.state.is_unsaved(), "{:?}", bench.state);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("rate = \"20 Mb/s\"") && text.contains("# The light case"), "{text}");

    fs::write(&path, "mine").unwrap();
    saves(&mut bench, path.to_str().unwrap());
    assert_eq!(bench.state.mode, Mode::Overwrite(path.clone()));
    assert!(bench.screen(160, 24).contains("is there already"));
    bench.keys("n");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    bench.keys("\n");
    grant(&mut bench);
    bench.keys("y");
    grant(&mut bench);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);

    saves(&mut bench, directory.path().join("none/new.toml").to_str().unwrap());
    assert!(
        matches!(&bench.state.mode, Mode::Path { problem: Some(_), .. }),
        "{:?}",
        bench.state.mode
    );
}

fn saves(bench: &mut Bench, path: &str) {
    bench.keys("s").state.press(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
    bench.keys(path).keys("\n");
    grant(bench);
}

/// Performs the actions outside of the state.
fn grant(bench: &mut Bench) {
    let Some(Wish::Save { path, over }) = bench.state.wish.take() else {
        panic!("nothing is to be saved")
    };
    let saved = save(&bench.basis, &bench.state.changes, &path, over);
    bench.state.saved(saved);
}

#[test]
fn leaving_is_a_wish() {
    let mut bench = Bench::open(&["citi-1989-light"]);
    assert_eq!(bench.keys("q").state.wish.take(), Some(Wish::Quit));
    bench.keys("e").state.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
    assert_eq!(bench.state.wish.take(), Some(Wish::Interrupt));
    assert_eq!(bench.keys("q").state.wish.take(), None, "q is a letter in a prompt");
}
