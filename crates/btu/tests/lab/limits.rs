//! What `btu speed` says of the limit of a line on which the limit is known: kernels' settings, control groups and the emulator
//! make the causes, each in three strengths, upwards with Reno and downwards with BBR.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use btu_conditions::judge;
use nix::sys::signal::Signal;

use crate::drawn::Lab;
use crate::group::Group;
use crate::speed_peers::{Pair, line_with};
use crate::support::{send, text};

/// What may be said: words of `Limited by`.
const FULL: &str = "full line";
const LOSSES: &str = "losses on the path";
const WINDOW: &str = "the receiver's window";
const BUFFER: &str = "the send buffer";
const QUOTA: &str = "the CPU quota";

/// Said where causes are not told apart.
const OPEN: &str = "not told apart";

/// The largest share of wrong answers, and the least share of answers that are right or leave it open.
const MOST_WRONG: f64 = 0.02;
const LEAST_SAID: f64 = 0.95;

/// A cause, or two.
struct Truth {
    name: &'static str,
    /// What is right for Reno, and for BBR.
    right: [&'static [&'static str]; 2],
    make: Make,
    strengths: [&'static str; 3],
}

#[derive(Clone, Copy)]
enum Make {
    /// What the network file says of the line, with a strength instead of `{}`.
    Line(&'static str),
    /// Seconds between datagrams of others on both ways of a line of 20 Mb/s, each of 1442 octets with its frame.
    Datagrams,
    /// The most that the kernels of both ends give to receivers' windows or to send buffers, in octets.
    Kernel(&'static str, &'static str),
    /// The share of a processor of an end, in a thousandth.
    Quota(End),
    /// Connections at a time.
    Streams,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Near,
    Far,
}

use Make::{Datagrams, Kernel, Line, Quota, Streams};

const RADIO: &str = "jitter = { spread = \"6 ms\", shape = \"uniform\", keep_order = true }\n";

/// A line on which nothing is amiss.
const ALONE: &str = "rate = \"20 Mb/s\"\ndelay = \"8 ms\"";
const RATES: [&str; 3] = ["5 Mb/s", "20 Mb/s", "40 Mb/s"];
const FEW_LOSSES: &str = "loss = \"0.3 %\"\n";

/// What one cause may be called, whatever sends.
const fn one(
    name: &'static str,
    right: &'static [&'static str],
    make: Make,
    strengths: [&'static str; 3],
) -> Truth {
    Truth { name, right: [right, right], make, strengths }
}

/// Losses, which make Reno slow and leave the line full to BBR.
const fn lossy(name: &'static str, make: Make, strengths: [&'static str; 3]) -> Truth {
    Truth { name, right: [&[LOSSES], &[FULL]], make, strengths }
}

