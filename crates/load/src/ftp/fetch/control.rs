//! The client's control connection: commands and replies (RFC 959 sections 4 and 5.4).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use thiserror::Error;

/// A reply has no more octets than this in all its lines.
const LONGEST_REPLY: u64 = 64 * 1024;

/// The replies of RFC 959, RFC 2228, RFC 2428 and RFC 3659. Those of other protocols are not told.
const CODES: [u16; 48] = [
    110, 120, 125, 150, 200, 202, 211, 212, 213, 214, 215, 220, 221, 225, 226, 227, 229, 230, 232,
    234, 235, 250, 257, 331, 332, 334, 335, 336, 350, 421, 425, 426, 431, 450, 451, 452, 500, 501,
    502, 503, 504, 522, 530, 532, 550, 551, 552, 553,
];

/// Why a command was not done; without the text of the server's reply.
#[derive(Debug, Error)]
pub(super) enum FtpError {
    #[error(transparent)]
    Connection(#[from] io::Error),
    #[error("it answered {0}")]
    Refused(u16),
    #[error("its answer has no code of FTP (RFC 959)")]
    OtherCode,
    #[error("its answer is not FTP (RFC 959)")]
    NoReply,
}

/// The code of a reply, and the text of its last line.
struct Reply {
    code: u16,
    text: String,
}

pub(super) struct FtpControlConnection(BufReader<TcpStream>);

impl FtpControlConnection {
    /// A connection on which the server may be silent for so long. It has greeted.
    pub(super) fn open(
        server: SocketAddr,
        connect: Duration,
        silence: Duration,
    ) -> Result<Self, FtpError> {
        let stream = TcpStream::connect_timeout(&server, connect)?;
        stream.set_write_timeout(Some(silence))?;
        let mut control = Self(BufReader::new(stream));
        control.set_silence(silence)?;
        control.expect(&[220])?;
        Ok(control)
    }

    pub(super) fn set_silence(&self, silence: Duration) -> io::Result<()> {
        self.0.get_ref().set_read_timeout(Some(silence))
    }

    /// Sends a command; what it is about must not be another command.
    pub(super) fn send(&mut self, command: &str) -> Result<(), FtpError> {
        if command.contains(['\r', '\n']) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
        }
        Ok(self.0.get_mut().write_all(format!("{command}\r\n").as_bytes())?)
    }

    /// Sends a command, and takes one of these replies for its success; returns which.
    pub(super) fn ask(&mut self, command: &str, wanted: &[u16]) -> Result<u16, FtpError> {
        self.send(command)?;
        self.expect(wanted).map(|reply| reply.code)
    }

    /// Asks at which port of the server the next data connection is expected.
    ///
    /// PASV cannot express IPv6 addresses (RFC 2428), but more servers support it. The address in
    /// its reply is not used: behind a relay or a translator it is not reachable, and it could be
    /// that of any machine.
    pub(super) fn data_port(&mut self, is_ipv4: bool) -> Result<u16, FtpError> {
        let (command, code, port_in): (_, _, fn(&str) -> Option<u16>) =
            if is_ipv4 { ("PASV", 227, port_of_pasv) } else { ("EPSV", 229, port_of_epsv) };
        self.send(command)?;
        let reply = self.expect(&[code])?;
        port_in(&reply.text).filter(|port| *port != 0).ok_or(FtpError::NoReply)
    }

    /// The last reply must be one of these.
    pub(super) fn confirm(&mut self, wanted: &[u16]) -> Result<(), FtpError> {
        self.expect(wanted).map(drop)
    }

    fn expect(&mut self, wanted: &[u16]) -> Result<Reply, FtpError> {
        let reply = self.reply()?;
        match reply.code {
            code if wanted.contains(&code) => Ok(reply),
            code if CODES.contains(&code) => Err(FtpError::Refused(code)),
            _ => Err(FtpError::OtherCode),
        }
    }

