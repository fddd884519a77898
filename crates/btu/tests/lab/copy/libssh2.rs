//! The window of libssh2's SFTP, by curl at the system's sshd over drawn paths.

use std::fs;
use std::path::Path;

use btu_conditions::judge;
use serde_json::Value;

use super::number;
use crate::common::Laboratory;
use crate::support::text;

/// What one call of `libssh2_sftp_write` may have in flight, in octets: the buffer of its caller.
/// curl has one of 64 KiB (`UPLOADBUFFER_DEFAULT`), which goes in requests of 30,000 octets
/// (`MAX_SFTP_OUTGOING_SIZE`); who hands over one request at a time has one request.
const BUFFERS: [(&str, f64); 2] = [("curl", 65_536.0), ("one-request", 30_000.0)];

/// To get a file, libssh2 asks for four buffers of its caller ahead; curl's is of 100 KiB.
const READ_AHEAD: f64 = 4.0 * 102_400.0;

/// Full windows of the shorter and of the longer file.
const WINDOWS: [u32; 2] = [5, 25];

/// Milliseconds of the round trips.
const ROUND_TRIPS: [u32; 2] = [25, 100];

/// Uploads by libcurl with a buffer of so many octets: curl has no option for it.
const UPLOAD: &str = r#"
import ctypes, sys
curl, libc = ctypes.CDLL("libcurl.so.4"), ctypes.CDLL(None)
curl.curl_easy_init.restype = libc.fopen.restype = ctypes.c_void_p
handle = ctypes.c_void_p(curl.curl_easy_init())
url, key, path, size = [word.encode() for word in sys.argv[1:]]
file = ctypes.c_void_p(libc.fopen(path, b"r"))
UPLOAD, BUFFER, READ, URL, PUBLIC, PRIVATE = 46, 280, 10009, 10002, 10152, 10153
for option, value in ((UPLOAD, ctypes.c_long(1)), (BUFFER, ctypes.c_long(int(size))), (READ, file), (URL, url),
                      (PUBLIC, key + b".pub"), (PRIVATE, key)):
    assert curl.curl_easy_setopt(handle, ctypes.c_int(option), value) == 0
sys.exit(curl.curl_easy_perform(handle))
"#;

/// What is measured: `sh SCRIPT WAY WINDOWS URL`, in the directory of keys and files.
const COPY: &str = r#"
source=$PWD/source
cd "$(dirname "$0")"
case $1 in
curl) size=65536 ;;
one-request) size=30000 ;;
get) size=409600 ;;
esac
head -c $(($2 * size)) /dev/zero >"$source"
login="-sSfk --key user --pubkey user.pub"
case $1 in
curl) curl $login -T "$source" "$3/arrived" ;;
one-request) python3 upload.py "$3/arrived" user "$source" $size ;;
get) curl $login -r 0-$(($2 * size - 1)) -o /dev/null "$3/source" ;;
esac
"#;

/// As any user may: sshd knows the only account of a user namespace.
const SERVE: &str = r#"
cd "$(dirname "$0")"
for key in host user; do [ -e $key ] || ssh-keygen -q -N '' -t ed25519 -f $key; done
exec unshare --user --map-user=1 --map-group=1 /usr/sbin/sshd -D -e -f /dev/null -p 2222 -h "$PWD/host" -o StrictModes=no \
  -o UsePAM=no -o PidFile=none -o "Subsystem=sftp internal-sftp" -o "AuthorizedKeysFile=$PWD/user.pub" -o "ForceCommand=internal-sftp -d $PWD"
"#;

fn experiment(directory: &Path) -> String {
    let script = |name: &str| directory.join(name).display().to_string();
    format!(
        "network = \"path\"\n[service.sshd]\non = \"active\"\nrun = [\"sh\", \"{}\"]\nready = {{ port = 2222 }}\n\
         [measure.copy]\non = \"test\"\n\
         run = [\"sh\", \"{}\", \"{{way}}\", \"{{windows}}\", \"sftp://daemon@{{active}}:2222/~\"]\n\
         [factors]\n\"links.path.delay\" = [\"{} us\", \"{} us\"]\n\
         way = [\"curl\", \"one-request\", \"get\"]\nwindows = [{}, {}]\n[order]\nblocks = 1\n",
        script("serve"),
        script("copy"),
        ROUND_TRIPS[0] * 500,
        ROUND_TRIPS[1] * 500,
        WINDOWS[0],
        WINDOWS[1],
    )
}

/// Seconds of each row, in the order of delay, way and windows.
fn measured(laboratory: &Laboratory) -> Vec<f64> {
    let directory = laboratory.directory.path();
    for (name, content) in [("serve", SERVE), ("copy", COPY), ("upload.py", UPLOAD)] {
        fs::write(directory.join(name), content).expect("written");
    }
    fs::write(directory.join("source"), vec![7; 25 * 409_600]).expect("written");
    let file = directory.join("experiment.toml");
    fs::write(&file, experiment(directory)).expect("written");
    let what = ["run", "--quiet", "-C", "reno", "--set", "links.path.rate=1 Gb/s"];
    let file = file.to_str().expect("UTF-8");
    let output = laboratory.command(&[&what[..], &[file]].concat()).output().expect("btu starts");
    println!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{}", text(&output.stderr));
    laboratory.assert_down();
    let result = laboratory.json(&["show"])["result"].clone();
    let rows = result["values"][0]["rows"].as_array().expect("rows").clone();
    rows.iter().map(|row: &Value| number(&row["value"]["value"])).collect()
}

/// A window is the rate between two sizes times the round trip: what is in flight, without
/// connecting and login. It may come out 5 % small, as OpenSSH's: at 25 ms of round trip, 64 KiB
/// take half a millisecond on the line and as much in both programs.
#[test]
#[ignore = "takes some 30 s: scripts/lan-lab copy"]
fn long_libssh2_has_its_callers_buffer_in_flight() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    let seconds = measured(&laboratory);
    for (delay, round_trip) in ROUND_TRIPS.into_iter().enumerate() {
        let window = |way: usize, buffer: f64| {
            let at = (delay * 3 + way) * 2;
            let windows = f64::from(WINDOWS[1] - WINDOWS[0]);
            windows * buffer * f64::from(round_trip) * 1e-3 / (seconds[at + 1] - seconds[at])
        };
        for (way, (name, buffer)) in BUFFERS.into_iter().enumerate() {
            let found = window(way, buffer);
            println!("{round_trip} ms, {name}: {found:.0} octets of {buffer}");
            judge!(
                laboratory,
                (0.95..1.01).contains(&(found / buffer)),
                "{round_trip} ms, {name}: {found}"
            );
        }
        let ahead = window(2, READ_AHEAD);
        println!("{round_trip} ms, get: {ahead:.0} octets of {READ_AHEAD}");
        // What TCP's slow start takes of both files differs by up to two of twenty round trips.
        judge!(
            laboratory,
            (0.9..1.1).contains(&(ahead / READ_AHEAD)),
            "{round_trip} ms, get: {ahead}"
        );
    }
}
