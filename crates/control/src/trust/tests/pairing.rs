//! Tests that a code admits exactly two sides.

use super::*;

fn both(agent: &Pairing, controller: &Pairing) -> Ends {
    let server = server_config(&agent.agent().unwrap(), None).unwrap();
    let client = client_config(&controller.controller().unwrap(), None).unwrap();
    shake(&client, &server, PAIRED)
}

#[test]
fn both_sides_derive_the_same_authority_and_meet() {
    let shown = Pairing::new().unwrap();
    let typed = Pairing::from_code(&shown.code().to_lowercase().replace('-', " ")).unwrap();
    assert_eq!(shown.agent().unwrap().authority, typed.controller().unwrap().authority);
    assert_ne!(
        shown.agent().unwrap().key.secret_pkcs8_der(),
        shown.agent().unwrap().key.secret_pkcs8_der()
    );
    assert!(both(&shown, &typed).met());
}

#[test]
fn another_code_is_refused_in_the_handshake() {
    let ends = both(&Pairing::new().unwrap(), &Pairing::new().unwrap());
    assert!(!ends.met());
    assert!(explained(&ends).contains("is of another authority, or the pairing code is another"));
}

#[test]
fn the_first_controller_is_the_only_one() {
    let shown = Pairing::new().unwrap();
    let server = server_config(&shown.agent().unwrap(), None).unwrap();
    let config = || {
        let typed = Pairing::from_code(&shown.code()).unwrap();
        client_config(&typed.controller().unwrap(), None).unwrap()
    };
    let (first, second) = (config(), config());
    assert!(shake(&first, &server, PAIRED).met());
    let ends = shake(&second, &server, PAIRED);
    assert!(explained(&ends).contains("the pairing code was used already"), "{:?}", ends.client);
    assert!(shake(&first, &server, PAIRED).met());
}

#[test]
fn a_controller_keeps_to_its_first_agent() {
    let shown = Pairing::new().unwrap();
    let client =
        client_config(&Pairing::from_code(&shown.code()).unwrap().controller().unwrap(), None)
            .unwrap();
    assert!(shake(&client, &server_config(&shown.agent().unwrap(), None).unwrap(), PAIRED).met());
    let other = Pairing::from_code(&shown.code()).unwrap();
    let ends = shake(&client, &server_config(&other.agent().unwrap(), None).unwrap(), PAIRED);
    assert!(explained(&ends).contains("is not that of the agent this code was first used with"));
}

#[test]
fn an_unused_code_lapses() {
    let shown = Pairing::lapsed();
    let ends = both(&shown, &Pairing::from_code(&shown.code()).unwrap());
    assert!(explained(&ends).contains("the pairing code has"), "{:?}", ends.client);
}

#[test]
fn a_code_never_shows() {
    let pairing = Pairing::new().unwrap();
    assert_eq!(format!("{pairing:?}"), "Pairing { .. }");
    let identity = format!("{:?}", pairing.agent().unwrap());
    assert!(identity.ends_with(", .. }") && !identity.contains("bits"), "{identity}");
}
