//! Real hosts: from the command line to who they are and how they are reached, and `btu hosts check`.

mod access;
mod beside;
mod check;
mod named;
mod rated;

pub(crate) use access::own_name;
pub(crate) use beside::{reach, remote};
pub(crate) use check::run;
pub(crate) use rated::{Gathered, gather, leave_out, machines};
