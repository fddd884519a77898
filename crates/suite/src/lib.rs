//! Plans and results as data: networks, cells, plans, the orders to workers and their reports, and
//! the verdict over a run. Pure: no clock, no socket, no file.

#![forbid(unsafe_code)]

pub mod accounting;
pub mod activity;
pub mod app;
mod border;
pub mod bounds;
pub mod cell;
pub mod compare;
pub mod congestion;
pub mod copy;
pub mod doctor;
pub mod dscp;
pub mod experiment;
pub mod hint;
pub mod history;
pub mod lan;
pub mod lead;
pub mod needs;
pub mod network;
pub mod path;
pub mod peers;
pub mod pipe;
pub mod plan;
pub mod poisson;
pub mod processors;
pub mod program;
pub mod protocol_work;
pub mod rank;
pub mod record;
pub mod roll;
pub mod room;
pub mod run;
pub mod sample;
pub mod schedule;
pub mod script;
pub mod speed;
pub mod text;
pub mod verdict;
pub mod work;
