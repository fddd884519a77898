//! `PostgreSQL` by TLS, with certificates of an authority that no system knows.

use std::net::TcpListener;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use crate::databases::{Postgres, Stored};
use crate::support::{Made, Publisher, publish};

/// An authority: its certificate, and what it signs with.
fn authority(name: &str) -> (String, Issuer<'static, KeyPair>) {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate").pem();
    (certificate, Issuer::new(params, key))
}

#[test]
fn a_database_elsewhere_proves_its_name_or_is_refused() {
    let Some(postgres) = Postgres::start() else { return };
    let Stored::Postgres(local) = postgres.database() else { unreachable!() };
    let name = local.rsplit('=').next().expect("the name of the database");
    let (own, issuer) = authority("known");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(["db.example.org".to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &issuer).expect("a certificate").pem();
    let certificate = postgres.file("server.crt", &certificate).display().to_string();
    let key = postgres.file("server.key", &key.serialize_pem()).display().to_string();
    let file = |name: &str, text: &str| {
        let path = std::env::temp_dir().join(format!("board-{}-{name}", std::process::id()));
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let (known, unknown) = (file("known.pem", &own), file("unknown.pem", &authority("unknown").0));
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one").port();
    let on = |settings: &str| {
        postgres.down();
        postgres.up_with(&format!("-c listen_addresses=127.0.0.1 -c port={port} {settings}"));
    };
    let at = |host: &str, rest: &str| {
        Stored::Postgres(format!(
            "host={host} hostaddr=127.0.0.1 port={port} user=board dbname={name} {rest}"
        ))
    };
    on(&format!("-c ssl=on -c ssl_cert_file={certificate} -c ssl_key_file={key}"));
    let stored = at("db.example.org", &format!("sslrootcert={known}"));
    publish(&Made::of(100.0), &Publisher::new("Ada"), &stored.server());
    let refused = |host: &str, rest: &str| at(host, rest).command(&["check"]).expect_err("refused");
    let said = refused("db.example.org", &format!("sslrootcert={unknown}"));
    assert!(said.contains("name the file of one by sslrootcert"), "{said}");
    let said = refused("other.example.org", &format!("sslmode=require sslrootcert={known}"));
    assert!(said.contains("its certificate is of another name"), "{said}");
    on("-c ssl=off");
    let said = refused("db.example.org", &format!("sslrootcert={known}"));
    assert!(said.contains("switch TLS on there"), "{said}");
    assert!(at("db.example.org", "sslmode=disable").command(&["check"]).is_ok());
    for file in [known, unknown] {
        std::fs::remove_file(file).expect("removed");
    }
}
