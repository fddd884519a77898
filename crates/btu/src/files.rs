//! Reads drawings from the files that the command line names, and writes results to files.

mod output;
mod recorded;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use btu_network::{
    Drawing, Files, Parameter, ReadError, Reader, SETTING, library, library_text, library_trace,
    recorded, recording_comment, settings_of, suggestion,
};
use btu_units::{BitRate, Span, is_negative, octets_of_text, shell_word, text_of_octets};

use crate::exit::Refusal;
pub(crate) use output::{create, is_directory, make_last, new_directory, save_picture};

/// The most that is read of any file; the reader has its own, smaller limit for a network file.
const MOST: u64 = 64 << 20;

/// A network file's text and its origin.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its name in errors.
    pub(crate) name: String,
    pub(crate) text: String,
    /// The settings that its name stands for: the rate of a line, and its delay.
    settings: Vec<(String, String)>,
    /// The directory of the files that it names; the library has its own.
    directory: Option<PathBuf>,
}

/// Writes a result to the requested file.
pub(crate) fn save(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let written = create(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| unwritable(path, &error).into())
}

/// Why there is no such result.
pub(crate) fn unwritable(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::Machine(format!("writing {}: {error}", path.display()))
}

/// The network that `what` names, a file or one of the library, with these settings made.
pub(crate) fn network(what: &str, settings: &[(String, String)]) -> anyhow::Result<Drawing> {
    network_with_delay(what, None, settings)
}

/// Like `network`, with the delay of a line that is named by its rate.
pub(crate) fn network_with_delay(
    what: &str,
    delay: Option<Span>,
    settings: &[(String, String)],
) -> anyhow::Result<Drawing> {
    let source = line_with_delay(what, delay)?;
    source.read(settings).map_err(|error| Refusal::Usage(error.to_string()).into())
}

/// A drawing that can be predicted or simulated.
pub(crate) fn emulated(drawing: Drawing) -> Result<Drawing, Refusal> {
    if drawing.bare {
        let why = "nothing is emulated in it, so it is as fast as this host; measure it with `btu rate` or `btu pipe`";
        return Err(Refusal::Usage(format!(
            "{} cannot be predicted or simulated: {why}",
            drawing.name
        )));
    }
    Ok(drawing)
}

/// What `what` names: a file, a recorded link, `-` for standard input, a network of the library, or the rate of a
/// line. A file with a library's name goes by `./name`.
pub(crate) fn source(what: &str) -> anyhow::Result<Source> {
    if let Ok(rate) = what.parse::<BitRate>() {
        return Ok(line(rate));
    }
    if what == "-" {
        return drawn("stdin", standard_input()?, Path::new("."));
    }
    if let Some(text) = library_text(what) {
        return Ok(Source::written(what, text.to_owned()));
    }
    let path = &path(what);
    let text = File::open(path).and_then(bounded).map_err(|error| {
        let is_missing = error.kind() == std::io::ErrorKind::NotFound;
        match wrong_rate(what) {
            Some(why) if is_missing => why,
            None if is_missing && !what.contains(['/', '.']) => no_such_network(what),
            _ => unreadable(what, &error),
        }
    })?;
    drawn(what, text, path.parent().unwrap_or(Path::new("")))
}

/// The file of this name, which may be any octets.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(OsString::from_vec(octets_of_text(name)))
}

/// The network that a file draws, or the recorded link that it is.
fn drawn(name: &str, text: String, directory: &Path) -> anyhow::Result<Source> {
    if text.trim().is_empty() {
        let problem =
            "it is empty: a network file or a link recorded in Mahimahi's form was expected";
        return Err(unreadable(name, &std::io::Error::other(problem)).into());
    }
    match recorded::network(name, &text)? {
        Some(network) => Ok(Source::written(name, network)),
        None => Ok(Source::drawn(name, text, directory)),
    }
}

/// A line of the library with this rate.
fn line(rate: BitRate) -> Source {
    let text = library_text(LINE).unwrap_or_default().to_owned();
    let setting = (format!("links.{LINE}.rate"), format!("{} b/s", rate.bits_per_second()));
    Source { settings: vec![setting], ..Source::written(LINE, text) }
}

