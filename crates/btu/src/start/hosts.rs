//! Real hosts: finds the hosts that the command line names and the way to reach them. Also `btu
//! hosts check`.

mod access;
mod check;
mod launching;
mod named;
mod rated;
mod remote;
mod studied;

pub(crate) use access::own_name;
pub(crate) use check::check;
pub(crate) use named::Family;
pub(crate) use rated::{Gathered, gather, leave_out, machines};
pub(crate) use remote::{near_and, remote};
pub(crate) use studied::{HERE, gather_for, host_name, listed_hosts, named_hosts, taking_part};
