//! The board as publishers and readers meet it: the real program, real databases, curl and a browser.

#![allow(clippy::disallowed_methods, reason = "tests read JSON in their own way")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod booted;
mod browser;
mod databases;
mod full;
mod hostile;
mod kept;
mod load;
mod logs;
mod numbers;
mod proxy;
mod publish;
mod quotas;
mod races;
mod replays;
mod scale;
mod server;
mod service;
mod states;
mod support;
mod tls;
mod uploads;
mod walk;
