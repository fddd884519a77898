//! Known truth about drawn networks, from outside: ordinary programs in the stations measure the
//! values in the file.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::drawn::{Lab, is_there};
use crate::support::{LONG, text};
use btu_conditions::judge;

/// Two stations on one line.
fn line(megabits: f64, more: &str) -> String {
    let ends = "between = [\"client\", \"server\"]";
    format!(
        "[stations.client]\n[stations.server]\n[links.line]\n{ends}\nrate = \"{megabits} Mb/s\"\n{more}\n"
    )
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Goodput of one TCP stream in Mb/s: the median of the receiver's seconds, because data in flight
/// at the end are missing from iperf3's sum. Reno keeps packets waiting at the line, independent of
/// its earlier measurements; BBR, the default of many hosts, allows two of the shortest measured
/// round trips in flight, and on a line without delay falls behind when a busy machine makes them
/// longer.
fn iperf3(lab: &Lab) -> f64 {
    let server = lab.iperf3_server("server");
    let result = lab.iperf3_client("client", "server", &["-C", "reno", "-t", "4"]);
    let seconds = result["server_output_json"]["intervals"].as_array().expect("seconds");
    let rate = median(
        seconds.iter().filter_map(|second| second["sum"]["bits_per_second"].as_f64()).collect(),
    );
    assert!(lab.output(&["net", "down"]).status.success());
    drop(server);
    rate / 1e6
}

#[test]
fn iperf3_sees_the_rate() {
    let Some(lab) = Lab::open_alone().filter(|_| is_there("iperf3")) else { return };
    for megabits in [10.0, 100.0] {
        lab.up(&line(megabits, ""));
        let seen = iperf3(&lab);
        // TCP with time stamps in full frames: 1448 octets of payload in 1538 on the line.
        let expected = megabits * 1448.0 / 1538.0;
        println!("{seen:.3} Mb/s of {expected:.3}");
        judge!(lab, (seen / expected - 1.0).abs() <= 0.02, "{seen} instead of {expected} Mb/s");
    }
    lab.assert_gone();
}

/// `btu model --transfer` says how long the transfer takes: from the client's call to connect until
/// the server has the last octet. The emulator may be 2 % slow, the formula and the simulator of the
/// other tests are less than 1 % apart.
#[test]
fn a_transfer_takes_what_the_model_says() {
    let Some(lab) = Lab::open_alone_if_changed() else { return };
    for (megabits, delay_ms, octets) in [(10.0, 20.0, 5_000_000_u64), (2.0, 100.0, 1_000_000)] {
        let network = line(megabits, &format!("delay = \"{delay_ms} ms\""));
        let drawing = btu_network::Drawing::read(&network, "line").expect("a network");
        let transfer = btu_model::predict::Transfer {
            size: btu_units::Bytes::new(octets),
            ..Default::default()
        };
        let predicted = btu_model::predict::predict_transfer(&drawing, &transfer).expect("a path");
        let expected = predicted.transfer.and_then(|asked| asked.bulk.seconds.value);
        let expected = expected.expect("a time");
        let file = lab.file(&network).display().to_string();
        assert!(lab.output(&["net", "up", &file, "-C", "reno"]).status.success());
        let (server, client) = (part(&lab, "server", "take"), format!("give {octets} server"));
        let said = output_of(part(&lab, "client", &client));
        // The client's clock stops when the server's last frame has come back.
        let seconds = number_after(&said, "answered after ") - delay_ms / 1e3;
        assert_eq!(number_after(&output_of(server), "received ") as u64, octets);
        println!("{seconds:.3} s of {expected:.3}");
        judge!(
            lab,
            (seconds / expected - 1.0).abs() <= 0.03,
            "{seconds} s instead of {expected} s"
        );
        assert!(lab.output(&["net", "down"]).status.success());
    }
    lab.assert_gone();
}

/// A transfer on a network, next to what others send there.
struct Transfer {
    network: &'static str,
    /// What `--network` and `btu model` get, before `--transfer`.
    given: Vec<String>,
    megabytes: u64,
    ends: [&'static str; 2],
    /// Who sends datagrams meanwhile: from, to, their payload in octets, and microseconds between two.
    others: Option<(&'static str, &'static str, usize, u64)>,
    /// From the receiver back to the sender, in seconds.
    back: f64,
    /// How far both may be apart.
    tolerance: f64,
}

/// The laboratory's own two networks, and four of the library.
fn transfers(lab: &Lab) -> Vec<Transfer> {
    let cable = "[segments.ether]\nmedium = \"shared-ethernet\"\nrate = \"10 Mb/s\"\nlength = \"500 m\"\n\
                 [stations.host]\nsegment = \"ether\"\ncount = 2\n";
    let lossy = line(10.0, "delay = \"20 ms\"\nloss = \"1 %\"");
    let kept = |name: &str, text: &str| {
        let path = lab.file(text).with_file_name(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let (cable, lossy) = (kept("cable.toml", cable), kept("lossy.toml", &lossy));
    let one = |network, given: &[&str], megabytes, ends, back| Transfer {
        network,
        given: given.iter().map(|&word| word.to_owned()).collect(),
        megabytes,
        ends,
        others: None,
        back,
        tolerance: 0.03,
    };
    vec![
        one(
            "a line",
            &["50 Mb/s", "--set", "links.path.delay=20 ms"],
            20,
            ["test", "active"],
            0.02,
        ),
        // G.711: 172 octets and their headers 50 times a second.
        Transfer {
            others: Some(("ship", "server", 172, 20_000)),
            ..one("satellite", &["satellite"], 4, ["ship", "server"], 0.275)
        },
        // The simulated answer: its interval is 3 % wide, and collisions come by chance.
        Transfer {
            tolerance: 0.06,
            ..one("a shared cable", &[&cable], 5, ["host-1", "host-2"], 0.0)
        },
        Transfer {
            others: Some(("phone", "server", 172, 20_000)),
            ..one("home-bloated", &["home-bloated"], 1, ["laptop", "server"], 0.018)
        },
        // Some 70 losses, each of which halves the window: the spread of the time of one transfer is
        // 5 %, of which four are allowed.
        Transfer {
            tolerance: 0.2,
            ..one("a lossy line", &[&lossy], 10, ["client", "server"], 0.02)
        },
        // 60 % of 50 Mb/s by frames of 1538 octets: one in 410 us. The queue that TCP fills drops one
        // in a hundred, and when the transfer ends a quarter of a second of them waits: both together
        // leave TCP 3 % more than the 40 % of the formula.
        Transfer {
            tolerance: 0.05,
            others: Some(("test", "active", FULL, 410)),
            ..one("next to others", &["50 Mb/s"], 20, ["test", "passive"], 0.0)
        },
    ]
}

/// What `btu model` answers on its first line, the simulated time if there is one: least, median, most.
fn predicted(lab: &Lab, transfer: &Transfer) -> [f64; 3] {
    let size = format!("{} MB", transfer.megabytes);
    let [from, to] = transfer.ends;
    let given: Vec<&str> = transfer.given.iter().map(String::as_str).collect();
    let asked = ["--transfer", &size, "--from", from, "--to", to, "--json"];
    let said = lab.output(&[&["model"], &given[..], &asked].concat());
    let said: serde_json::Value = serde_json::from_slice(&said.stdout).expect("JSON");
    let bulk = &said["transfer"]["bulk"];
    let simulated = &bulk["simulated"];
    let seconds = simulated["seconds"].as_f64().or(bulk["seconds"]["value"].as_f64());
    let seconds = seconds.expect("a time");
    let end = |place: usize| simulated["range"][place].as_f64().unwrap_or(seconds);
    [end(0), seconds, end(1)]
}

/// The answer of `btu model` on six networks, each next to a real transfer.
#[test]
fn transfers_on_six_networks_take_what_the_model_says() {
    let Some(lab) = Lab::open_slow_lines_if_changed() else { return };
    hold_to_the_model(&lab, transfers(&lab));
}

/// Networks that change under way, and a recorded one. A transfer begins up to half a second after its
/// network.
#[test]
fn transfers_on_changing_and_recorded_networks_take_what_the_model_says() {
    let Some(lab) = Lab::open_slow_lines_if_changed() else { return };
    let change = |name: &str, from: &str, at: &str| {
        let text = line(10.0, &format!("{from}\n[[links.line.changes]]\nway = \"both\"\n{at}"));
        let path = lab.file(&text).with_file_name(name);
        std::fs::write(&path, &text).expect("a file");
        path.display().to_string()
    };
    let slower = change("slower.toml", "delay = \"5 ms\"", "at = \"4 s\"\nrate = \"5 Mb/s\"");
    let longer = change("longer.toml", "delay = \"5 ms\"", "at = \"2 s\"\ndelay = \"40 ms\"");
    let one = |network, given: &str, megabytes, ends, back| Transfer {
        network,
        given: vec![given.to_owned()],
        megabytes,
        ends,
        others: None,
        back,
        tolerance: 0.1,
    };
    let transfers = vec![
        one("half the rate", &slower, 10, ["client", "server"], 0.005),
        one("eight times the delay", &longer, 6, ["client", "server"], 0.04),
        one("a recorded link", "lte", 5, ["server", "phone"], 0.02),
    ];
    hold_to_the_model(&lab, transfers);
}

fn hold_to_the_model(lab: &Lab, transfers: Vec<Transfer>) {
    for transfer in transfers {
        let [least, expected, most] = predicted(lab, &transfer);
        let given: Vec<&str> = transfer.given.iter().map(String::as_str).collect();
        let up = lab.output(&[&["net", "up"], &given[..], &["-C", "reno"]].concat());
        assert!(up.status.success(), "{}", text(&up.stderr));
        let [from, to] = transfer.ends;
        let others = transfer.others.map(|(from, to, octets, every)| {
            part(lab, from, &format!("feed {to} {octets} {every}"))
        });
        let server = part(lab, to, "take");
        let said =
            output_of(part(lab, from, &format!("give {} {to}", transfer.megabytes * 1_000_000)));
        // The client's clock stops when the server's last frame has come back.
        let seconds = number_after(&said, "answered after ") - transfer.back;
        assert_eq!(
            number_after(&output_of(server), "received ") as u64,
            transfer.megabytes * 1_000_000
        );
        println!("{}: {seconds:.2} s of {expected:.2} ({least:.2} .. {most:.2})", transfer.network);
        let within = least * (1.0 - transfer.tolerance)..=most * (1.0 + transfer.tolerance);
        judge!(
            lab,
            within.contains(&seconds),
            "{}: {seconds} s instead of {expected} s ({least} .. {most})",
            transfer.network
        );
        assert!(lab.output(&["net", "down"]).status.success());
        if let Some(mut others) = others {
            others.wait().expect("they end with their network");
        }
    }
    lab.assert_gone();
}

/// A client at a switch, and behind it a server on a separate line for each rate in Mb/s with its
/// other properties.
fn lines(each: &[(f64, String)]) -> String {
    let mut text = "[stations.client]\n[bridges.switch]\n\
                    [links.near]\nbetween = [\"client\", \"switch\"]\nrate = \"100 Gb/s\"\n"
        .to_owned();
    for (number, (megabits, more)) in each.iter().enumerate() {
        let of_line = format!(
            "[stations.server-{number}]\n[links.line-{number}]\n\
             between = [\"switch\", \"server-{number}\"]\nrate = \"{megabits} Mb/s\"\n{more}\n"
        );
        text.push_str(&of_line);
    }
    text
}

/// Round-trip times to each server that ping prints, in milliseconds, and its whole output. A few
/// hundred packets a second on each line leave the lines and the machine idle, so the lines are
/// measured at the same time.
fn ping(lab: &Lab, servers: usize, arguments: &[&str]) -> Vec<(Vec<f64>, String)> {
    let one = |number: usize| {
        let server = format!("server-{number}");
        let ping = [&["ping", "-n"], arguments, &[&server]].concat();
        lab.exec("client", &ping).spawn().expect("btu runs")
    };
    let said = |child: Child| {
        let said = text(&child.wait_with_output().expect("ping ends").stdout);
        let times = said
            .lines()
            .filter_map(|line| line.split_once("time=")?.1.split(' ').next()?.parse().ok())
            .collect();
        (times, said)
    };
    let begun: Vec<Child> = (0..servers).map(one).collect();
    begun.into_iter().map(said).collect()
}

#[test]
fn ping_sees_the_delay() {
    let Some(lab) = Lab::open_alone().filter(|_| is_there("ping")) else { return };
    let asked = [(10.0, 5.0), (100.0, 1.0), (100.0, 20.0)];
    let of_delay = |(megabits, milliseconds)| (megabits, format!("delay = \"{milliseconds} ms\""));
    lab.up(&lines(&asked.map(of_delay)));
    let seen = ping(&lab, asked.len(), &["-c", "100", "-i", "0.02"]);
    for ((megabits, delay_ms), (times, said)) in asked.into_iter().zip(seen) {
        // ping waits for its last answer no longer than two round trips.
        judge!(lab, times.len() >= 99, "{said}");
        // 98 octets and the overhead of a frame, 122 on the line, each way.
        let expected = 2.0 * (delay_ms + 122.0 * 8.0 / megabits / 1e3);
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let median = median(times);
        println!("{median} ms of {expected} there and back");
        // ping rounds to three digits.
        assert!(least >= 2.0 * delay_ms - 0.05, "faster than light: {least}");
        judge!(
            lab,
            (median - expected).abs() / 2.0 <= 0.2,
            "{median} ms instead of {expected} ms there and back"
        );
    }
    assert!(lab.output(&["net", "down"]).status.success());
    lab.assert_gone();
}

#[test]
fn ping_sees_the_loss() {
    let Some(lab) = Lab::open_slow_lines_if_changed().filter(|_| is_there("ping")) else { return };
    let asked = [(10.0, 0.01), (100.0, 0.05), (100.0, 0.2)];
    let of_loss =
        |(megabits, share): (f64, f64)| (megabits, format!("loss = \"{} %\"", share * 100.0));
    lab.up(&lines(&asked.map(of_loss)));
    let seen = ping(&lab, asked.len(), &["-c", "2000", "-i", "0.002", "-W", "1"]);
    for ((_, share), (times, said)) in asked.into_iter().zip(seen) {
        // A round trip survives when neither way loses it.
        let survives: f64 = (1.0 - share) * (1.0 - share);
        let (expected, deviation) =
            (2000.0 * survives, (2000.0 * survives * (1.0 - survives)).sqrt());
        println!("{} of 2000 answered, {expected} expected", times.len());
        // Four standard deviations: a false alarm in 16,000.
        judge!(
            lab,
            (times.len() as f64 - expected).abs() <= 4.0 * deviation,
            "{} answered: {said}",
            times.len()
        );
    }
    assert!(lab.output(&["net", "down"]).status.success());
    lab.assert_gone();
}

/// The lesson of docs/net.md: how an upload delays the ping of every station, behind a modem that
/// keeps 256 KiB and behind one that queues fairly.
#[test]
fn an_upload_bloats_the_queue_of_one_home_and_not_of_the_other() {
    let Some(lab) =
        Lab::open_slow_lines_if_changed().filter(|_| is_there("iperf3") && is_there("ping"))
    else {
        return;
    };
    // A queue of two seconds takes some to fill.
    for (network, filling, bounds) in
        [("home-bloated", 4, 1.0..2.4), ("home-fq-codel", 1, 0.03..0.06)]
    {
        let output = lab.output(&["net", "up", network, "-C", "reno"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let mut server = lab.exec("server", &["iperf3", "-s", "-1"]).spawn().expect("btu runs");
        lab.await_command("iperf3 -s -1");
        sleep(Duration::from_millis(300));
        let mut upload =
            lab.exec("laptop", &["iperf3", "-c", "server", "-t", "9"]).spawn().expect("btu runs");
        sleep(Duration::from_secs(filling));
        let output = lab
            .exec("phone", &["ping", "-n", "-c", "20", "-i", "0.1", "server"])
            .output()
            .expect("btu runs");
        let said = text(&output.stdout);
        let times = said
            .lines()
            .filter_map(|line| line.split_once("time=")?.1.split(' ').next()?.parse::<f64>().ok());
        let seen = median(times.collect()) / 1e3;
        println!("{network}: ping {seen} s");
        judge!(lab, bounds.contains(&seen), "{network}: {seen} s, {said}");
        assert!(lab.output(&["net", "down"]).status.success());
        upload.wait().and_then(|_| server.wait()).expect("they end with their network");
    }
    lab.assert_gone();
}

/// Payload of a full UDP packet.
const FULL: usize = 1472;

/// The time until all senders are sending, and the counted time after it.
const SETTLING: Duration = Duration::from_secs(1);
const COUNTED: Duration = Duration::from_millis(2500);

/// Runs in a station, started by [`part`]: sends full packets faster than the cable takes them, or
/// counts what arrives; or does so with a file over TCP.
#[test]
#[ignore = "a part of another test, which runs it inside a station"]
fn station_part() {
    let Ok(part) = std::env::var("BTU_TEST_PART") else { return };
    match part.split(' ').collect::<Vec<_>>()[..] {
        ["receive"] => receive(),
        ["send", receiver] => send(receiver),
        ["take"] => take(),
        ["give", octets, taker] => give(octets.parse().expect("a number"), taker),
        ["feed", taker, octets, every] => {
            let [octets, every] = [octets, every].map(|one| one.parse().expect("a number"));
            feed(taker, octets, Duration::from_micros(every));
        }
        _ => panic!("there is no part {part}"),
    }
}

/// Starts [`station_part`] in a station.
fn part(lab: &Lab, station: &str, what: &str) -> Child {
    let own = std::env::current_exe().expect("this program").display().to_string();
    let test = [&own, "net_truth::station_part", "--exact", "--ignored", "--nocapture"];
    lab.exec(station, &test).env("BTU_TEST_PART", what).spawn().expect("btu runs")
}

/// What a part prints until it ends.
fn output_of(mut part: Child) -> String {
    let mut said = String::new();
    part.stdout.take().expect("its output").read_to_string(&mut said).expect("text");
    part.wait().expect("it ends");
    said
}

/// The number that follows these words.
fn number_after(said: &str, words: &str) -> f64 {
    let number =
        said.split_once(words).and_then(|(_, rest)| rest.split([' ', '\n']).next()?.parse().ok());
    number.unwrap_or_else(|| panic!("no `{words}` in: {said}"))
}

/// Reads one connection to its end, and closes it then.
fn take() {
    let listener = TcpListener::bind(("0.0.0.0", 5002)).expect("a port");
    let (mut connection, _) = listener.accept().expect("a connection");
    let octets = std::io::copy(&mut connection, &mut std::io::sink()).expect("all of it");
    println!("received {octets} octets");
}

/// Sends so many octets, and waits until the other end closes, which may not listen at once.
fn give(octets: usize, taker: &str) {
    let started = Instant::now();
    let (began, mut connection) = loop {
        let began = Instant::now();
        match TcpStream::connect((taker, 5002)) {
            Ok(connection) => break (began, connection),
            Err(error) if started.elapsed() > LONG => panic!("{error}"),
            Err(_) => sleep(Duration::from_millis(50)),
        }
    };
    connection.write_all(&vec![0; octets]).expect("all is taken");
    connection.shutdown(Shutdown::Write).expect("an end");
    assert_eq!(connection.read(&mut [0]).expect("an end"), 0);
    println!("answered after {} s", began.elapsed().as_secs_f64());
}

/// Sends datagrams of so many octets, one each `every`, until its network ends.
fn feed(taker: &str, octets: u64, every: Duration) {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).expect("a socket");
    let begin = Instant::now();
    for number in 0.. {
        sleep((every * number).saturating_sub(begin.elapsed()));
        // A full queue drops it.
        let _ = socket.send_to(&vec![0; octets as usize], (taker, 5001));
    }
}

fn receive() {
    let socket = UdpSocket::bind(("0.0.0.0", 5001)).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a time-out");
    let (begin, mut bytes, mut buffer) = (Instant::now(), 0, [0; 2048]);
    while begin.elapsed() < SETTLING + COUNTED {
        let length = socket.recv(&mut buffer).unwrap_or(0);
        if begin.elapsed() >= SETTLING {
            bytes += length;
        }
    }
    println!("received {bytes} bytes");
}

fn send(receiver: &str) {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).expect("a socket");
    let begin = Instant::now();
    while begin.elapsed() < SETTLING + COUNTED + Duration::from_secs(1) {
        // A full socket or queue is the purpose.
        let _ = socket.send_to(&[0; FULL], (receiver, 5001));
        // At most 24 Mb/s: each of them alone is more than the cable takes.
        sleep(Duration::from_micros(480));
    }
}

/// A shared Ethernet with this number of senders and one station that receives.
fn shared(senders: usize) -> String {
    format!(
        "[segments.cable]\nmedium = \"shared-ethernet\"\nrate = \"10 Mb/s\"\nlength = \"500 m\"\n\
         [stations.sender]\nsegment = \"cable\"\ncount = {senders}\n[stations.receiver]\nsegment = \"cable\"\n\
         [traffic.load]\nfrom = \"sender\"\nto = \"receiver\"\nsize = \"1518 B\"\nsaturated = true\n"
    )
}

/// Payload that really arrives from all senders together, Mb/s.
fn emulated(lab: &Lab, senders: usize) -> f64 {
    lab.up(&shared(senders));
    let receiver = part(lab, "receiver", "receive");
    let sending: Vec<_> = (1..=senders)
        .map(|number| part(lab, &format!("sender-{number}"), "send receiver"))
        .collect();
    let said = output_of(receiver);
    for mut sender in sending {
        sender.wait().expect("it ends");
    }
    assert!(lab.output(&["net", "down"]).status.success());
    number_after(&said, "received ") * 8.0 / COUNTED.as_secs_f64() / 1e6
}

/// Like `emulated`, by the simulator.
fn simulated(lab: &Lab, senders: usize) -> f64 {
    let file = lab.file(&shared(senders)).display().to_string();
    let output =
        lab.output(&["sim", &file, "--duration", "20 s", "--seed", "1989", "--json", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    let frames = result["media"][0]["frames_per_second"]["value"]
        .as_f64()
        .unwrap_or_else(|| panic!("{result}"));
    frames * FULL as f64 * 8.0 / 1e6
}

#[test]
fn real_senders_on_a_shared_ethernet_get_what_the_simulator_says() {
    let Some(lab) = Lab::open_alone_if_changed() else { return };
    for senders in [1, 2, 5, 10] {
        let (real, expected) = (emulated(&lab, senders), simulated(&lab, senders));
        println!("{senders} senders: {real:.3} Mb/s emulated, {expected:.3} Mb/s simulated");
        judge!(
            lab,
            (real / expected - 1.0).abs() <= 0.05,
            "{senders} senders: {real} instead of {expected} Mb/s"
        );
    }
    lab.assert_gone();
}
