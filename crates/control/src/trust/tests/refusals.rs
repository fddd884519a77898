//! Tests of handshakes that fail, and of the errors at both sides.

use rustls::{AlertDescription, CertificateError, Error, RootCertStore};

use super::*;

/// A authority with an agent, and its end of a connection.
fn agent() -> (TestAuthority, Arc<ServerConfig>) {
    let mut authority = TestAuthority::new();
    let agent = authority.identity("alpha", Role::Agent);
    (authority, server_config(&agent, None).unwrap())
}

fn alert(ends: &Ends) -> AlertDescription {
    match &ends.client {
        Err(Error::AlertReceived(alert)) => *alert,
        other => panic!("no alert: {other:?}"),
    }
}

#[test]
fn a_revoked_controller() {
    let mut authority = TestAuthority::new();
    let (agent, controller) =
        (authority.identity("alpha", Role::Agent), authority.identity("desk", Role::Controller));
    let list = authority.revoke("desk");
    let server = server_config(&agent, Some(&list)).unwrap();
    let ends = shake(&client_config(&controller, None).unwrap(), &server, "alpha");
    assert_eq!(ends.server, Err(Error::InvalidCertificate(CertificateError::Revoked)));
    assert_eq!(alert(&ends), AlertDescription::CertificateRevoked);
    assert!(
        explained(&ends).starts_with("hostb refused this controller's certificate: it is revoked")
    );
}

#[test]
fn a_revoked_agent() {
    let mut authority = TestAuthority::new();
    let (agent, controller) =
        (authority.identity("alpha", Role::Agent), authority.identity("desk", Role::Controller));
    let list = authority.revoke("alpha");
    let client = client_config(&controller, Some(&list)).unwrap();
    let ends = shake(&client, &server_config(&agent, None).unwrap(), "alpha");
    assert!(explained(&ends).contains("the certificate that hostb shows is revoked"));
}

#[test]
fn a_lapsed_controller() {
    let (mut authority, server) = agent();
    let lapsed = authority.lapsed("desk", Role::Controller);
    let ends = shake(&client_config(&lapsed, None).unwrap(), &server, "alpha");
    assert_eq!(alert(&ends), AlertDescription::CertificateExpired);
    assert!(explained(&ends).contains("it has lapsed"));
}

#[test]
fn a_lapsed_agent() {
    let mut authority = TestAuthority::new();
    let (agent, controller) =
        (authority.lapsed("alpha", Role::Agent), authority.identity("desk", Role::Controller));
    let ends = shake(
        &client_config(&controller, None).unwrap(),
        &server_config(&agent, None).unwrap(),
        "alpha",
    );
    assert!(explained(&ends).contains("the certificate that hostb shows has lapsed"));
}

#[test]
fn a_controller_of_another_authority() {
    let (authority, server) = agent();
    let mut other = TestAuthority::new();
    assert_ne!(authority.authority.name(), other.authority.name());
    // It accepts any agent, so that the test sees the agent's own decision.
    let foreign = other.identity("desk", Role::Controller);
    let mut forged = copy(&foreign);
    forged.authority = own_authority(&authority);
    let ends = shake(&client_config(&forged, None).unwrap(), &server, "alpha");
    assert_eq!(alert(&ends), AlertDescription::UnknownCA);
    assert!(explained(&ends).contains("of another authority"));
}

#[test]
fn an_agent_of_another_authority() {
    let (_authority, server) = agent();
    let foreign = TestAuthority::new().identity("desk", Role::Controller);
    let ends = shake(&client_config(&foreign, None).unwrap(), &server, "alpha");
    assert_eq!(ends.client, Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)));
    assert!(explained(&ends).contains("is of another authority"));
}

#[test]
fn no_certificate() {
    let (authority, server) = agent();
    let mut roots = RootCertStore::empty();
    roots.add(own_authority(&authority)).unwrap();
    let client =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
    let ends = shake(&Arc::new(client), &server, "alpha");
    assert_eq!(alert(&ends), AlertDescription::CertificateRequired);
    assert!(explained(&ends).contains("none was shown"));
}

#[test]
fn an_agent_in_a_controllers_place_and_the_other_way_round() {
    let mut authority = TestAuthority::new();
    let (agent, controller) =
        (authority.identity("alpha", Role::Agent), authority.identity("desk", Role::Controller));
    assert!(
        client_config(&agent, None).unwrap_err().to_string().contains("a controller is needed")
    );
    assert!(
        server_config(&controller, None).unwrap_err().to_string().contains("an agent is needed")
    );
    // The other side refuses one that ignores this.
    let server = server_config(&agent, None).unwrap();
    let mut client = (*client_config(&controller, None).unwrap()).clone();
    client.client_auth_cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(key(&agent)));
    let ends = shake(&Arc::new(client), &server, "alpha");
    assert_eq!(alert(&ends), AlertDescription::UnsupportedCertificate);
    assert!(explained(&ends).contains("it is not a controller's"));
    let mut server = (*server).clone();
    server.cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(key(&controller)));
    let ends = shake(&client_config(&controller, None).unwrap(), &Arc::new(server), "alpha");
    assert!(ends.client.is_err() && !ends.met());
}

#[test]
fn an_agent_of_another_name() {
    let (mut authority, server) = agent();
    let controller = authority.identity("desk", Role::Controller);
    let ends = shake(&client_config(&controller, None).unwrap(), &server, "beta");
    assert!(explained(&ends).contains("is that of another agent"));
}

#[test]
fn a_list_of_another_authority() {
    let mut authority = TestAuthority::new();
    let agent = authority.identity("alpha", Role::Agent);
    let foreign = Revocations::load(&TestAuthority::new().authority.list_path()).unwrap();
    let error = server_config(&agent, Some(&foreign)).unwrap_err().to_string();
    assert!(error.contains("not signed by the authority of alpha"), "{error}");
}

#[test]
fn a_list_that_was_changed() {
    let mut authority = TestAuthority::new();
    let agent = authority.identity("alpha", Role::Agent);
    let mut list = Revocations::load(&authority.authority.list_path()).unwrap();
    let mut der = list.der.to_vec();
    // The signature's last byte.
    *der.last_mut().unwrap() ^= 1;
    list.der = der.into();
    assert!(server_config(&agent, Some(&list)).is_err());
}

fn key(identity: &Identity) -> rustls::sign::CertifiedKey {
    let provider = rustls::crypto::ring::default_provider();
    let der = rustls::pki_types::PrivateKeyDer::Pkcs8(identity.key.clone_key());
    rustls::sign::CertifiedKey::from_der(vec![identity.certificate.clone()], der, &provider)
        .unwrap()
}

fn copy(identity: &Identity) -> Identity {
    Identity::assemble(
        identity.certificate.clone(),
        identity.key.clone_key(),
        identity.authority.clone(),
    )
    .unwrap()
}

fn own_authority(authority: &TestAuthority) -> rustls::pki_types::CertificateDer<'static> {
    use rustls::pki_types::pem::PemObject;
    rustls::pki_types::CertificateDer::from_pem_file(
        authority.directory.path().join("authority.pem"),
    )
    .unwrap()
}
