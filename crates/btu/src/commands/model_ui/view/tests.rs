//! Pictures of the view after keys were pressed, without a terminal.

use std::sync::mpsc;

use clap::Parser;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Palette, draw};
use crate::cli::{Arguments, Command, Model};
use crate::commands::model_ui::asking::{Basis, Changes, work};
use crate::commands::model_ui::state::{State, Wish};
use crate::files;

/// The view without its terminal; answers are computed between keys.
pub(crate) struct Bench {
    pub(crate) state: State,
    pub(crate) basis: Basis,
    /// Questions that were asked.
    pub(crate) asked: usize,
}

impl Bench {
    /// `btu model WORDS --ui`.
    pub(crate) fn open(words: &[&str]) -> Self {
        let line = ["btu", "model"].iter().chain(words).chain(&["--ui"]);
        let Command::Model(model) = Arguments::parse_from(line).command else {
            panic!("another command")
        };
        Self::of(&model, files::source(model.subject.network()).unwrap())
    }

    pub(crate) fn of(model: &Model, source: files::Source) -> Self {
        let basis = Basis::of(model, source);
        let (_, answer) = basis.answer(&Changes::new(), model.transfer).unwrap();
        let state =
            State::new(model.subject.network(), answer, model.transfer, model.flow.as_deref());
        let mut bench = Self { state, basis, asked: 0 };
        bench.settle();
        bench
    }

    /// Sends requests and answers until there are none left.
    pub(crate) fn settle(&mut self) {
        while let Some(ask) = self.state.ask() {
            self.asked += 1;
            let (send, asks) = mpsc::channel();
            let (tell, told) = mpsc::channel();
            send.send(ask).unwrap();
            drop(send);
            work(&self.basis, &asks, &|told| tell.send(told).is_ok());
            for told in told.try_iter() {
                self.state.told(told);
            }
        }
    }

    pub(crate) fn key(&mut self, code: KeyCode) -> &mut Self {
        self.state.press(KeyEvent::from(code));
        self
    }

    /// Types characters; `\n` is the enter key.
    pub(crate) fn keys(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.key(if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) });
        }
        self
    }

    /// The content of the terminal.
    pub(crate) fn screen(&mut self, width: u16, height: u16) -> String {
        self.settle();
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &self.state, Palette { colour: false })).unwrap();
        terminal.backend().to_string()
    }
}

#[test]
fn the_light_case_at_the_least_size() {
    let mut bench = Bench::open(&["citi-1989-light", "--transfer", "100 MB"]);
    insta::assert_snapshot!(bench.screen(80, 24));
}

/// CITI's crossing: from 1034 packets/s of background on the network limits.
#[test]
fn a_typed_value_moves_everything() {
    let mut bench = Bench::open(&["citi-1989-light", "--transfer", "100 MB"]);
    bench
        .keys("/back pack\n")
        .keys("e")
        .state
        .press(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
    bench.keys("1034\n").settle();
    bench.key(KeyCode::Tab);
    let screen = bench.screen(80, 24);
    assert!(screen.contains("the network limits") && screen.contains("17.112 ms"), "{screen}");
    insta::assert_snapshot!(screen);
}

#[test]
fn what_is_saturated_has_no_number() {
    let mut bench = Bench::open(&["ethernet-shared-10"]);
    bench.key(KeyCode::Right).key(KeyCode::Right);
    let screen = bench.screen(120, 40);
    assert!(screen.contains("saturated (w why)") && !screen.contains("  -"), "{screen}");
    insta::assert_snapshot!(screen);
}

#[test]
fn many_rows_give_way_to_the_curve() {
    let mut bench = Bench::open(&["home-bloated", "--transfer", "20 MB"]);
    bench.keys("ff");
    insta::assert_snapshot!(bench.screen(80, 24));
}

#[test]
fn help_and_warnings_fit() {
    let mut bench = Bench::open(&["home-bloated"]);
    let help = bench.keys("?").screen(80, 24);
    for (_, what) in crate::commands::model_ui::keys::HELP {
        let begin: String = what.chars().take(20).collect();
        assert!(help.contains(&begin), "{begin}: {help}");
    }
    let warnings = bench.key(KeyCode::Esc).keys("w").screen(80, 24);
    assert!(warnings.contains("there is no mean delay"), "{warnings}");
    let closed = bench.key(KeyCode::Esc).screen(80, 24);
    assert!(!closed.contains("there is no mean delay"), "{closed}");
}

#[test]
fn a_small_terminal_is_told_so() {
    let mut bench = Bench::open(&["citi-1989-light"]);
    for (width, height) in [(79, 24), (80, 23), (20, 5), (1, 1)] {
        let screen = bench.screen(width, height);
        assert!(width < 20 || screen.contains("This view needs"), "{screen}");
    }
}

/// Every network of the library, at several sizes and with every kind of curve: no panic, and no
/// negative number.
#[test]
fn every_network_can_be_looked_at() {
    for (name, _) in btu_network::library().iter().filter(|(name, _)| *name != "campus") {
        let mut bench = Bench::open(&[name]);
        for (width, height) in [(80, 24), (120, 40), (300, 30)] {
            let screen =
                bench.key(KeyCode::Tab).keys("f").key(KeyCode::Right).screen(width, height);
            assert!(screen.contains(name) && screen.contains("Flows"), "{screen}");
            let negative =
                screen.split_whitespace().find(|word| word.starts_with('-') && word.len() > 1);
            assert_eq!(negative, None, "{screen}");
        }
        assert_eq!(bench.state.wish, None::<Wish>);
    }
}
