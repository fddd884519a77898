use std::process::{Command, Output};
use std::time::Instant;

use super::*;

/// A reading at this second: the ticks of other programs, by number and name, and those stolen.
type At<'a> = (f64, &'a [(u32, &'a str, u64)], u64);

/// Readings of two processors at 100 ticks a second.
fn readings(of: &[At<'_>]) -> Vec<Reading> {
    let begin = Instant::now();
    let one = |(seconds, others, stolen): &At<'_>| {
        let others = others.iter().map(|(id, name, ticks)| (*id, (*name).to_owned(), *ticks));
        let at = begin + Duration::from_secs_f64(*seconds);
        Reading::of(at, others, *stolen, (1000.0 + seconds * 200.0) as u64)
    };
    of.iter().map(one).collect()
}

#[test]
fn a_quiet_machine_has_no_disturbance() {
    let quiet =
        [(0.0, &[(7, "sshd", 900)][..], 10), (1.0, &[(7, "sshd", 908)], 11), (2.0, &[], 14)];
    assert_eq!(disturbance(&readings(&quiet)), None);
}

#[test]
fn the_busiest_other_program_is_named() {
    let busy = [
        (0.0, &[(7, "sshd", 900), (8, "cc1", 5)][..], 10),
        (5.0, &[(7, "sshd", 910), (9, "rustc", 60)], 10),
    ];
    let expected = "other programs used 6 % of the processors for 5.0 s, `rustc` most";
    assert_eq!(disturbance(&readings(&busy)).as_deref(), Some(expected));
}

#[test]
fn stolen_time_is_a_disturbance() {
    let stolen = [(0.0, &[][..], 10), (5.0, &[], 25)];
    let expected = "the hypervisor took 2 % of the processors for 5.0 s";
    assert_eq!(disturbance(&readings(&stolen)).as_deref(), Some(expected));
}

/// 50 ms that were taken at once are 0.25 % of ten seconds, and more than 1 % of the two in which
/// the number was measured.
#[test]
fn what_was_taken_at_once_is_not_lost_in_the_mean() {
    let mut each: Vec<At<'_>> = (0..=10).map(|second| (f64::from(second), &[][..], 10)).collect();
    assert_eq!(disturbance(&readings(&each)), None);
    for reading in &mut each[5..] {
        reading.2 += 5;
    }
    let expected = "the hypervisor took 1 % of the processors for 2.0 s";
    assert_eq!(disturbance(&readings(&each)).as_deref(), Some(expected));
}

#[test]
#[should_panic(expected = "3 is not 4")]
fn a_number_out_of_bounds_fails_on_a_quiet_machine() {
    report(None, "3 is not 4");
}

/// The whole way from [`judge!`] to the exit code, of a test that runs as a process of its own.
#[test]
fn a_disturbed_number_is_not_judged_unless_that_is_required() {
    let run = |measured: &str| -> Output {
        let own = std::env::current_exe().expect("this program");
        let test = "tests::part_out_of_bounds_on_a_disturbed_machine";
        let mut command = Command::new(own);
        command.args(["--exact", test, "--ignored", "--nocapture"]).env("BTU_MEASURED", measured);
        command.output().expect("it runs")
    };
    let said = |output: &Output| {
        [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned())
    };
    let tolerant = run("");
    assert!(tolerant.status.success(), "{:?}", said(&tolerant));
    assert!(said(&tolerant)[0].contains(": a drill: 3 is not 4"), "{:?}", said(&tolerant));
    let strict = run("required");
    assert!(!strict.status.success(), "{:?}", said(&strict));
    assert!(said(&strict)[1].contains("3 is not 4"), "{:?}", said(&strict));
}

#[test]
#[ignore = "a part of another test, which runs it as a process of its own"]
fn part_out_of_bounds_on_a_disturbed_machine() {
    struct Disturbed(&'static str);
    impl Disturbed {
        #[track_caller]
        fn out_of_bounds(&self, message: &str) {
            report(Some(self.0.to_owned()), message);
        }
    }
    judge!(Disturbed("a drill"), 3 == 4, "{} is not 4", 3);
}

/// What this test itself does is no disturbance, and neither are the processes that it starts.
#[test]
fn own_work_is_not_that_of_others() {
    let before = Reading::now();
    let spin = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";
    let status = Command::new("sh").args(["-c", spin]).status().expect("sh runs");
    assert!(status.success());
    let others = Reading::now().others_since(&before);
    assert_ne!(others.busiest.as_deref(), Some("sh"), "{others:?}");
}

/// A test that began has a reading of its begin and one of now, whatever others read meanwhile.
#[test]
fn a_watch_has_its_first_reading_and_the_last() {
    let first = Instant::now();
    let (one, two) = (Watch::begin(), Watch::begin());
    let readings = one.readings();
    assert!(readings.len() >= 3 && readings.is_sorted_by_key(|reading| reading.at));
    assert!(readings[0].at >= first && two.readings().len() >= 2);
}

#[test]
fn a_thread_is_woken_in_a_time() {
    let wake = probe::wake();
    println!("{wake:?} to wake a thread");
    assert!(wake > Duration::ZERO);
}
