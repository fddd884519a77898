//! Turns the alert that ends a handshake into a sentence with advice.
//!
//! With TLS 1.3 a client has finished its handshake before the server has checked its certificate
//! (RFC 8446 section 4.4.2.4), so a refusal arrives in the place of the agent's greeting.

use std::error::Error;

use rustls::{AlertDescription, CertificateError};

/// The sentence about trust for a failed call to `host`, if trust failed: the side that refused,
/// the reason, and the advice.
pub fn explain(host: &str, error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = of(host, error) {
            return Some(found);
        }
        next = source(error);
    }
    None
}

fn of(host: &str, error: &(dyn Error + 'static)) -> Option<String> {
    match error.downcast_ref::<rustls::Error>() {
        Some(rustls::Error::AlertReceived(alert)) => Some(refused_us(host, *alert)),
        Some(rustls::Error::InvalidCertificate(why)) => Some(we_refuse(host, why)),
        Some(rustls::Error::InvalidMessage(_)) => Some(no_tls(host)),
        Some(other) => Some(format!("the connection to {host} cannot be trusted: {other}")),
        None => None,
    }
}

/// An I/O error's source is that of the error inside it; this is the error inside it.
fn source<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let inside = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    inside.map(|inside| inside as &(dyn Error + 'static)).or_else(|| error.source())
}

fn refused_us(host: &str, alert: AlertDescription) -> String {
    let why = match alert {
        AlertDescription::CertificateExpired => {
            "it has lapsed, which it does after two days, or the host's clock is wrong: start the job again"
        }
        AlertDescription::CertificateRequired => {
            "none was shown: name the job's one with --identity"
        }
        AlertDescription::UnknownCA | AlertDescription::DecryptError => {
            "it is of another job than the host's agent"
        }
        AlertDescription::UnsupportedCertificate => {
            "it is an agent's: name the controller's with --identity"
        }
        AlertDescription::ProtocolVersion => {
            return format!("{host} speaks TLS 1.3 and nothing older: use the same btu on both");
        }
        other => {
            return format!(
                "{host} refused this controller's certificate ({other:?}): start the job again"
            );
        }
    };
    format!("{host} refused this controller's certificate: {why}")
}

fn we_refuse(host: &str, why: &CertificateError) -> String {
    let why = match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "has lapsed, which it does after two days, or this machine's clock is wrong: start the job again"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet: this machine's clock is behind"
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => "is of another job",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is that of another agent: is the address right?"
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "is not an agent's"
        }
        other => return format!("the certificate that {host} shows is refused: {other}"),
    };
    format!("the certificate that {host} shows {why}")
}

fn no_tls(host: &str) -> String {
    format!("what answers at {host} does not speak TLS: is it an agent, and the port right?")
}