const TRUTHS: [Truth; 30] = [
    one("a full line", &[FULL], Line("delay = \"8 ms\"\nrate = \"{}\""), RATES),
    one(
        "a far end",
        &[FULL],
        Line("rate = \"10 Mb/s\"\ndelay = \"{}\""),
        ["20 ms", "40 ms", "60 ms"],
    ),
    one(
        "a long queue",
        &[FULL],
        Line("rate = \"20 Mb/s\"\ndelay = \"8 ms\"\nqueue = \"{}\""),
        ["100 KiB", "300 KiB", "600 KiB"],
    ),
    one(
        "a fair queue",
        &[FULL],
        Line("delay = \"8 ms\"\nqueue = \"fq-codel\"\nrate = \"{}\""),
        RATES,
    ),
    one(
        "a queue with CoDel",
        &[FULL],
        Line("delay = \"8 ms\"\nqueue = \"codel\"\nrate = \"{}\""),
        RATES,
    ),
    one(
        "a queue with RED",
        &[FULL, LOSSES],
        Line("delay = \"8 ms\"\nqueue = \"red\"\nrate = \"{}\""),
        RATES,
    ),
    one(
        "a full radio",
        &[FULL],
        Line(
            "rate = \"20 Mb/s\"\ndelay = \"8 ms\"\njitter = { spread = \"{}\", shape = \"uniform\", keep_order = true }",
        ),
        ["2 ms", "5 ms", "10 ms"],
    ),
    one(
        "a line that changes",
        &[FULL],
        Line(
            "rate = \"20 Mb/s\"\ndelay = \"8 ms\"\n[[links.line.changes]]\nat = \"4 s\"\nrate = \"{}\"\n[[links.line.changes]]\nat = \"8 s\"\nrate = \"20 Mb/s\"",
        ),
        ["15 Mb/s", "10 Mb/s", "5 Mb/s"],
    ),
    one(
        "a slow way for acknowledgments",
        &[FULL, "acknowledgments"],
        Line("delay = \"8 ms\"\nrate = \"20 Mb/s\"\nqueue = \"20 frames\"\nback.rate = \"{}\""),
        ["300 kb/s", "400 kb/s", "500 kb/s"],
    ),
    one("datagrams of others", &[FULL], Datagrams, ["0.02", "0.005", "0.002"]),
    one("several connections", &[FULL], Streams, ["2", "4", "8"]),
    one(
        "duplicates",
        &[FULL],
        Line("rate = \"20 Mb/s\"\ndelay = \"8 ms\"\nduplicate = \"{}\""),
        ["1 %", "5 %", "20 %"],
    ),
    one(
        "another order",
        &[FULL, LOSSES],
        Line("rate = \"20 Mb/s\"\ndelay = \"8 ms\"\nreorder = { share = \"{}\", depth = 3 }"),
        ["1 %", "5 %", "20 %"],
    ),
    lossy(
        "losses",
        Line("rate = \"40 Mb/s\"\ndelay = \"12 ms\"\nloss = \"{}\""),
        ["0.5 %", "1.5 %", "4 %"],
    ),
    lossy(
        "damaged packets",
        Line("rate = \"40 Mb/s\"\ndelay = \"12 ms\"\ncorrupt = \"{}\""),
        ["0.5 %", "1.5 %", "4 %"],
    ),
    lossy(
        "losses on a radio",
        Line("rate = \"40 Mb/s\"\ndelay = \"12 ms\"\nJITTERloss = \"{}\""),
        ["0.5 %", "1.5 %", "4 %"],
    ),
    lossy(
        "losses, short path",
        Line("rate = \"40 Mb/s\"\ndelay = \"3 ms\"\nloss = \"{}\""),
        ["1 %", "3 %", "6 %"],
    ),
    lossy(
        "losses in bursts",
        Line("rate = \"40 Mb/s\"\ndelay = \"12 ms\"\nloss = { p = \"{}\", r = \"30 %\" }"),
        ["0.3 %", "0.6 %", "1 %"],
    ),
    one(
        "a short queue",
        &[FULL, LOSSES],
        Line("rate = \"40 Mb/s\"\ndelay = \"10 ms\"\nqueue = \"{}\""),
        ["8 frames", "16 frames", "32 frames"],
    ),
    one("a receiver's window", &[WINDOW], Kernel("tcp_rmem", ""), ["20000", "60000", "150000"]),
    one("a window on a radio", &[WINDOW], Kernel("tcp_rmem", RADIO), ["20000", "60000", "150000"]),
    one("a send buffer", &[BUFFER], Kernel("tcp_wmem", ""), ["8192", "50000", "120000"]),
    one("a buffer on a radio", &[BUFFER], Kernel("tcp_wmem", RADIO), ["8192", "50000", "120000"]),
    one("a quota of the near end", &[QUOTA], Quota(End::Near), ["10", "12", "15"]),
    one("a quota of the far end", &[QUOTA], Quota(End::Far), ["10", "12", "15"]),
    Truth {
        name: "a window and losses",
        right: [&[WINDOW, LOSSES], &[WINDOW]],
        make: Kernel("tcp_rmem", FEW_LOSSES),
        strengths: ["20000", "60000", "150000"],
    },
    Truth {
        name: "a buffer and losses",
        right: [&[BUFFER, LOSSES], &[BUFFER]],
        make: Kernel("tcp_wmem", FEW_LOSSES),
        strengths: ["8192", "50000", "120000"],
    },
    Truth {
        name: "a window and a short queue",
        right: [&[WINDOW, LOSSES, FULL], &[WINDOW, FULL]],
        make: Kernel("tcp_rmem", "queue = \"10 frames\"\n"),
        strengths: ["60000", "150000", "300000"],
    },
    one(
        "a buffer and a long queue",
        &[BUFFER, FULL],
        Kernel("tcp_wmem", "queue = \"300 KiB\"\n"),
        ["120000", "300000", "600000"],
    ),
    one(
        "duplicates and a radio",
        &[FULL],
        Line("delay = \"8 ms\"\nrate = \"{}\"\nJITTERduplicate = \"5 %\""),
        RATES,
    ),
];

