//! Names: a hosts file that only processes inside the testbed see.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use btu_network::Drawing;
use nix::mount::{MsFlags, mount};

/// The file that every resolver reads first (hosts(5)).
const HOSTS: &str = "/etc/hosts";

/// Lets programs inside find stations by name. Call it in a private mount namespace.
///
/// # Errors
/// There is no /etc/hosts to put it over, or mounting is refused.
pub(super) fn name_stations(drawing: &Drawing, runtime: &Path) -> io::Result<()> {
    let file = runtime.join("hosts");
    fs::write(&file, text(drawing))?;
    let nothing = None::<&str>;
    Ok(mount(Some(&file), HOSTS, nothing, MsFlags::MS_BIND, nothing)?)
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