/// Like `source`, with the delay of a line that is named by its rate.
pub(crate) fn line_with_delay(what: &str, delay: Option<Span>) -> anyhow::Result<Source> {
    let delay = delay.map(|delay| delay_setting(what, delay)).transpose()?;
    let mut source = source(what)?;
    source.settings.extend(delay);
    Ok(source)
}

/// The setting that gives the line `what` a delay; no other network has one of its own.
pub(crate) fn delay_setting(what: &str, delay: Span) -> Result<(String, String), Refusal> {
    if what.parse::<BitRate>().is_err() && what != LINE {
        let problem = "--delay is for a line, for example --network '10 Mb/s'; the file of another network sets its delays \
                       (--set)";
        return Err(Refusal::Usage(problem.to_owned()));
    }
    Ok((format!("links.{LINE}.delay"), format!("{} ns", delay.nanoseconds())))
}

/// The rate of the library's line, in its file.
const LINE_RATE: &str = "10 Mb/s";

/// The library's network with one line, of the same name, for which a rate stands.
pub(crate) const LINE: &str = "path";

/// What a user types for this network in another command, with these settings.
pub(crate) fn typed(what: &str, settings: &[(String, String)]) -> String {
    settings.iter().fold(shell_word(what), |typed, (key, value)| {
        format!("{typed} --set {}", shell_word(&format!("{key}={value}")))
    })
}

/// What a user types for this network with the delay of its line.
pub(crate) fn typed_with_delay(
    what: &str,
    delay: Option<Span>,
    settings: &[(String, String)],
) -> String {
    let delay = delay
        .map_or_else(String::new, |delay| format!(" --delay {}", shell_word(&delay.to_string())));
    shell_word(what) + &delay + typed("", settings).trim_start_matches("''")
}

/// Like `source`; a file that lies in `directory` need not be named by its whole path.
pub(crate) fn source_in(what: &str, directory: Option<&Path>) -> anyhow::Result<Source> {
    let there = directory
        .filter(|_| library_text(what).is_none())
        .map(|directory| directory.join(path(what)));
    match there.filter(|path| path.is_file()) {
        Some(path) => source(&text_of_octets(path.as_os_str().as_bytes())),
        None => source(what),
    }
}

/// The drawing of a text of [`Source::with_settings`]. It may have come with a file of others, so
/// it names no file of this machine: recordings are in it, or in the library.
pub(crate) fn stored(text: &str) -> Result<Drawing, ReadError> {
    let settings: Vec<(String, String)> =
        settings_of(text).map(|(key, value)| (key.into(), value.into())).collect();
    Source::written("the stored network", text.to_owned()).read(&settings)
}

impl Source {
    /// The drawing of another file; the files that it names are in this directory.
    pub(crate) fn drawn(name: &str, text: String, directory: &Path) -> Self {
        Self { directory: Some(directory.to_owned()), ..Self::written(name, text) }
    }

    /// A text that this program wrote itself.
    pub(crate) fn written(name: &str, text: String) -> Self {
        Self { name: name.to_owned(), text, settings: Vec::new(), directory: None }
    }

    /// The text of a file that draws this network: that of a line has its rate.
    pub(crate) fn as_file(&self) -> String {
        let own = self.settings.iter().find(|(key, _)| key.rsplit('.').next() == Some("rate"));
        let rate = own.map(|(_, rate)| rate.as_str());
        rate.map_or_else(|| self.text.clone(), |rate| self.text.replace(LINE_RATE, rate))
    }

    /// The text with the settings and the user's recordings as comments before it: they are as much
    /// a part of the network as its file.
    pub(crate) fn with_settings(&self, settings: &[(String, String)]) -> String {
        self.settings
            .iter()
            .chain(settings)
            .fold(String::new(), |set, (key, value)| set + &format!("{SETTING}{key}={value}\n"))
            + &self.recordings(settings)
            + &self.text
    }

    /// A comment for each recording that the file names and that the library does not have.
    fn recordings(&self, settings: &[(String, String)]) -> String {
        let comments = RefCell::new(BTreeMap::new());
        let files = |name: &str| {
            let text = self.file(name)?;
            if library_trace(name).as_ref() != Ok(&text)
                && let Some(Ok(times)) = recorded(&text)
                && let Some(comment) = recording_comment(name, &times)
            {
                comments.borrow_mut().insert(name.to_owned(), comment);
            }
            Ok(text)
        };
        // The file was read before: there are no mistakes in it.
        let _ = self.reader(&files, settings).read(&self.text);
        comments.into_inner().into_values().collect()
    }