/// A cause in one strength; what is said of each direction.
fn said(pair: &Pair, make: Make, strength: &str) -> BTreeMap<&'static str, String> {
    let (mut sysctl, mut quota, mut streams, mut others) = (None, None, "1", None);
    let file = match make {
        Line(text) => line_with(&text.replace("{}", strength).replace("JITTER", RADIO)),
        Datagrams => {
            others = Some(["ping", "-q", "-s", "1400", "-i", strength, "198.18.0.2"]);
            line_with(ALONE)
        }
        Kernel(name, more) => {
            sysctl = Some(format!("echo 4096 {strength} {strength} > /proc/sys/net/ipv4/{name}"));
            line_with(&format!("rate = \"50 Mb/s\"\ndelay = \"20 ms\"\n{more}"))
        }
        Quota(end) => {
            quota = Some((end, format!("{strength}00")));
            line_with("rate = \"600 Mb/s\"\ndelay = \"2 ms\"\nqueue = \"300 KiB\"")
        }
        Streams => {
            streams = strength;
            line_with(ALONE)
        }
    };
    pair.lab.up_with(&file, &["-C", if may_use_bbr() { "bbr" } else { "reno" }]);
    let reno = "echo reno > /proc/sys/net/ipv4/tcp_congestion_control".to_owned();
    for (station, setting) in
        [("client", Some(reno)), ("client", sysctl.clone()), ("server", sysctl)]
    {
        let Some(setting) = setting else { continue };
        let output = pair.lab.exec(station, &["sh", "-c", &setting]).output().expect("btu runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let group = quota.as_ref().and_then(|(_, share)| {
        Group::limited(("cpu", "cpu.cfs_quota_us"), "cpu.max", [share, &format!("{share} 100000")])
    });
    let at = |end| group.as_ref().filter(|_| quota.as_ref().is_some_and(|(of, _)| *of == end));
    let mut others =
        others.map(|command| pair.lab.exec("client", &command).spawn().expect("btu runs"));
    let all = pair.shown(&["-t", "1500 ms", "-P", streams], [at(End::Near), at(End::Far)]);
    if let Some(others) = &mut others {
        send(others.id().cast_signed(), Signal::SIGINT);
        drop(others.wait());
    }
    assert!(pair.lab.output(&["net", "down"]).status.success());
    ["TCP up", "TCP down"].into_iter().map(|way| (way, cause(&all, way))).collect()
}

/// Stations of an ordinary user use what the system allows to all.
fn may_use_bbr() -> bool {
    let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    let is_allowed = |names: String| names.split_whitespace().any(|name| name == "bbr");
    nix::unistd::geteuid().is_root() || allowed.is_ok_and(is_allowed)
}

/// What the first screen says of a direction.
fn cause(shown: &str, way: &str) -> String {
    let mut lines = shown.lines().skip_while(|line| !line.starts_with("Limited by "));
    let mut limit = lines.next().unwrap_or_default().to_owned();
    for line in lines.take_while(|line| line.starts_with("  ")) {
        limit = format!("{limit} {}", line.trim());
    }
    let causes = limit.trim_start_matches("Limited by ").split("; ");
    let mut of_way = causes.filter(|one| one.contains(": ") && one.contains(way));
    of_way.next().map_or_else(|| format!("nothing of {way}: {shown}"), str::to_owned)
}

#[test]
fn causes_are_named_or_left_open_and_not_wrong() {
    let Some(lab) = Lab::open_alone_if_changed() else { return };
    let pair = Pair::of(lab, "client", "server");
    let only = std::env::var("BTU_LIMITS_ONLY").unwrap_or_default();
    let mut counts = [0; 3];
    let mut table =
        String::from("| truth | strengths | Reno, up | BBR, down |\n|---|---|---|---|\n");
    for Truth { name, right: [reno, bbr], make, strengths } in
        TRUTHS.iter().filter(|truth| truth.name.contains(&only))
    {
        if matches!(make, Quota(_)) && !nix::unistd::geteuid().is_root() {
            continue;
        }
        let mut cells = [Vec::new(), Vec::new()];
        let down = if may_use_bbr() { bbr } else { reno };
        for strength in strengths {
            let said = said(&pair, *make, strength);
            for (place, (way, right)) in
                [("TCP up", reno), ("TCP down", down)].into_iter().enumerate()
            {
                let cause = &said[way];
                let outcome = if cause.contains(OPEN) {
                    1
                } else {
                    usize::from(!right.iter().any(|words| cause.contains(words))) * 2
                };
                counts[outcome] += 1;
                let mark = ["right", "open", "WRONG"][outcome];
                println!("{mark}: {name}, {strength}, {way}: {cause}");
                cells[place].push(mark);
            }
        }
        let [up, down] = cells.map(|marks| marks.join(", "));
        let _ = writeln!(table, "| {name} | {} | {up} | {down} |", strengths.join(", "));
    }
    let all = f64::from(counts.iter().sum::<u32>());
    println!("{table}\nright, open, wrong: {counts:?}");
    let [right, open, wrong] = counts.map(|count| f64::from(count) / all);
    judge!(pair.lab, wrong <= MOST_WRONG && right + open >= LEAST_SAID, "{counts:?}\n{table}");
    pair.lab.assert_gone();
}
