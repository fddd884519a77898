//! The speed of simulations: btu's simulator compared with ns-3's CSMA on the same saturated
//! segment, block by block.
//!
//! Both run as a process of their own, one thread, and count the processor time of the simulation
//! itself: btu with building the network, ns-3 without. A shared Ethernet of 10 Mb/s, 914 m; every
//! station always has one more frame for the next one. The models differ, to btu's disadvantage:
//! btu simulates collisions, backoff and the gap as IEEE 802.3 has them, by position on the cable;
//! ns-3's stations never collide.

mod ns3;
mod ours;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use crate::quiet;

pub(crate) use ours::simulate;

/// The arguments of the comparison of simulators.
#[derive(Debug, Args)]
pub(crate) struct Simulator {
    /// Blocks; each runs every size with both simulators once, in random order
    #[arg(long = "rounds", default_value_t = 7, value_parser = clap::value_parser!(u32).range(3..=1000))]
    blocks: u32,
    /// Seed of the order
    #[arg(long = "order", default_value_t = 1995)]
    seed: u64,
    /// Do not wait for a quiet machine: processor time is counted, so a busy one disturbs little
    #[arg(long = "at-once")]
    impatient: bool,
    /// Exit with 1 when a stated bound is missed
    #[arg(long = "strict")]
    check: bool,
    /// Where ns-3's program is built and the result is written
    #[arg(long = "to", default_value = "target/bench")]
    directory: PathBuf,
}

/// One size of the segment, and the virtual time of each simulator: as much as takes some tenths of
/// a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Size {
    pub(crate) stations: u32,
    /// From destination address to check sequence.
    pub(crate) frame_octets: u32,
    /// Virtual time for btu.
    pub(crate) our_milliseconds: u32,
    /// Virtual time for ns-3.
    pub(crate) ns3_milliseconds: u32,
}

const fn size(
    stations: u32,
    frame_octets: u32,
    our_milliseconds: u32,
    ns3_milliseconds: u32,
) -> Size {
    Size { stations, frame_octets, our_milliseconds, ns3_milliseconds }
}

const SIZES: [Size; 5] = [
    size(1, 1518, 600_000, 100_000),
    size(24, 1518, 600_000, 20_000),
    size(24, 64, 60_000, 4_000),
    size(1_000, 1518, 60_000, 1_000),
    size(10_000, 1518, 10_000, 100),
];

/// The result of one run of a simulator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct SimulatorResult {
    /// The number of frames that arrived.
    delivered: u64,
    /// Frames given up after 16 collisions; ns-3 has no collisions.
    #[serde(default)]
    dropped: u64,
    /// The processor time in seconds.
    seconds: f64,
    /// The most memory the process had; btu only.
    #[serde(default)]
    peak_bytes: Option<u64>,
}

/// Both simulators on one size in one block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct SimulatorSample {
    block: u32,
    size: Size,
    ours: SimulatorResult,
    ns3: SimulatorResult,
}

impl SimulatorResult {
    fn delivered_per_second(&self) -> f64 {
        self.delivered as f64 / self.seconds
    }

    /// Frames that came to an end, delivered or given up: with thousands of stations that always
    /// send, standard Ethernet delivers next to nothing, and each frame given up was simulated
    /// through 16 collisions.
    fn ended_per_second(&self) -> f64 {
        (self.delivered + self.dropped) as f64 / self.seconds
    }

    /// Processor time for a second of virtual time.
    fn seconds_per_virtual_second(&self, milliseconds: u32) -> f64 {
        self.seconds * 1e3 / f64::from(milliseconds)
    }
}

/// Runs the comparison, prints, writes, judges.
pub(crate) fn run(asked: &Simulator) -> Result<ExitCode> {
    std::fs::create_dir_all(&asked.directory)?;
    let ns3 = ns3::Ns3Program::build(&asked.directory)?;
    println!("seed {}, {} blocks; {}", asked.seed, asked.blocks, ns3.version());
    let mut random = Pcg64::seed_from_u64(asked.seed);
    let mut samples = Vec::new();
    for block in 0..asked.blocks {
        eprintln!("block {} of {}", block + 1, asked.blocks);
        let mut sizes = SIZES;
        sizes.shuffle(&mut random);
        for size in sizes {
            let ours_first = rand::RngExt::random(&mut random);
            samples.push(compare(block, size, &ns3, ours_first, asked.impatient)?);
        }
    }
    let (text, missed) = table::table(&SIZES, &samples);
    print!("{text}");
    let path = asked.directory.join("simulator.json");
    std::fs::write(&path, btu_contract::json::indented(&samples)?)?;
    println!("written: {}", path.display());
    Ok(ExitCode::from(u8::from(asked.check && missed)))
}

fn compare(
    block: u32,
    size: Size,
    ns3: &ns3::Ns3Program,
    ours_first: bool,
    impatient: bool,
) -> Result<SimulatorSample> {
    quiet::wait(impatient)?;
    let (ours, ns3) = if ours_first {
        let ours = ours::run(size)?;
        (ours, ns3.run(size)?)
    } else {
        let ns3 = ns3.run(size)?;
        (ours::run(size)?, ns3)
    };
    Ok(SimulatorSample { block, size, ours, ns3 })
}