    /// A reply; one of several lines ends with a line that begins with its code and a blank.
    fn reply(&mut self) -> Result<Reply, FtpError> {
        let mut octets = (&mut self.0).take(LONGEST_REPLY);
        let (mut code, mut line) = (None, Vec::new());
        loop {
            line.clear();
            octets.read_until(b'\n', &mut line)?;
            if !line.ends_with(b"\n") {
                return Err(if line.is_empty() && code.is_none() {
                    io::Error::from(io::ErrorKind::UnexpectedEof).into()
                } else {
                    FtpError::NoReply
                });
            }
            let begun = code_of(&line);
            code = code.or(begun.map(|(code, _)| code));
            let expected = code.ok_or(FtpError::NoReply)?;
            if begun == Some((expected, true)) {
                let text = String::from_utf8_lossy(&line[3..]).into_owned();
                return Ok(Reply { code: expected, text });
            }
        }
    }
}

/// The code that a line begins with, and whether the reply ends with it.
fn code_of(line: &[u8]) -> Option<(u16, bool)> {
    let (code, rest) = line.split_first_chunk::<3>()?;
    let code = std::str::from_utf8(code).ok().filter(|code| !code.starts_with(['0', '+']))?;
    let is_last = match rest.first()? {
        b'-' => false,
        b' ' | b'\r' | b'\n' => true,
        _ => return None,
    };
    Some((code.parse().ok()?, is_last))
}

/// `227 Entering Passive Mode (192,0,2,1,4,1)`, with or without the brackets.
fn port_of_pasv(text: &str) -> Option<u16> {
    text.split(|letter: char| !letter.is_ascii_digit() && letter != ',').find_map(|piece| {
        let numbers: Vec<u8> = piece.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [_, _, _, _, high, low] = numbers[..] else { return None };
        Some(u16::from_be_bytes([high, low]))
    })
}

/// `229 Entering Extended Passive Mode (|||1025|)`, with any delimiter.
fn port_of_epsv(text: &str) -> Option<u16> {
    let (_, inside) = text.split_once('(')?;
    let delimiter = inside.chars().next()?;
    inside.split(delimiter).nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// The code and the text of the first reply of a server that says this.
    fn first_reply(said: &str) -> Result<(u16, String), FtpError> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut control = FtpControlConnection(BufReader::new(stream));
        thread::scope(|scope| {
            scope.spawn(|| listener.accept().unwrap().0.write_all(said.as_bytes()).unwrap());
            control.reply().map(|reply| (reply.code, reply.text.trim().to_owned()))
        })
    }

    #[test]
    fn a_reply_has_one_line_or_several() {
        assert_eq!(first_reply("220 ready\r\n").unwrap(), (220, "ready".to_owned()));
        assert_eq!(first_reply("221\r\n").unwrap(), (221, String::new()));
        let several = "211-features\r\n211-not yet\r\n SIZE\r\n226 in the middle\r\n211 end\r\n";
        assert_eq!(first_reply(several).unwrap(), (211, "end".to_owned()));
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for said in
            ["hello\r\n", "22 x\r\n", "0 x\r\n", "+20 x\r\n", "220x\r\n", "220 cut", "211-x\r\n"]
        {
            assert!(matches!(first_reply(said), Err(FtpError::NoReply)), "{said}");
        }
        let long = format!("211-x\r\n{}", " x\r\n".repeat(LONGEST_REPLY as usize / 4));
        assert!(matches!(first_reply(&long), Err(FtpError::NoReply)));
        assert!(matches!(first_reply(""), Err(FtpError::Connection(_))));
    }

    #[test]
    fn a_reply_tells_the_port() {
        assert_eq!(port_of_pasv(" Entering Passive Mode (192,0,2,1,4,1)."), Some(1025));
        assert_eq!(port_of_pasv(" =192,0,2,1,4,1"), Some(1025));
        assert_eq!(port_of_epsv(" Entering Extended Passive Mode (|||1025|)"), Some(1025));
        for text in ["", " (1,2,3,4,5)", " (1,2,3,4,5,256)", " (|||65536|)", " (", " (|||"] {
            assert_eq!(port_of_pasv(text).or(port_of_epsv(text)), None, "{text}");
        }
    }

    #[test]
    fn a_command_is_one_line() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut control = FtpControlConnection(BufReader::new(stream));
        assert!(control.send("RETR a\r\nDELE b").is_err());
    }
}
