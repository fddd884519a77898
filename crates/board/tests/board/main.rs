//! The board as publishers and readers meet it: the real program, real databases, curl and a browser.

#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod browser;
mod databases;
mod full;
mod hostile;
mod publish;
mod quotas;
mod races;
mod scale;
mod server;
mod states;
mod support;
mod uploads;
