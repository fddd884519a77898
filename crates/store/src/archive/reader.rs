//! Reads the lines of a file, within limits.

use std::io::{self, BufRead, BufReader, Read};

use btu_units::hexadecimal;
use flate2::bufread::GzDecoder;
use sha2::{Digest, Sha256};

use super::line::{ArchiveLine, HeadLine};
use super::{ARCHIVE_VERSION, ArchiveError};
use crate::plain::hides_controls;

/// The longest line: the largest cells have some hundred kilobytes.
pub(super) const LONGEST_LINE: u64 = 8 << 20;

/// The size limit of an unpacked archive.
const MOST: u64 = 8 << 30;

/// The limit of the ratio of an archive to its file: btu's are ten times as large, a bomb of zeros
/// a thousand times.
const MOST_TIMES: u64 = 100;

/// Below this, no archive is a bomb.
const HARMLESS: u64 = 64 << 20;

/// Reads an archive line by line and gives those between the first and the last to `take`, with
/// their numbers.
pub(super) fn read(
    file: impl Read,
    mut take: impl FnMut(u64, &str) -> Result<(), ArchiveError>,
) -> Result<HeadLine, ArchiveError> {
    let mut lines = ArchiveLines::new(file);
    let head = head(&mut lines)?;
    loop {
        let before = hexadecimal(&lines.hash.clone().finalize());
        let Some(text) = lines.next()? else {
            return Err(ArchiveError::CutShort { line: lines.number });
        };
        if !text.starts_with(r#"{"end":"#) {
            take(lines.number, &text)?;
            continue;
        }
        match parse(lines.number, &text)? {
            ArchiveLine::End(end) if end.sha256 == before => {}
            _ => return Err(lines.damaged("its checksum is not that of the lines before it")),
        }
        lines.expect_end()?;
        return Ok(head);
    }
}

/// A parsed line.
pub(super) fn parse(number: u64, text: &str) -> Result<ArchiveLine, ArchiveError> {
    serde_json::from_str(text)
        .map_err(|error| ArchiveError::Damaged { line: number, what: error.to_string() })
}

fn head<R: Read>(lines: &mut ArchiveLines<R>) -> Result<HeadLine, ArchiveError> {
    let first = match lines.next() {
        Ok(Some(first)) if first.starts_with(r#"{"archive":"#) => first,
        Err(ArchiveError::Io(error)) => return Err(error.into()),
        _ => return Err(ArchiveError::NotAnArchive),
    };
    // A newer version may have fields that this program does not know.
    let ArchiveLine::Archive(head) = parse(1, &first)? else {
        return Err(ArchiveError::NotAnArchive);
    };
    if head.version > ARCHIVE_VERSION {
        return Err(ArchiveError::Newer { found: head.version, known: ARCHIVE_VERSION });
    }
    Ok(head)
}

/// Lines out of a gzip stream.
struct ArchiveLines<R: Read> {
    text: BufReader<GzDecoder<BufReader<Counted<R>>>>,
    hash: Sha256,
    /// The number of the last line that was read, from 1.
    number: u64,
    bytes: u64,
}

impl<R: Read> ArchiveLines<R> {
    fn new(file: R) -> Self {
        let file = BufReader::new(Counted { file, bytes: 0 });
        Self {
            text: BufReader::new(GzDecoder::new(file)),
            hash: Sha256::new(),
            number: 0,
            bytes: 0,
        }
    }

    /// The next line without its `\n`; `None` at the end.
    fn next(&mut self) -> Result<Option<String>, ArchiveError> {
        let mut bytes = Vec::new();
        let read = (&mut self.text).take(LONGEST_LINE).read_until(b'\n', &mut bytes);
        read.map_err(|error| self.explain(error))?;
        if bytes.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        self.bytes += bytes.len() as u64;
        self.check_size(bytes.len() as u64)?;
        self.hash.update(&bytes);
        if bytes.pop() != Some(b'\n') {
            return Err(ArchiveError::CutShort { line: self.number - 1 });
        }
        let text = String::from_utf8(bytes).map_err(|_| self.damaged("it is not UTF-8 text"))?;
        if hides_controls(&text) {
            return Err(self.damaged("it holds characters that would control a terminal"));
        }
        Ok(Some(text))
    }

    fn check_size(&self, line: u64) -> Result<(), ArchiveError> {
        let file = self.text.get_ref().get_ref().get_ref().bytes;
        let what = if line >= LONGEST_LINE {
            format!("a line of more than {LONGEST_LINE} bytes")
        } else if self.bytes > MOST {
            format!("more than {MOST} bytes in all")
        } else if self.bytes > HARMLESS && self.bytes / MOST_TIMES > file {
            format!(
                "{} bytes out of {file} in the file, as no runs would be compressed",
                self.bytes
            )
        } else {
            return Ok(());
        };
        Err(ArchiveError::TooLarge { line: self.number, what })
    }

    /// No data may follow, neither in the stream nor behind it.
    fn expect_end(&mut self) -> Result<(), ArchiveError> {
        if self.next()?.is_some() {
            return Err(self.damaged("something follows the checksum"));
        }
        match self.text.get_mut().get_mut().fill_buf() {
            Ok([]) => Ok(()),
            Ok(_) => Err(self.damaged("something follows the archive")),
            Err(error) => Err(error.into()),
        }
    }

    fn damaged(&self, what: &str) -> ArchiveError {
        ArchiveError::Damaged { line: self.number, what: what.to_owned() }
    }

    /// An error of the decoder means damage, an error of the system does not.
    fn explain(&self, error: io::Error) -> ArchiveError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => ArchiveError::CutShort { line: self.number },
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                self.damaged(&error.to_string())
            }
            _ => error.into(),
        }
    }
}

/// Counts the bytes that are read from a file.
struct Counted<R> {
    file: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}
