//! The address of a board: a server that shows published runs.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use http::Uri;

/// The address of a board, without a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Board(String);

impl Board {
    /// The address as text, which is signed.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether what is sent there can be read and changed on its way: by plain HTTP to another
    /// machine.
    pub(crate) fn is_exposed(&self) -> bool {
        let address = Uri::from_str(&self.0).ok();
        let host = address.as_ref().and_then(Uri::host).unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let is_here = host == "localhost"
            || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        !self.0.starts_with("https://") && !is_here
    }
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for Board {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        btu_publication::check_address(text.trim_end_matches('/')).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_board_has_one_address() {
        let read = |text: &str| text.parse::<Board>().map(|board| board.to_string());
        assert_eq!(read("https://board.example.org/"), Ok("https://board.example.org".to_owned()));
        assert_eq!(read("http://[::1]:8080/lab"), Ok("http://[::1]:8080/lab".to_owned()));
        for text in [
            "",
            "board.example.org",
            "ftp://a",
            "HTTPS://a",
            "https://",
            "https:///",
            "https://me:secret@a",
            "https://a/?b",
            "https://a/#b",
            "https://a b",
            "https://a\n",
            "http://h:80:80",
            "http://[::1",
            "http://999.1.1.1",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn plain_http_stays_on_this_machine() {
        for (address, is_exposed) in [
            ("https://board.example.org", false),
            ("http://board.example.org", true),
            ("http://127.0.0.1:80", false),
            ("http://localhost", false),
            ("http://[::1]:80/a", false),
            ("http://127.0.0.1.example.org", true),
            ("http://localhost.example.org", true),
        ] {
            assert_eq!(address.parse::<Board>().unwrap().is_exposed(), is_exposed, "{address}");
        }
    }
}
