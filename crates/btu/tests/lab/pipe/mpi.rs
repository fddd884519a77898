//! MPI between stations: over their network and not around it, among the layers, and when an end is
//! killed.

use btu_conditions::judge;
use nix::sys::signal::Signal;

use super::drills::{KILLED, drill, worker};
use super::points;
use crate::common::Laboratory;
use crate::support::{send, text};

/// The laboratory, if the MPI library of this btu can be used.
fn with_mpi(laboratory: Laboratory) -> Option<Laboratory> {
    let quick =
        ["pipe", "--transport", "mpi", "--local", "--sizes", "1", "--trials", "1", "--quiet"];
    let output = laboratory.command(&quick).output().expect("btu runs");
    let error = text(&output.stderr);
    if error.contains("its own mpirun") {
        println!("LAB SKIPPED: {error}");
        return None;
    }
    assert!(output.status.success(), "{error}");
    Some(laboratory)
}

/// 65,536 bytes at 10 Mb/s take 52.4 ms without any header, and with those of TCP and Ethernet 55.7
/// ms; a library that detects that both stations are on one machine takes microseconds.
#[test]
fn messages_between_stations_go_over_their_network() {
    let Some(laboratory) = Laboratory::open_once_if_changed().and_then(with_mpi) else { return };
    let quick = ["pipe", "--precision", "quick", "--quiet"];
    let asked = ["--transport", "mpi", "--network", "10 Mb/s", "--sizes", "1,65536"];
    let result = laboratory.json(&[&quick[..], &asked].concat());
    assert!(
        result["run"]["events"].to_string().contains("went through a network interface"),
        "{result}"
    );
    let points = points(&laboratory);
    let quickest = points[1]
        .one_way_seconds(btu_contract::pipe::Pattern::PingPong)
        .into_iter()
        .fold(f64::MAX, f64::min);
    judge!(laboratory, (52.4e-3..0.2).contains(&quickest), "{quickest} s");
    let layers = laboratory
        .json(&[&quick[..], &["--layers", "--sizes", "1,100", "--target-time", "5 ms"]].concat());
    assert!(layers["result"].to_string().contains("\"mpi\""), "{layers}");
    laboratory.assert_down();
}

#[test]
fn a_killed_end_ends_the_run() {
    let Some(laboratory) = Laboratory::open_once().and_then(with_mpi) else { return };
    for end in ["near", "far"] {
        drill(
            &laboratory,
            ["mpi", "veth"],
            |_| send(worker(&laboratory, end), Signal::SIGKILL),
            Some(1),
            KILLED,
        );
    }
}
