//! What is measured, as data: networks, cells, plans, the orders to workers and their reports. Pure: no
//! clock, no socket, no file.

#![forbid(unsafe_code)]

pub mod accounting;
pub mod activity;
pub mod app;
pub mod border;
pub mod bounds;
pub mod congestion;
pub mod copy;
pub mod doctor;
pub mod dscp;
pub mod experiment;
pub mod foreign;
pub mod hint;
pub mod job;
pub mod json;
pub mod lan;
pub mod lead;
pub mod load;
pub mod machine;
pub mod needs;
pub mod network;
pub mod path;
pub mod peers;
pub mod pipe;
pub mod poisson;
pub mod price;
pub mod processors;
pub mod program;
pub mod protocol_work;
pub mod record;
mod reported;
pub mod roll;
pub mod room;
pub mod sample;
pub mod script;
pub mod study;
mod surroundings;
pub mod text;
