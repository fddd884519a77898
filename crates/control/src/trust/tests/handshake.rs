//! Tests of handshakes that succeed.

use super::*;

#[test]
fn one_authority_lets_its_own_in_by_name() {
    let mut authority = TestAuthority::new();
    let (agent, controller) =
        (authority.identity("alpha", Role::Agent), authority.identity("desk", Role::Controller));
    let server = server_config(&agent, None).unwrap();
    let client = client_config(&controller, None).unwrap();
    let ends = shake(&client, &server, "alpha");
    assert!(ends.met(), "{:?} {:?}", ends.client, ends.server);
    let peer = ends.server.unwrap();
    assert_eq!((peer.name.as_str(), &peer.serial), ("desk", &controller.card().serial));
}

#[test]
fn an_empty_list_and_a_list_of_others_let_in() {
    let mut authority = TestAuthority::new();
    let (agent, controller) =
        (authority.identity("alpha", Role::Agent), authority.identity("desk", Role::Controller));
    authority.identity("lost", Role::Controller);
    let empty = Revocations::load(&authority.authority.list_path()).unwrap();
    let others = authority.revoke("lost");
    assert_eq!((empty.number(), others.number()), (1, 2));
    assert_eq!(empty.clone().newer(others.clone()).number(), 2);
    assert_eq!(others.clone().newer(empty.clone()).number(), 2);
    for list in [empty, others] {
        let server = server_config(&agent, Some(&list)).unwrap();
        let client = client_config(&controller, Some(&list)).unwrap();
        assert!(shake(&client, &server, "alpha").met());
    }
}

#[test]
fn an_identity_from_its_file_is_as_good() {
    let mut authority = TestAuthority::new();
    let path = authority.directory.path().join("alpha.pem");
    let made = authority.authority.issue("alpha", Role::Agent, 30, &path).unwrap();
    let read = Identity::load(&path).unwrap();
    assert_eq!(read.card(), made.card());
    assert_eq!(read.authority(), authority.authority.name());
    let controller = authority.identity("desk", Role::Controller);
    let (server, client) =
        (server_config(&read, None).unwrap(), client_config(&controller, None).unwrap());
    assert!(shake(&client, &server, "alpha").met());
}
