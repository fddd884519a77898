//! A thousand connections without credentials, and one controller at work.

use btu_conditions::{Conditions, judge};
use tokio::sync::Semaphore;

use super::*;

/// Connections of the crowd.
const CROWD: usize = 1000;
/// Simultaneous connections: descriptors of this process, which also holds the listener's side, are
/// limited to 1024 in many places.
const AT_ONCE: usize = 300;
/// The limit of a call's time while the crowd keeps the machine busy.
const LONGEST_CALL: Duration = Duration::from_secs(5);
/// Growth of this process's memory, in which other tests run, too.
const MOST_GROWTH_BYTES: usize = 200 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_is_served_while_a_thousand_strangers_push() {
    let conditions = Conditions::begin();
    let mut drill = Drill::begin(LIMITS);
    let config = drill.controller("work");
    let channel = drill.channel(config).await.unwrap();
    let (quiet, _) = calls(&channel, 50).await;
    let before = resident_bytes();
    let crowd = tokio::spawn(push(drill.address));
    let mut busy = Vec::new();
    while !crowd.is_finished() {
        busy.push(calls(&channel, 1).await.1);
    }
    crowd.await.unwrap();
    busy.sort_unstable();
    let (median, longest) = (busy[busy.len() / 2], busy[busy.len() - 1]);
    println!(
        "{} calls during the crowd: median {median:?} (quiet {quiet:?}), longest {longest:?}",
        busy.len()
    );
    judge!(conditions, longest < LONGEST_CALL, "{longest:?}");
    let growth = resident_bytes().saturating_sub(before);
    println!("{} kB more memory; {:?}", growth >> 10, drill.handle.counts());
    assert!(growth < MOST_GROWTH_BYTES, "{growth} bytes");
    let counts = drill.handle.counts();
    assert_eq!((counts.turned_away(), counts.welcomed), (CROWD as u64, 1), "{counts:?}");
    assert!(counts.often > 0, "{counts:?}");
    // A line a second at most: the crowd is over within the drill's timeout.
    let lines = drill.lines.lock().unwrap().len();
    assert!((1..=TIMEOUT.as_secs() as usize).contains(&lines), "{lines} lines");
    drop(channel);
    drill.all_gone().await;
}

#[tokio::test]
async fn strangers_at_one_address_push_out_each_other_and_nobody_else() {
    let limits =
        ListenerLimits { handshakes: 5, handshakes_per_address: 3, kept_for_known: 1, ..LIMITS };
    let mut drill = Drill::begin(limits);
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(TcpStream::connect(drill.address).await.unwrap());
    }
    // The first of them is closed for the fourth; from another address there is room.
    until_closed(&mut held[0]).await;
    assert_eq!(drill.handle.counts().crowded_address, 1);
    let config = drill.controller("work");
    let channel = channel_from([127, 0, 0, 2].into(), drill.address, config).await.unwrap();
    assert_eq!(echo::say(&channel, "in").await.unwrap(), "in");
    assert_eq!(drill.handle.counts().crowded, 0);
    until("it is told", || {
        drill.log().contains("from 127.0.0.1: no handshake before others came from there")
    })
    .await;
}

/// Silent connections that one attacker holds, as many as an address may.
const SQUATTED: usize = ListenerLimits::STANDARD.handshakes_per_address;

/// Four addresses hold all places, and say nothing; each connection that is closed is opened again
/// after `pause`.
fn squat(address: SocketAddr, pause: Duration) -> Vec<JoinHandle<()>> {
    let squatters =
        (2..=5).flat_map(|last| (0..SQUATTED).map(move |_| IpAddr::from([127, 0, 0, last])));
    let squatter = |from| async move {
        loop {
            if let Ok(mut stream) = connect_from(from, address).await {
                until_closed(&mut stream).await;
            }
            tokio::time::sleep(pause).await;
        }
    };
    squatters.map(|from| tokio::spawn(squatter(from))).collect()
}

/// The number of successful attempts to connect from `from`.
async fn admitted(drill: &mut Drill, from: [u8; 4], attempts: usize) -> usize {
    let config = drill.controller("work");
    let mut admitted = 0;
    for _ in 0..attempts {
        if let Ok(channel) = channel_from(from.into(), drill.address, Arc::clone(&config)).await {
            admitted += usize::from(echo::say(&channel, "in").await.is_ok());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    admitted
}

/// The attack that let 2 of 99 attempts of a good controller through when the first caller kept the
/// place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_squatters_keep_no_controller_out() {
    let mut drill = Drill::begin(ListenerLimits::STANDARD);
    let squatters = squat(drill.address, ListenerLimits::STANDARD.handshake);
    until("all places for strangers are taken", || drill.handle.counts().crowded >= 8).await;
    assert_eq!(admitted(&mut drill, [127, 0, 0, 9], 30).await, 30, "{:?}", drill.handle.counts());
    squatters.iter().for_each(JoinHandle::abort);
    until("the squatters are told", || drill.log().contains("no handshake before others came"))
        .await;
}

/// Attackers that call as often as possible use up the rate of their network; earlier clients are
/// not limited by it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn squatters_in_a_hurry_keep_out_neither_other_networks_nor_who_was_a_client_before() {
    let mut drill = Drill::begin(ListenerLimits::STANDARD);
    assert_eq!(admitted(&mut drill, [127, 0, 0, 9], 1).await, 1);
    let squatters = squat(drill.address, Duration::from_millis(20));
    until("their network came too often", || drill.handle.counts().often > 100).await;
    for from in [[127, 0, 0, 9], [127, 0, 1, 1]] {
        assert_eq!(
            admitted(&mut drill, from, 15).await,
            15,
            "{from:?}: {:?}",
            drill.handle.counts()
        );
    }
    squatters.iter().for_each(JoinHandle::abort);
    until("they are told", || drill.log().contains("too many connections a second")).await;
}

/// The time of each of `count` calls, sorted: median and longest.
async fn calls(channel: &Controller, count: usize) -> (Duration, Duration) {
    let mut times = Vec::new();
    for _ in 0..count {
        let began = Instant::now();
        assert_eq!(echo::say(channel, "busy?").await.unwrap(), "busy?");
        times.push(began.elapsed());
    }
    times.sort_unstable();
    (times[count / 2], times[count - 1])
}

/// A crowd of which a third are silent, a third send invalid data, and a third begin a handshake.
async fn push(address: SocketAddr) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut crowd = Vec::new();
    for number in 0..CROWD {
        let place = Arc::clone(&places).acquire_owned().await.unwrap();
        crowd.push(tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let said: &[u8] =
                [b"".as_slice(), b"let me in\n", &[0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3]]
                    [number % 3];
            let _ = stream.write_all(said).await;
            until_closed(&mut stream).await;
            drop(place);
        }));
    }
    for stranger in crowd {
        stranger.await.unwrap();
    }
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap() * 4096
}
