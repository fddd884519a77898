//! Programs that meet elsewhere than in the network, or end before the far end has what they sent; and what of the host
//! would keep them from meeting there.

use std::os::unix::net::UnixListener;

use super::{experiment, result};
use crate::common::Laboratory;
use crate::support::text;

/// A server of one line of perl in a station, and a client in another.
fn measured(laboratory: &Laboratory, server: &str, client: &str) -> String {
    let perl = |station: &str, script: &str| {
        format!(
            "on = \"{station}\"\nrun = [\"perl\", \"-MIO::Socket::INET\", \"-e\", '''{script}''']\n"
        )
    };
    let file = format!(
        "network = \"10 Mb/s\"\n[service.server]\n{}[measure.client]\n{}[order]\nblocks = 1\n",
        perl("active", server),
        perl("test", client)
    );
    let output = experiment(laboratory, &file, &[]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    laboratory.assert_down();
    result(laboratory)["warnings"].to_string()
}

/// Reads all, and answers.
const TAKER: &str = "my $s = IO::Socket::INET->new(LocalPort => 5000, Listen => 5, ReuseAddr => 1); \
                     while (my $c = $s->accept) { 1 while sysread($c, $_, 65536); syswrite $c, \"got it\"; close $c }";

#[test]
fn a_program_that_does_not_wait_for_the_far_end_is_told() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let give = |wait: &str| {
        format!(
            "my $c = IO::Socket::INET->new(PeerAddr => \"active:5000\") or die; syswrite $c, \"x\" x 500000; shutdown $c, 1; {wait}"
        )
    };
    let said = measured(&laboratory, TAKER, &give(""));
    assert!(
        said.contains("arrival not waited for") && said.contains("on test were not acknowledged"),
        "{said}"
    );
    let said = measured(&laboratory, TAKER, &give("sysread $c, $_, 9;"));
    assert!(!said.contains("arrival not waited for"), "{said}");
    // iperf3's server closes the connection of a client that has written all, whatever is under way.
    let closes = "my $s = IO::Socket::INET->new(LocalPort => 5000, Listen => 5, ReuseAddr => 1); \
                  while (my $c = $s->accept) { sysread $c, $_, 65536; close $c }";
    let said = measured(&laboratory, closes, &give("sleep 1;"));
    assert!(said.contains("a connection of client on test was reset"), "{said}");
}

#[test]
fn what_passes_by_the_network_is_told() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let said = measured(&laboratory, TAKER, "1");
    assert!(said.contains("in 1 of 1 cells no frame crossed the network"), "{said}");
    let said =
        measured(&laboratory, TAKER, "IO::Socket::INET->new(PeerAddr => \"active:5000\") or die");
    assert!(!said.contains("crossed the network"), "{said}");
}

#[test]
fn a_service_of_datagrams_is_ready_by_its_port() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let echo = "sleep 1; my $s = IO::Socket::INET->new(LocalPort => 2112, Proto => \"udp\"); \
                while (1) { $s->recv($_, 99); $s->send($_) }";
    let ask = "alarm 5; my $c = IO::Socket::INET->new(PeerAddr => \"active:2112\", Proto => \"udp\"); \
               $c->send(\"x\"); $c->recv($_, 9);";
    measured(&laboratory, echo, ask);
}

/// A name service of the host is not asked, whatever it would answer: it knows no station.
#[test]
fn a_name_service_of_the_host_does_not_hide_stations() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let socket = laboratory.directory.path().join("socket");
    let asked = UnixListener::bind(&socket).expect("a socket");
    asked.set_nonblocking(true).expect("a socket");
    let program = laboratory.command(&[]).get_program().to_owned();
    let script = "mount -t tmpfs btu /run && mkdir /run/nscd && touch /run/nscd/socket && \
                  mount --bind \"$1\" /run/nscd/socket && exec \"$0\" net run '10 Mb/s' --quiet -- getent hosts passive";
    let mut command = laboratory.through("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", script]).arg(program).arg(&socket);
    let output = command.output().expect("unshare runs");
    let said = text(&output.stdout);
    assert!(output.status.success() && said.contains("passive"), "{said}{}", text(&output.stderr));
    let asked = asked.accept();
    assert!(asked.is_err(), "the host's name service was asked: {asked:?}");
    laboratory.assert_down();
}

/// No proxy is in reach of a station, unless the experiment names one.
#[test]
fn proxies_of_the_environment_stay_outside() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let is_without = "test -z \"$http_proxy$HTTPS_PROXY$ALL_PROXY\" && test \"$no_other\" = kept";
    for command in ["run --blocks 1 --quiet", "net run --quiet"] {
        let mut command = laboratory.command(&command.split(' ').collect::<Vec<_>>());
        let proxy = "http://192.0.2.1:3128";
        command.env("http_proxy", proxy).env("HTTPS_PROXY", proxy).env("ALL_PROXY", proxy);
        command.env("no_other", "kept");
        command.args(["--network", "10 Mb/s", "--", "sh", "-c", is_without]);
        let output = command.output().expect("btu starts");
        assert!(output.status.success(), "{}", text(&output.stdout));
        laboratory.assert_down();
    }
}

/// An ordinary user is root in a station, and himself behind `unshare`, as docs/run.md says.
#[test]
fn a_program_that_refuses_root_can_be_oneself() {
    let Some(laboratory) = Laboratory::open() else { return };
    let own = nix::unistd::geteuid().to_string();
    let as_oneself = [format!("--map-user={own}"), format!("--map-group={own}")];
    let mut command = laboratory.command(&["net", "run", "10 Mb/s", "--quiet", "--", "unshare"]);
    let output = command.args(as_oneself).args(["--", "id", "-u"]).output().expect("btu starts");
    assert_eq!(text(&output.stdout).trim(), own, "{}", text(&output.stderr));
    let root = laboratory.command(&["net", "run", "10 Mb/s", "--quiet", "--", "id", "-u"]);
    assert_eq!(text(&{ root }.output().expect("btu starts").stdout).trim(), "0");
}