    /// The drawing, or all mistakes in the file.
    pub(crate) fn read(&self, settings: &[(String, String)]) -> Result<Drawing, ReadError> {
        let files = |name: &str| self.file(name);
        self.reader(&files, settings).read(&self.text)
    }

    /// Like `read`, with the values that a setting can change.
    pub(crate) fn read_parameters(
        &self,
        settings: &[(String, String)],
    ) -> Result<(Drawing, Vec<Parameter>), ReadError> {
        let files = |name: &str| self.file(name);
        self.reader(&files, settings).read_parameters(&self.text)
    }

    fn reader<'a>(&'a self, files: Files<'a>, settings: &[(String, String)]) -> Reader<'a> {
        let reader = Reader::new(&self.name).files(files);
        let all = self.settings.iter().chain(settings);
        all.fold(reader, |reader, (key, value)| reader.set(key, value))
    }

    /// A file that the network file names: the one in the directory of the network file, else the
    /// one of that name in the library.
    fn file(&self, name: &str) -> Result<String, String> {
        let Some(directory) = &self.directory else { return library_trace(name) };
        let path = directory.join(name);
        match File::open(&path).and_then(bounded) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                library_trace(name).map_err(|_| format!("there is no file {}", path.display()))
            }
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }
}

/// The message if a network has no station of that name, with the command that lists its stations.
pub(crate) fn no_such_station(wanted: &str, network: &str) -> String {
    format!(
        "there is no station `{wanted}` in {network}: see `btu net check {}`",
        shell_word(network)
    )
}

/// Reads a text from standard input.
pub(crate) fn standard_input() -> Result<String, Refusal> {
    bounded(std::io::stdin().lock()).map_err(|error| unreadable("standard input", &error))
}

/// Reads a text file.
pub(crate) fn text(path: &Path) -> Result<String, Refusal> {
    File::open(path)
        .and_then(bounded)
        .map_err(|error| unreadable(&path.display().to_string(), &error))
}

/// `KEY=VALUE`, as `--set` takes it.
pub(crate) fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| {
        format!(
            "`{text}` sets nothing: write KEY=VALUE, for example traffic.background.load='30 %'"
        )
    })?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

fn bounded(input: impl Read) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    input.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        return Err(std::io::Error::other("it is too large"));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is not UTF-8 text"))?;
    // Some editors begin a text with a byte order mark, which is no part of it.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn unreadable(what: &str, error: &std::io::Error) -> Refusal {
    Refusal::Usage(format!("reading {what}: {error}"))
}

/// Why a text that looks like a rate (it begins with a number) is not the rate of a line.
fn wrong_rate(what: &str) -> Option<Refusal> {
    let begins_with_digit = what.trim_start().starts_with(|first: char| first.is_ascii_digit());
    let error =
        (begins_with_digit || is_negative(what)).then(|| what.parse::<BitRate>().err())??;
    let also = "there is no file of that name either; the rate of a line such as '10 Mb/s' is a network, too";
    Some(Refusal::Usage(format!("{error}; {also}")))
}

