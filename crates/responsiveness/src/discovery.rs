//! Where a server is, and what it says of its addresses (draft, section 8.1).

use std::net::{SocketAddr, ToSocketAddrs};

use http::Uri;
use serde::{Deserialize, Serialize};

use crate::error::ResponsivenessError;

/// The path of the description.
pub const WELL_KNOWN: &str = "/.well-known/nq";

/// The port of an address without one.
const HTTPS: u16 = 443;

/// A server, and the path of its description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) path: String,
}

impl Target {
    /// Reads `https://HOST[:PORT][/PATH]`, or `HOST[:PORT]`.
    ///
    /// # Errors
    /// It is no such address.
    pub fn read(text: &str) -> Result<Self, ResponsivenessError> {
        let failed = |why| ResponsivenessError::Address { address: text.to_owned(), why };
        let whole = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
        let uri: Uri = whole.parse().map_err(|_| failed("it cannot be read"))?;
        if uri.scheme_str() != Some("https") {
            return Err(failed("it does not begin with https"));
        }
        let host =
            uri.host().filter(|host| !host.is_empty()).ok_or_else(|| failed("it names no host"))?;
        let path = if uri.path() == "/" { WELL_KNOWN } else { uri.path() };
        let host = host.trim_matches(['[', ']']).to_owned();
        Ok(Self { host, port: uri.port_u16().unwrap_or(HTTPS), path: path.to_owned() })
    }

    /// The host and the port, as a request names them.
    pub(crate) fn authority(&self) -> String {
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == HTTPS { host } else { format!("{host}:{}", self.port) }
    }

    /// The first address of the host.
    pub(crate) fn resolve(&self) -> Result<SocketAddr, ResponsivenessError> {
        let failed = |source| ResponsivenessError::Name { host: self.host.clone(), source };
        let mut found = (self.host.as_str(), self.port).to_socket_addrs().map_err(failed)?;
        let none = || failed(std::io::Error::other("it has no address"));
        found.next().ok_or_else(none)
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "https://{}", self.authority())
    }
}

/// The three addresses of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Discovery {
    pub(crate) small: Uri,
    pub(crate) large: Uri,
    pub(crate) upload: Uri,
    /// Another host to connect to, whatever the addresses say.
    pub(crate) endpoint: Option<String>,
}

/// The description as it is sent. Deployed clients and servers use the longer names of earlier drafts.
#[derive(Debug, Serialize, Deserialize)]
struct Description {
    version: u32,
    urls: Urls,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    test_endpoint: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names of the draft")]
struct Urls {
    #[serde(default)]
    small_download_url: Option<String>,
    #[serde(default)]
    large_download_url: Option<String>,
    #[serde(default)]
    upload_url: Option<String>,
    #[serde(default)]
    small_https_download_url: Option<String>,
    #[serde(default)]
    large_https_download_url: Option<String>,
    #[serde(default)]
    https_upload_url: Option<String>,
}

/// Paths of this program's server.
pub(crate) const SMALL: &str = "/small";
pub(crate) const LARGE: &str = "/large";
pub(crate) const UPLOAD: &str = "/upload";

impl Discovery {
    /// Reads the description.
    ///
    /// # Errors
    /// What is wrong with it: the draft forbids to use any part of it then.
    pub(crate) fn parse(octets: &[u8]) -> Result<Self, String> {
        let said: Description = btu_contract::json::from_octets(octets)
            .map_err(|error| format!("answers {WELL_KNOWN} with no description ({error})"))?;
        if said.version != 1 {
            return Err(format!("describes itself by version {}, not 1", said.version));
        }
        let urls = said.urls;
        let read = |name: &str, url: Option<String>| -> Result<Uri, String> {
            let url = url.ok_or_else(|| format!("names no {name}"))?;
            let uri: Uri =
                url.parse().map_err(|_| format!("names a {name} that is not an address"))?;
            if uri.scheme_str() != Some("https") || uri.authority().is_none() {
                return Err(format!("names a {name} that does not begin with https"));
            }
            Ok(uri)
        };
        let small =
            read("small_download_url", urls.small_download_url.or(urls.small_https_download_url))?;
        let large =
            read("large_download_url", urls.large_download_url.or(urls.large_https_download_url))?;
        let upload = read("upload_url", urls.upload_url.or(urls.https_upload_url))?;
        if small.host() != large.host() || small.host() != upload.host() {
            return Err("names several hosts in its addresses".to_owned());
        }
        Ok(Self { small, large, upload, endpoint: said.test_endpoint })
    }

    /// What the server at this authority says of itself.
    pub(crate) fn of_server(authority: &str) -> Vec<u8> {
        let url = |path| Some(format!("https://{authority}{path}"));
        let urls = Urls {
            small_download_url: url(SMALL),
            large_download_url: url(LARGE),
            upload_url: url(UPLOAD),
            small_https_download_url: url(SMALL),
            large_https_download_url: url(LARGE),
            https_upload_url: url(UPLOAD),
        };
        let said = Description { version: 1, urls, test_endpoint: None };
        // A structure with text keys: it can be written.
        serde_json::to_string(&said).unwrap_or_default().into_bytes()
    }

    /// The host and port to connect to.
    pub(crate) fn target(&self, asked: &Target) -> Target {
        let host = self.endpoint.clone().or_else(|| self.small.host().map(str::to_owned));
        let host = host.unwrap_or_else(|| asked.host.clone());
        let host = host.trim_matches(['[', ']']).to_owned();
        Target { host, port: self.small.port_u16().unwrap_or(HTTPS), path: asked.path.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_or_an_https_url() {
        let read = |text| Target::read(text).map(|target| (target.host, target.port, target.path));
        let at = |host: &str, port, path: &str| (host.to_owned(), port, path.to_owned());
        assert_eq!(read("example.net").unwrap(), at("example.net", 443, WELL_KNOWN));
        assert_eq!(read("https://example.net:4043/").unwrap(), at("example.net", 4043, WELL_KNOWN));
        assert_eq!(
            read("https://[2001:db8::1]/config").unwrap(),
            at("2001:db8::1", 443, "/config")
        );
        for wrong in ["http://example.net", "https://", "a b", "ftp://x"] {
            assert!(Target::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_server_describes_itself_so_that_a_client_reads_it() {
        let said = Discovery::parse(&Discovery::of_server("example.net:4043")).unwrap();
        assert_eq!(said.small, "https://example.net:4043/small");
        assert_eq!(said.target(&Target::read("other").unwrap()).port, 4043);
        let old = br#"{"version":1,"test_endpoint":"edge.example.net","extra":[],"urls":{
            "small_https_download_url":"https://a.example/s","large_https_download_url":"https://a.example/l",
            "https_upload_url":"https://a.example/u"}}"#;
        let said = Discovery::parse(old).unwrap();
        assert_eq!(said.target(&Target::read("a.example").unwrap()).host, "edge.example.net");
    }

    #[test]
    fn a_wrong_description_is_refused_whole() {
        for wrong in [
            "",
            "[]",
            r#"{"version":2,"urls":{}}"#,
            r#"{"version":1,"urls":{}}"#,
            r#"{"version":1,"version":1,"urls":{}}"#,
            r#"{"version":1,"urls":{"small_download_url":"https://a/","large_download_url":"https://b/","upload_url":"https://a/"}}"#,
            r#"{"version":1,"urls":{"small_download_url":"http://a/","large_download_url":"https://a/","upload_url":"https://a/"}}"#,
        ] {
            assert!(Discovery::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_description_makes_it_panic(octets in proptest::collection::vec(0u8.., 0..256)) {
            drop(Discovery::parse(&octets));
        }
    }
}
