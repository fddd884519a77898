//! What `btu speed` says of the limit of a line on which the limit is known: kernels' settings, control groups and the emulator
//! make the causes, each in three strengths, upwards with Reno and downwards with BBR.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use btu_conditions::judge;

use crate::drawn::Lab;
use crate::group::Group;
use crate::speed_peers::{Pair, line};
use crate::support::text;

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

/// A cause, or two: its name, what is right for Reno and for BBR, how it is made, and its three strengths.
type Truth =
    (&'static str, &'static [&'static str], &'static [&'static str], Make, [&'static str; 3]);

#[derive(Clone, Copy)]
enum Make {
    /// More of the line, with this instead of `{}`; its rate in Mb/s and its delay in milliseconds.
    Line(u32, u32, &'static str),
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

const RADIO: &str = "jitter = { spread = \"6 ms\", shape = \"uniform\", keep_order = true }\n";

const TRUTHS: [Truth; 20] = [
    (
        "a full line",
        &[FULL],
        &[FULL],
        Make::Line(0, 8, "rate = \"{}\""),
        ["5 Mb/s", "20 Mb/s", "50 Mb/s"],
    ),
    (
        "a long queue",
        &[FULL],
        &[FULL],
        Make::Line(20, 8, "queue = \"{}\""),
        ["100 KiB", "300 KiB", "600 KiB"],
    ),
    (
        "a fair queue",
        &[FULL],
        &[FULL],
        Make::Line(0, 8, "queue = \"fq-codel\"\nrate = \"{}\""),
        ["5 Mb/s", "20 Mb/s", "40 Mb/s"],
    ),
    (
        "a full radio",
        &[FULL],
        &[FULL],
        Make::Line(20, 8, "jitter = { spread = \"{}\", shape = \"uniform\", keep_order = true }"),
        ["2 ms", "5 ms", "10 ms"],
    ),
    ("several connections", &[FULL], &[FULL], Make::Streams, ["2", "4", "8"]),
    ("losses", &[LOSSES], &[FULL], Make::Line(40, 12, "loss = \"{}\""), ["0.5 %", "1.5 %", "4 %"]),
    (
        "losses on a radio",
        &[LOSSES],
        &[FULL],
        Make::Line(40, 12, "JITTERloss = \"{}\""),
        ["0.5 %", "1.5 %", "4 %"],
    ),
    (
        "losses, short path",
        &[LOSSES],
        &[FULL],
        Make::Line(40, 3, "loss = \"{}\""),
        ["1 %", "3 %", "6 %"],
    ),
    (
        "losses in bursts",
        &[LOSSES],
        &[FULL],
        Make::Line(40, 12, "loss = { p = \"{}\", r = \"30 %\" }"),
        ["0.3 %", "0.6 %", "1 %"],
    ),
    (
        "a short queue",
        &[FULL, LOSSES],
        &[FULL, LOSSES],
        Make::Line(40, 10, "queue = \"{}\""),
        ["8 frames", "16 frames", "32 frames"],
    ),
    (
        "a receiver's window",
        &[WINDOW],
        &[WINDOW],
        Make::Kernel("tcp_rmem", ""),
        ["20000", "60000", "150000"],
    ),
    (
        "the same on a radio",
        &[WINDOW],
        &[WINDOW],
        Make::Kernel("tcp_rmem", RADIO),
        ["20000", "60000", "150000"],
    ),
    (
        "a send buffer",
        &[BUFFER],
        &[BUFFER],
        Make::Kernel("tcp_wmem", ""),
        ["8192", "50000", "120000"],
    ),
    (
        "the same on a radio",
        &[BUFFER],
        &[BUFFER],
        Make::Kernel("tcp_wmem", RADIO),
        ["8192", "50000", "120000"],
    ),
    ("a quota of the near end", &[QUOTA], &[QUOTA], Make::Quota(End::Near), ["10", "12", "15"]),
    ("a quota of the far end", &[QUOTA], &[QUOTA], Make::Quota(End::Far), ["10", "12", "15"]),
    (
        "a window and losses",
        &[WINDOW, LOSSES],
        &[WINDOW],
        Make::Kernel("tcp_rmem", "loss = \"0.3 %\"\n"),
        ["20000", "60000", "150000"],
    ),
    (
        "a buffer and losses",
        &[BUFFER, LOSSES],
        &[BUFFER],
        Make::Kernel("tcp_wmem", "loss = \"0.3 %\"\n"),
        ["8192", "50000", "120000"],
    ),
    (
        "a window and a short queue",
        &[WINDOW, LOSSES, FULL],
        &[WINDOW, FULL],
        Make::Kernel("tcp_rmem", "queue = \"10 frames\"\n"),
        ["60000", "150000", "300000"],
    ),
    (
        "a buffer and a long queue",
        &[BUFFER, FULL],
        &[BUFFER, FULL],
        Make::Kernel("tcp_wmem", "queue = \"300 KiB\"\n"),
        ["120000", "300000", "600000"],
    ),
];

/// A cause in one strength; what is said of each direction.
fn said(pair: &Pair, make: Make, strength: &str) -> BTreeMap<&'static str, String> {
    let (mut sysctl, mut quota, mut streams) = (None, None, "1");
    let file = match make {
        Make::Line(0, delay, more) => {
            let more = more.replace("{}", strength);
            line(1, &format!("delay = \"{delay} ms\"\n{more}")).replacen(
                "rate = \"1 Mb/s\"\n",
                "",
                1,
            )
        }
        Make::Line(rate, delay, more) => {
            let more = more.replace("{}", strength).replace("JITTER", RADIO);
            line(rate, &format!("delay = \"{delay} ms\"\n{more}"))
        }
        Make::Kernel(name, more) => {
            sysctl = Some(format!("echo 4096 {strength} {strength} > /proc/sys/net/ipv4/{name}"));
            line(50, &format!("delay = \"20 ms\"\n{more}"))
        }
        Make::Quota(end) => {
            quota = Some((end, format!("{strength}00")));
            line(300, "delay = \"2 ms\"\nqueue = \"150 KiB\"")
        }
        Make::Streams => {
            streams = strength;
            line(20, "delay = \"8 ms\"")
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
    let all = pair.shown(&["-t", "1500 ms", "-P", streams], [at(End::Near), at(End::Far)]);
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
    for (name, reno, bbr, make, strengths) in TRUTHS.iter().filter(|truth| truth.0.contains(&only))
    {
        if matches!(make, Make::Quota(_)) && !nix::unistd::geteuid().is_root() {
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
