//! The address of a board, as it is signed.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::plain;

/// An address of a board: `https://NAME` or `http://NAME`, with a port or a path, without a slash at
/// its end.
///
/// # Errors
/// It is none, for this reason.
pub fn check_address(value: &str) -> Result<String, String> {
    let wrong = |why| format!("{value:?} is no address such as https://board.example.org: {why}");
    let rest = value.strip_prefix("https://").or_else(|| value.strip_prefix("http://"));
    let rest = rest.ok_or_else(|| wrong("it begins neither with https:// nor with http://".into()));
    rest.and_then(|rest| check_parts(rest).map_err(wrong))?;
    plain(value)
}

/// A host and a path.
fn check_parts(rest: &str) -> Result<(), String> {
    let is_other = |mark: &char| !mark.is_ascii_graphic() || "?#@\\\"<>".contains(*mark);
    if let Some(mark) = rest.chars().find(is_other) {
        return Err(format!("{mark:?} may not stand there"));
    }
    let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    check_host(host)?;
    // One that leads to another place, or to the same by another address: a letter in place of its code, and a code in place
    // of its letter, are one to some programs and two to others.
    let is_wrong = |part: &&str| matches!(*part, "" | "." | "..") || part.contains('%');
    let wrong = path.and_then(|path| path.split('/').find(is_wrong));
    wrong.map_or(Ok(()), |part| Err(format!("{part:?} is no part of a path")))
}

/// A name or an IP address, which may have a port.
fn check_host(host: &str) -> Result<(), String> {
    let port = if let Some(bracketed) = host.strip_prefix('[') {
        let (address, port) = bracketed.split_once(']').ok_or("its `[` has no `]`")?;
        let read = address.parse::<Ipv6Addr>();
        read.map_err(|_| format!("{address:?} is no address of IPv6"))?;
        port
    } else {
        let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
        check_name(name)?;
        port
    };
    let number = port.strip_prefix(':').unwrap_or("none");
    let is_port = number.parse::<u16>().is_ok_and(|port| port > 0 && port.to_string() == number);
    if port.is_empty() || is_port { Ok(()) } else { Err(format!("{port:?} is no port")) }
}

/// A name, or an address of IPv4: what ends in a number is one (URL Standard of WHATWG, section 3.5).
fn check_name(name: &str) -> Result<(), String> {
    let is_label = |label: &str| {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        !label.is_empty() && label.chars().all(is_letter) && label.trim_matches('-') == label
    };
    if !name.split('.').all(is_label) {
        return Err(format!("{name:?} is no name of a host"));
    }
    let mut last = name.rsplit('.').next().unwrap_or_default().chars();
    if last.all(|digit| digit.is_ascii_digit()) && name.parse::<Ipv4Addr>().is_err() {
        return Err(format!("{name:?} is no address of IPv4"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_boards() {
        for address in [
            "https://board.example.org",
            "https://www.example.org/a/board_2",
            "http://localhost:8095",
            "https://a--b.example",
            "http://192.0.2.1:80/x",
            "http://[::1]",
            "http://[2001:db8::1]:8080/lab",
        ] {
            assert_eq!(check_address(address).as_deref(), Ok(address));
        }
    }

    #[test]
    fn what_is_no_address_is_refused_at_its_place() {
        for (address, word) in [
            ("", "begins neither"),
            ("HTTPS://a", "begins neither"),
            ("https://", "\"\" is no name"),
            ("https:///x", "\"\" is no name"),
            ("https://a..b", "\"a..b\" is no name"),
            ("https://a%2fb", "no name"),
            ("https://me:secret@a", "'@'"),
            ("https://a b", "' '"),
            ("https://a?b", "'?'"),
            ("http://h:80:80", "\":80:80\" is no port"),
            ("http://h:", "\":\" is no port"),
            ("http://h:0", "no port"),
            ("http://h:080", "no port"),
            ("http://h:+80", "no port"),
            ("http://[::1]80", "\"80\" is no port"),
            ("http://[::1", "its `[` has no `]`"),
            ("http://[::1%eth0]", "no address of IPv6"),
            ("http://[h]:80", "\"h\" is no address of IPv6"),
            ("http://999.1.1.1", "\"999.1.1.1\" is no address of IPv4"),
            ("http://1.1.1:80", "no address of IPv4"),
            ("http://7", "no address of IPv4"),
            ("https://a/", "\"\" is no part"),
            ("https://a/../b", "\"..\" is no part"),
            ("https://a/%2e%2e/b", "\"%2e%2e\" is no part"),
            ("https://a/.%2E", "\".%2E\" is no part"),
            ("https://a/%", "\"%\" is no part"),
            ("https://a/%zz", "\"%zz\" is no part"),
            ("https://a/a%00", "\"a%00\" is no part"),
            ("https://a/b/a%2fb", "\"a%2fb\" is no part"),
            ("https://-a.b", "\"-a.b\" is no name"),
            ("https://a.b-", "\"a.b-\" is no name"),
        ] {
            let refused = check_address(address).unwrap_err();
            assert!(refused.contains(word), "{refused}");
        }
    }
}