fn no_such_network(what: &str) -> Refusal {
    let names: Vec<&str> = library().iter().map(|(name, _)| *name).collect();
    let meant = suggestion(what, names.iter().copied());
    let known = if meant.is_empty() { names.join(", ") } else { "more: `btu net list`".to_owned() };
    Refusal::Usage(format!(
        "there is no file and no library network `{what}`{meant}, and it is not the rate of a line such as '10 Mb/s'; the \
         library has {known}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_network_goes_by_its_name() {
        let drawing = network("laboratory-1995", &[]).unwrap();
        assert_eq!(drawing.name, "laboratory-1995");
    }

    #[test]
    fn a_stored_network_keeps_its_settings() {
        let source = source("satellite").unwrap();
        let settings = vec![("links.space.forth.rate".to_owned(), "123 kb/s".to_owned())];
        let asked = source.read(&settings).unwrap();
        assert_eq!(stored(&source.with_settings(&settings)).unwrap(), asked);
        assert_ne!(stored(&source.text).unwrap(), asked);
    }

    #[test]
    fn settings_are_keys_and_values() {
        assert_eq!(setting("a.b = 10 Mb/s"), Ok(("a.b".to_owned(), "10 Mb/s".to_owned())));
        assert_eq!(setting("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(setting("a.b").is_err());
    }

    #[test]
    fn a_missing_network_is_answered_with_the_library() {
        assert!(
            network("no-such-network", &[]).unwrap_err().to_string().contains("laboratory-1995")
        );
        assert!(
            network("./none.toml", &[]).unwrap_err().to_string().contains("reading ./none.toml")
        );
    }

    #[test]
    fn a_misspelt_network_is_answered_with_the_right_one() {
        let said = network("home-bloatd", &[]).unwrap_err().to_string();
        assert!(said.contains("did you mean `home-bloated`?") && said.len() < 250, "{said}");
    }

    #[test]
    fn the_file_of_a_rate_draws_that_line() {
        let source = source("2.5 Mb/s").unwrap();
        let written = network_of(&source.as_file());
        assert_eq!(written.links, source.read(&[]).unwrap().links);
        assert!(written.about.contains("2500000 b/s"), "{}", written.about);
        let library = super::source("satellite").unwrap();
        assert_eq!(library.as_file(), library.text);
    }

    fn network_of(text: &str) -> Drawing {
        Source::written("written", text.to_owned()).read(&[]).unwrap()
    }

    #[test]
    fn a_rate_is_a_line_with_that_rate() {
        let source = source("50 Mb/s").unwrap();
        let drawing = source.read(&[]).unwrap();
        assert_eq!(
            drawing,
            network("path", &[("links.path.rate".into(), "50 Mb/s".into())]).unwrap()
        );
        let delay = [("links.path.delay".to_owned(), "5 ms".to_owned())];
        assert_eq!(stored(&source.with_settings(&delay)).unwrap(), source.read(&delay).unwrap());
        assert_ne!(source.read(&delay).unwrap(), drawing);
        assert_eq!(typed("50 Mb/s", &delay), "'50 Mb/s' --set 'links.path.delay=5 ms'");
    }

    /// A rate with a wrong unit is answered as network files answer it.
    #[test]
    fn a_rate_that_is_none_is_told_its_units() {
        for (wrong, said) in [
            ("10 MB/s", "`MB/s` is not a unit here"),
            ("10mbps", "`mbps`"),
            ("10Mbit", "`Mbit`"),
            ("10", "missing"),
        ] {
            let error = network(wrong, &[]).unwrap_err().to_string();
            assert!(error.contains(said) && error.contains("Mb/s, Gb/s"), "{wrong}: {error}");
        }
        assert!(network("10.toml", &[]).unwrap_err().to_string().contains("10.toml"));
    }

    /// The text of a stored network may come from others: it opens no file, wherever it is.
    #[test]
    fn a_stored_network_opens_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let trace = directory.path().join("secret.trace");
        std::fs::write(&trace, "1\n2\n").unwrap();
        for name in [trace.to_str().unwrap(), "../../../../dev/zero", "Cargo.toml"] {
            let text = format!(
                "[stations.a]\n[stations.b]\n[links.radio]\nbetween = [\"a\", \"b\"]\ntrace = \"{name}\"\n"
            );
            assert!(stored(&text).is_err(), "{name}");
        }
    }

    #[test]
    fn a_trace_lies_next_to_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("radio.toml");
        let text = "[stations.a]\n[stations.b]\n[links.radio]\nbetween = [\"a\", \"b\"]\ntrace = \"radio.trace\"\n";
        std::fs::write(&path, text).unwrap();
        let missing = network(path.to_str().unwrap(), &[]).unwrap_err().to_string();
        assert!(
            missing.contains("there is no file") && missing.contains("radio.trace"),
            "{missing}"
        );
        std::fs::write(directory.path().join("radio.trace"), "1\n2\n3\n").unwrap();
        let drawing = network(path.to_str().unwrap(), &[]).unwrap();
        assert_eq!(drawing.links.len(), 1);
        // A plan needs neither file nor directory.
        let source = source(path.to_str().unwrap()).unwrap();
        let planned = source.with_settings(&[]);
        drop(directory);
        assert_eq!(stored(&planned).unwrap().links, drawing.links);
        let elsewhere = Drawing::read(&planned, "elsewhere").unwrap();
        assert_eq!(elsewhere.links, drawing.links);
    }
}
