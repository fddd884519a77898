//! The testbed: network namespaces, raw ports and the wire, the real-time driver of `btu_medium`.
//!
//! System calls and `unsafe` live here, in small modules with safe interfaces.

pub mod capture;
pub mod file_size;
#[doc(hidden)]
pub mod fuzz;
pub mod netem;
pub mod note;
pub mod offload;
pub mod pages;
pub mod port;
pub mod privilege;
pub mod processors;
pub mod testbed;
pub mod wire;
