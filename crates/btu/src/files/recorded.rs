//! A recorded link, as Mahimahi's `mm-link` takes it, as a network: two stations and the link between
//! them.

use std::fmt::Write;
use std::path::Path;

use btu_network::recorded;

use super::text;
use crate::exit::Refusal;

/// The endings of a pair of recordings: from the client to the server, and back.
const UP: &str = "up";
const DOWN: &str = "down";

/// Numbers in a line of the file.
const IN_A_LINE: usize = 16;

/// The largest file of a network: plans hold it whole.
const LARGEST_BYTES: usize = 1 << 20;

/// The network file for a recording of this name; `None` if the text is none.
pub(super) fn network(name: &str, text: &str) -> Result<Option<String>, Refusal> {
    let Some(own) = recorded(text) else { return Ok(None) };
    let own = own.map_err(|why| unusable(name, &why))?;
    let other = match partner(name) {
        None => None,
        Some((path, is_up)) => Some((other(&path)?, path, is_up)),
    };
    let one = (name, own.as_slice());
    let (up, down) = match &other {
        None => (one, one),
        Some((times, path, true)) => ((path.as_str(), times.as_slice()), one),
        Some((times, path, false)) => (one, (path.as_str(), times.as_slice())),
    };
    let file = file(up, down);
    if file.len() > LARGEST_BYTES {
        let why = format!(
            "its {} opportunities make a network file of {} KiB, and plans hold at most {} KiB: take fewer of its lines (`head -n \
             60000`), or draw a network file that names it (`trace = \"...\"`, docs/network-file.md)",
            up.1.len().max(down.1.len()),
            file.len() >> 10,
            LARGEST_BYTES >> 10
        );
        return Err(unusable(name, &why));
    }
    Ok(Some(file))
}

fn unusable(name: &str, why: &str) -> Refusal {
    Refusal::Usage(format!("{name} begins as a recorded link in Mahimahi's form: {why}"))
}

/// The file of the other direction next to this one, if there is one, and whether it is that from
/// the client to the server.
fn partner(name: &str) -> Option<(String, bool)> {
    let path = Path::new(name);
    let (ending, is_up) = match path.extension()?.to_str()? {
        DOWN => (UP, true),
        UP => (DOWN, false),
        _ => return None,
    };
    let other = path.with_extension(ending);
    other.is_file().then(|| (other.display().to_string(), is_up))
}

fn other(path: &str) -> Result<Vec<u32>, Refusal> {
    let text = text(Path::new(path))?;
    let read = recorded(&text).unwrap_or_else(|| Err("it is no such recording".to_owned()));
    read.map_err(|why| unusable(path, &why))
}

fn file((up, up_ms): (&str, &[u32]), (down, down_ms): (&str, &[u32])) -> String {
    let as_in = if up == down {
        format!("both directions as in {}", printable(up))
    } else {
        format!("up as in {}, down as in {}", printable(up), printable(down))
    };
    format!(
        "# client ~~~~ line ~~~~ server: a recorded link, {as_in} (Mahimahi's form: a number for each\n\
         # opportunity to send 1504 octets, its millisecond). btu net show prints this file.\n\n\
         about = \"A recorded link, {as_in}\"\n\n[stations.client]\n[stations.server]\n\n\
         [links.line]\nbetween = [\"client\", \"server\"]\ndelay = \"0 ms\"\n\n\
         [links.line.forth]\ntrace = {}\n[links.line.back]\ntrace = {}\n\n\
         [traffic.download]\nfrom = \"server\"\nto = \"client\"\nsize = \"1518 B\"\nload = \"60 %\"\n",
        listed(up_ms),
        listed(down_ms)
    )
}

/// A path's last part, without what a text in the file cannot hold.
fn printable(path: &str) -> String {
    let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
    name.chars()
        .map(|letter| if letter.is_control() || "\"\\".contains(letter) { '?' } else { letter })
        .collect()
}

fn listed(times: &[u32]) -> String {
    let mut list = "[\n".to_owned();
    for line in times.chunks(IN_A_LINE) {
        for time in line {
            let _ = write!(list, "{time},");
        }
        list.push('\n');
    }
    list + "]"
}

#[cfg(test)]
mod tests {
    use btu_network::{Drawing, Rate};

    use super::super::network as read;

    /// The opportunities forth and back.
    fn ways(drawing: &Drawing) -> [Vec<u32>; 2] {
        let [link] = &drawing.links[..] else { panic!("one link") };
        [&link.forth, &link.back].map(|way| match &way.rate {
            Rate::Trace(trace) => trace.opportunities_ms.clone(),
            Rate::Fixed(rate) => panic!("{rate}"),
        })
    }

    #[test]
    fn a_recording_is_a_network_and_a_pair_is_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(path("drive.down"), "1\n2\n2\n40\n").unwrap();
        let alone = read(&path("drive.down"), &[]).unwrap();
        assert_eq!((&*alone.name, ways(&alone)), ("drive", [vec![1, 2, 2, 40], vec![1, 2, 2, 40]]));
        std::fs::write(path("drive.up"), "5\n").unwrap();
        for name in ["drive.down", "drive.up"] {
            let pair = read(&path(name), &[]).unwrap();
            assert_eq!(ways(&pair), [vec![5], vec![1, 2, 2, 40]], "{name}");
            assert!(
                pair.about.contains("up as in drive.up, down as in drive.down"),
                "{}",
                pair.about
            );
        }
        let delay = [("links.line.delay".to_owned(), "20 ms".to_owned())];
        assert_ne!(
            read(&path("drive.up"), &delay).unwrap().links,
            read(&path("drive.up"), &[]).unwrap().links
        );
    }

    /// Plans hold the text: a reader of a plan has no file of that name.
    #[test]
    fn a_stored_recording_needs_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.trace");
        std::fs::write(&path, "1\n9\n").unwrap();
        let source = super::super::source(path.to_str().unwrap()).unwrap();
        drop(directory);
        let stored = super::super::stored(&source.with_settings(&[])).unwrap();
        assert_eq!(ways(&stored), [vec![1, 9], vec![1, 9]]);
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.trace");
        let told = |text: String| {
            std::fs::write(&path, text).unwrap();
            read(path.to_str().unwrap(), &[]).unwrap_err().to_string()
        };
        assert!(told("1\n2\nx\n".to_owned()).contains("its line 3 is `x`"));
        assert!(told("5\n4\n".to_owned()).contains("must not go back"));
        let long = told("100000\n".repeat(80_000));
        assert!(long.contains("80000 opportunities") && long.contains("head -n"), "{long}");
    }
}
