//! The private authority: a directory with a key that signs.

use std::fs::File;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use rcgen::KeyPair;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use super::identity::authority_name;
use super::issue::{Signer, Validity, new_key, now_unix_s};
use super::ledger::Ledger;
use super::{Identity, Issued, Revocations, Role, TrustError, check_name, files};

pub use super::ledger::Choice;

const CERTIFICATE: &str = "authority.pem";
const KEY: &str = "authority.key";
const ISSUED: &str = "issued.json";
const LIST: &str = "revoked.crl";
const LOCK: &str = "lock";

/// An authority lasts ten years; its identities are short-lived.
const AUTHORITY_DAYS: u32 = 3653;

/// An authority; this process has locked its directory.
pub struct Authority {
    directory: PathBuf,
    signer: Signer,
    ledger: Ledger,
    _lock: Flock<File>,
}

impl Authority {
    /// Makes a new authority in `directory`, which is made too; an existing one is never changed.
    pub fn create(directory: &Path) -> Result<Self, TrustError> {
        files::directory(directory)?;
        let lock = lock(directory)?;
        let key = new_key()?;
        let key_path = directory.join(KEY);
        files::fill(files::create(&key_path, files::PRIVATE)?, &key_path, &key.serialize_pem())?;
        let signer = Signer::new(key, Validity::days(AUTHORITY_DAYS))?;
        files::replace(
            &directory.join(CERTIFICATE),
            files::PUBLIC,
            &files::pem("CERTIFICATE", &signer.certificate),
        )?;
        let mut authority =
            Self { directory: directory.to_owned(), signer, ledger: Ledger::new(), _lock: lock };
        authority.publish()?;
        Ok(authority)
    }

    /// Opens the authority in `directory`, waiting for another process that has it open.
    pub fn open(directory: &Path) -> Result<Self, TrustError> {
        if !directory.join(KEY).exists() {
            return Err(TrustError::NoAuthority { path: directory.to_owned() });
        }
        let lock = lock(directory)?;
        let (certificate, key) = (read_certificate(directory)?, read_key(directory)?);
        let signer = Signer::read(certificate, key)?;
        let ledger = read_ledger(directory)?;
        Ok(Self { directory: directory.to_owned(), signer, ledger, _lock: lock })
    }

    /// The certificates that the authority in `directory` has issued, without opening its key.
    pub fn list(directory: &Path) -> Result<Vec<Issued>, TrustError> {
        if !directory.join(ISSUED).exists() {
            return Err(TrustError::NoAuthority { path: directory.to_owned() });
        }
        Ok(read_ledger(directory)?.issued)
    }

    /// The authority's name, from its key.
    pub fn name(&self) -> String {
        authority_name(&self.signer.certificate)
    }

    /// The path of its list of revoked certificates.
    pub fn list_path(&self) -> PathBuf {
        self.directory.join(LIST)
    }

    /// The number of its newest list of revoked certificates.
    pub fn list_number(&self) -> u64 {
        self.ledger.list_number
    }

    /// The certificates that it has issued.
    pub fn issued(&self) -> &[Issued] {
        &self.ledger.issued
    }

    /// Issues an identity, valid for `days`, into the file `out`, which must not exist. It is
    /// recorded before it exists, because an unrecorded certificate could not be revoked.
    pub fn issue(
        &mut self,
        name: &str,
        role: Role,
        days: u32,
        out: &Path,
    ) -> Result<Identity, TrustError> {
        check_name(name)?;
        let file = files::create(out, files::PRIVATE)?;
        let identity = self.sign(name, role, Validity::days(days)).and_then(|identity| {
            files::fill(file, out, &identity.to_pem())?;
            Ok(identity)
        });
        if identity.is_err() {
            let _ = std::fs::remove_file(out);
        }
        identity
    }

    pub(super) fn sign(
        &mut self,
        name: &str,
        role: Role,
        validity: Validity,
    ) -> Result<Identity, TrustError> {
        let identity = self.signer.issue(name, role, validity)?;
        self.ledger.issued.push(Issued { card: identity.card().clone(), revoked_at_unix_s: None });
        self.save()?;
        Ok(identity)
    }

    /// Revokes the certificates that `choice` names, signs a new list, and returns them.
    pub fn revoke(&mut self, choice: &Choice) -> Result<Vec<Issued>, TrustError> {
        let revoked = self.ledger.revoke(choice, now_unix_s());
        if revoked.is_empty() {
            return Err(TrustError::Unknown {
                path: self.directory.clone(),
                what: choice.to_string(),
            });
        }
        self.publish()?;
        Ok(revoked)
    }

    /// Signs the next list, then records its number.
    fn publish(&mut self) -> Result<(), TrustError> {
        self.ledger.list_number += 1;
        let list = Revocations::sign(&self.signer, self.ledger.list_number, &self.ledger.issued)?;
        self.save()?;
        files::replace(&self.list_path(), files::PUBLIC, &list.to_pem())
    }

    fn save(&self) -> Result<(), TrustError> {
        files::replace(&self.directory.join(ISSUED), files::PRIVATE, &self.ledger.to_text())
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("directory", &self.directory).finish_non_exhaustive()
    }
}

fn lock(directory: &Path) -> Result<Flock<File>, TrustError> {
    let path = directory.join(LOCK);
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(files::writing(&path))?;
    Flock::lock(file, FlockArg::LockExclusive)
        .map_err(|(_, error)| files::writing(&path)(error.into()))
}

fn read_certificate(directory: &Path) -> Result<CertificateDer<'static>, TrustError> {
    let path = directory.join(CERTIFICATE);
    let text = files::read_public(&path)?;
    CertificateDer::from_pem_slice(text.as_bytes())
        .map_err(|error| malformed(&path, "an authority", &error))
}

fn read_key(directory: &Path) -> Result<KeyPair, TrustError> {
    let path = directory.join(KEY);
    let text = files::read_private(&path)?;
    // The libraries' errors are left out: they must not be able to reveal the key.
    let damaged = || malformed(&path, "an authority's key", &"it is damaged");
    let der = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).map_err(|_| damaged())?;
    KeyPair::try_from(&der).map_err(|_| damaged())
}

fn read_ledger(directory: &Path) -> Result<Ledger, TrustError> {
    let path = directory.join(ISSUED);
    Ledger::parse(&files::read_own(&path)?)
        .map_err(|why| malformed(&path, "an authority's record", &why))
}

fn malformed(path: &Path, expected: &'static str, why: &dyn std::fmt::Display) -> TrustError {
    TrustError::Malformed { what: path.display().to_string(), expected, why: why.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_record_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let mut authority = Authority::create(directory.path()).unwrap();
        authority.issue("alpha", Role::Agent, 1, &directory.path().join("alpha.pem")).unwrap();
        let alpha = authority.issued()[0].clone();
        authority.ledger.issued = vec![alpha; 10_000];
        authority.save().unwrap();
        drop(authority);
        let record = directory.path().join(ISSUED).metadata().unwrap().len();
        assert!(record > files::MOST_BYTES, "{record} bytes");
        assert_eq!(Authority::list(directory.path()).unwrap().len(), 10_000);
        assert_eq!(Authority::open(directory.path()).unwrap().issued().len(), 10_000);
    }
}
