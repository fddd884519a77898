//! Names: a hosts file that only processes inside the testbed see.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use btu_network::Drawing;
use nix::mount::{MsFlags, mount};

/// The file that every resolver reads first (hosts(5)).
const HOSTS: &str = "/etc/hosts";

/// Sockets of name services of the host, which know its own names only and are asked before the file:
/// nscd and its kin (glibc, `nscd_proto.h`), and systemd-resolved (nss-resolve(8)). Where one cannot be
/// connected to, the C library reads the file.
const NAME_SERVICES: [&str; 3] =
    ["/run/nscd/socket", "/var/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve"];

/// Lets programs inside find stations by name. Call it in a private mount namespace.
///
/// # Errors
/// There is no /etc/hosts to put it over, or mounting is refused.
pub(super) fn name_stations(drawing: &Drawing, runtime: &Path) -> io::Result<()> {
    let file = runtime.join("hosts");
    fs::write(&file, text(drawing))?;
    let over = |source: &Path, target: &str| {
        mount(Some(source), target, None::<&str>, MsFlags::MS_BIND, None::<&str>)
    };
    over(&file, HOSTS)?;
    let mut services = NAME_SERVICES.into_iter().filter(|socket| Path::new(socket).exists());
    Ok(services.try_for_each(|socket| over(Path::new("/dev/null"), socket))?)
}

fn text(drawing: &Drawing) -> String {
    let mut text = "127.0.0.1 localhost\n".to_owned();
    for station in &drawing.stations {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {}", station.address, station.name);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn every_station_has_its_line() {
        assert_eq!(
            text(&samples::star(2)),
            "127.0.0.1 localhost\n198.18.0.1 host-1\n198.18.0.2 host-2\n"
        );
    }
}
