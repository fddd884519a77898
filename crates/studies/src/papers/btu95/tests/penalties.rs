//! Table 2, printed and recomputed.

use super::*;

/// A cell of Table 2, in seconds.
#[derive(Debug)]
struct PenaltyCheck {
    machine: Machine,
    size: usize,
    printed: f64,
    recomputed: f64,
}

impl PenaltyCheck {
    fn follows(&self) -> bool {
        (self.printed - self.recomputed).abs() <= TOLERANCE_SECONDS
    }
}

/// Every cell of Table 2. The rule: the mean over the six components of how much longer each took
/// than alone, gains counted as nothing. (The paper's text describes the plain difference.)
fn every() -> Vec<PenaltyCheck> {
    let mut found = Vec::new();
    for machine in Machine::ALL {
        let alone = &ALONE[machine as usize];
        for (size, printed) in PENALTIES[machine as usize].iter().enumerate() {
            for (activity, table) in TABLES[machine as usize].iter().enumerate() {
                let [network, host] = printed[activity];
                let sides = [
                    (network, table.network[size], alone.network[size]),
                    (host, table.host[size], [alone.host[activity]; 6]),
                ];
                for (printed, together, alone) in sides {
                    let longer = together.iter().zip(alone).map(|(with, without)| with - without);
                    let recomputed = longer.map(|seconds| seconds.max(0.0)).sum::<f64>() / 6.0;
                    found.push(PenaltyCheck { machine, size, printed, recomputed });
                }
            }
        }
    }
    found
}

#[test]
fn some_penalties_follow_on_each_machine_and_most_of_the_dec() {
    let every = every();
    let follow = |machine| {
        let own = every.iter().filter(|cell| cell.machine == machine);
        (own.clone().count(), own.filter(|cell| cell.follows()).count())
    };
    assert_eq!(Machine::ALL.map(follow), [(30, 11), (30, 24), (30, 9), (30, 12)]);
}

#[test]
fn no_penalty_at_64_kib_follows_on_any_machine() {
    let every = every();
    let large: Vec<_> = every.iter().filter(|cell| MESSAGE_BYTES[cell.size] == 65_536).collect();
    assert_eq!(large.len(), 24);
    assert!(large.iter().all(|cell| !cell.follows()), "{large:?}");
}

/// Figure 3b: the sum of the six penalties for each message size.
#[test]
fn total_penalties() {
    let every = every();
    let expected = [
        (Machine::Sparc10, [28.9, 20.7, 21.4, 22.3, 22.0]),
        (Machine::Dec, [62.4, 10.9, 92.6, 13.3, 10.2]),
        (Machine::Pc, [41.6, 30.2, 26.8, 29.4, 28.5]),
        (Machine::Sgi, [172.4, 53.3, 17.4, 28.1, 36.7]),
    ];
    for (machine, sums) in expected {
        for (size, sum) in sums.into_iter().enumerate() {
            let own = every.iter().filter(|cell| (cell.machine, cell.size) == (machine, size));
            let found: f64 = own.map(|cell| cell.recomputed).sum();
            assert!((found - sum).abs() < 0.06, "{machine}: {found}, expected {sum}");
        }
    }
}
