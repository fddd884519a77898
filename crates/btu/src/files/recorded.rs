//! A recorded link, as Mahimahi's `mm-link` takes it, as a network: two stations and the link between
//! them.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use btu_network::{recorded, recording_comment};
use btu_units::{controls, text_of_octets};

use super::text;
use crate::exit::Refusal;

/// The endings of a pair of recordings: from the client to the server, and back.
const UP: &str = "up";
const DOWN: &str = "down";

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
    Ok(Some(file(up, down)))
}

fn unusable(name: &str, why: &str) -> Refusal {
    Refusal::Usage(format!("{name} cannot be read as a link recorded in Mahimahi's form: {why}"))
}

/// The file of the other direction next to this one, if there is one, and whether it is that from
/// the client to the server.
fn partner(name: &str) -> Option<(String, bool)> {
    let path = super::path(name);
    let (ending, is_up) = match path.extension()?.to_str()? {
        DOWN => (UP, true),
        UP => (DOWN, false),
        _ => return None,
    };
    let other = path.with_extension(ending);
    other.is_file().then(|| (text_of_octets(other.as_os_str().as_bytes()), is_up))
}

fn other(path: &str) -> Result<Vec<u32>, Refusal> {
    let text = text(&super::path(path))?;
    let read = recorded(&text).unwrap_or_else(|| {
        let is_empty = text.trim().is_empty();
        Err(if is_empty { "it is empty" } else { "it begins with no number" }.to_owned())
    });
    read.map_err(|why| unusable(path, &why))
}

fn file((up, up_ms): (&str, &[u32]), (down, down_ms): (&str, &[u32])) -> String {
    let [up, down] = [up, down].map(printable);
    let as_in = if up == down {
        format!("both directions as in {up}")
    } else {
        format!("up as in {up}, down as in {down}")
    };
    // Of two with one name in the comments, the last one counts: they are the same recording.
    let recordings = [(&up, up_ms), (&down, down_ms)];
    let recordings: String = recordings[usize::from(up == down)..]
        .iter()
        .filter_map(|(name, times)| recording_comment(name, times))
        .collect();
    format!(
        "{recordings}\
         # client ~~~~ line ~~~~ server: a recorded link, {as_in} (Mahimahi's form: a number for each\n\
         # opportunity to send 1504 octets; here the milliseconds since the one before). btu net show prints this file.\n\n\
         about = \"A recorded link, {as_in}\"\n\n[stations.client]\n[stations.server]\n\n\
         [links.line]\nbetween = [\"client\", \"server\"]\ndelay = \"0 ms\"\n\n\
         [links.line.forth]\ntrace = \"{up}\"\n[links.line.back]\ntrace = \"{down}\"\n\n\
         [traffic.download]\nfrom = \"server\"\nto = \"client\"\nsize = \"1518 B\"\nload = \"60 %\"\n"
    )
}

/// A path's last part, without what a text in the file cannot hold.
fn printable(path: &str) -> String {
    let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
    name.chars()
        .map(|letter| if controls(letter) || "\"\\".contains(letter) { '?' } else { letter })
        .collect()
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

    /// As some editors save texts, network files included.
    #[test]
    fn a_byte_order_mark_is_no_part_of_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(path("a.trace"), "\u{feff}1\r\n9\r\n").unwrap();
        assert_eq!(ways(&read(&path("a.trace"), &[]).unwrap())[0], [1, 9]);
        let text = btu_network::library_text("satellite").unwrap();
        std::fs::write(path("satellite.toml"), format!("\u{feff}{text}")).unwrap();
        assert_eq!(read(&path("satellite.toml"), &[]).unwrap(), read("satellite", &[]).unwrap());
    }

    /// Plans hold the recording: a reader of a plan has no file of that name.
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

    /// Of more than 1 MiB, as it is and as the list of a network file.
    #[test]
    fn a_long_recording_is_stored_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.down");
        let times: Vec<u32> = (1..=200_000).collect();
        let text = times.iter().map(u32::to_string).collect::<Vec<_>>().join("\n");
        assert!(text.len() > 1 << 20);
        std::fs::write(&path, text).unwrap();
        let source = super::super::source(path.to_str().unwrap()).unwrap();
        drop(directory);
        let settings = [("links.line.delay".to_owned(), "20 ms".to_owned())];
        let stored = super::super::stored(&source.with_settings(&settings)).unwrap();
        assert_eq!(stored.links[0].forth.delay, btu_units::Span::from_milliseconds(20));
        assert_eq!(ways(&stored), [times.clone(), times]);
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
        assert!(told("0.5\n1.5\n".to_owned()).contains("its line 1 is `0.5`"));
        assert!(told("\u{feff}1\n2.5\n".to_owned()).contains("its line 2 is `2.5`"));
        assert!(told(" \n".to_owned()).contains("it is empty"));
        assert!(told("5\n4\n".to_owned()).contains("must not go back"));
    }
}
