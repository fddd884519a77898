//! A thousand connections without credentials, and one controller at work.

use tokio::sync::Semaphore;

use super::*;

/// Connections of the crowd.
const CROWD: usize = 1000;
/// Of them at once: descriptors of this process, which also holds the door's side, are limited to 1024 in many places.
const AT_ONCE: usize = 300;
/// A call's time may be this long on a machine on which everything else runs, too.
const LONGEST_CALL: Duration = Duration::from_secs(5);
/// Growth of this process's memory, in which other tests run, too.
const MOST_GROWTH_BYTES: usize = 200 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_is_served_while_a_thousand_strangers_push() {
    let mut drill = Drill::begin(LIMITS);
    let config = drill.controller("desk");
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
    println!("{} calls beside the crowd: median {median:?} (quiet {quiet:?}), longest {longest:?}", busy.len());
    assert!(longest < LONGEST_CALL, "{longest:?}");
    let growth = resident_bytes().saturating_sub(before);
    println!("{} kB more memory; {:?}", growth >> 10, drill.keeper.counts());
    assert!(growth < MOST_GROWTH_BYTES, "{growth} bytes");
    let counts = drill.keeper.counts();
    let away = counts.crowded + counts.crowded_address + counts.slow + counts.refused;
    assert_eq!((away, counts.welcomed), (CROWD as u64, 1), "{counts:?}");
    assert!(counts.crowded_address > 0, "{counts:?}");
    // A line a second at most: the crowd is over within the drill's patience.
    let lines = drill.lines.lock().unwrap().len();
    assert!((1..=PATIENCE.as_secs() as usize).contains(&lines), "{lines} lines");
    drop(channel);
    drill.all_gone().await;
}

#[tokio::test]
async fn strangers_at_one_address_leave_places_for_another() {
    let limits = DoorLimits { handshakes: 4, handshakes_per_address: 3, ..LIMITS };
    let mut drill = Drill::begin(limits);
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(TcpStream::connect(drill.address).await.unwrap());
    }
    // The fourth from there is closed at once; from another address there is room.
    let mut fourth = TcpStream::connect(drill.address).await.unwrap();
    until_closed(&mut fourth).await;
    assert_eq!(drill.keeper.counts().crowded_address, 1);
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let stream = socket.connect(drill.address).await.unwrap();
    let connector = TlsConnector::from(drill.controller("desk"));
    connector.connect(server_name("alpha").unwrap(), stream).await.unwrap();
    until("it is let in", || drill.keeper.counts().welcomed == 1).await;
}

/// The time of each of `count` calls, sorted: median and longest.
async fn calls(channel: &Channel, count: usize) -> (Duration, Duration) {
    let mut times = Vec::new();
    for _ in 0..count {
        let began = Instant::now();
        assert_eq!(echo::say(channel, "busy?").await.unwrap(), "busy?");
        times.push(began.elapsed());
    }
    times.sort_unstable();
    (times[count / 2], times[count - 1])
}

/// A crowd of which a third say nothing, a third nonsense, and a third begin a handshake.
async fn push(address: SocketAddr) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut crowd = Vec::new();
    for number in 0..CROWD {
        let place = Arc::clone(&places).acquire_owned().await.unwrap();
        crowd.push(tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let said: &[u8] = [b"".as_slice(), b"let me in\n", &[0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3]][number % 3];
            stream.write_all(said).await.ok();
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
