//! Tests of files, names and error texts.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

fn issued(authority: &mut TestAuthority) -> (PathBuf, String) {
    let path = authority.directory.path().join("alpha.pem");
    authority.authority.issue("alpha", Role::Agent, 30, &path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

fn error_of(path: &Path, text: &str) -> String {
    std::fs::write(path, text).unwrap();
    Identity::load(path).unwrap_err().to_string()
}

#[test]
fn files_of_keys_are_private_and_never_overwritten() {
    let mut authority = TestAuthority::new();
    let (path, text) = issued(&mut authority);
    for private in [
        &path,
        &authority.directory.path().join("authority.key"),
        &authority.directory.path().join("issued.json"),
    ] {
        assert_eq!(
            std::fs::metadata(private).unwrap().permissions().mode() & 0o777,
            0o600,
            "{}",
            private.display()
        );
    }
    let again = authority.authority.issue("alpha", Role::Agent, 30, &path).unwrap_err().to_string();
    assert!(again.contains("exists already"), "{again}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    assert_eq!(authority.authority.issued().len(), 1);
    drop(authority.authority);
    let again = Authority::create(authority.directory.path()).unwrap_err().to_string();
    assert!(again.contains("authority.key exists already"), "{again}");
}

#[test]
fn a_file_that_others_can_read_is_refused() {
    let mut authority = TestAuthority::new();
    let (path, _) = issued(&mut authority);
    for mode in [0o640, 0o604, 0o620, 0o666] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let error = Identity::load(&path).unwrap_err().to_string();
        assert!(
            error.contains(&format!("(mode {mode:04o})")) && error.contains("chmod 600"),
            "{error}"
        );
    }
}

#[test]
fn a_lapsed_identity_says_since_when() {
    let mut authority = TestAuthority::new();
    let lapsed = authority.lapsed("alpha", Role::Agent);
    let path = authority.directory.path().join("alpha.pem");
    files::fill(files::create(&path, files::PRIVATE).unwrap(), &path, &lapsed.to_pem()).unwrap();
    let error = Identity::load(&path).unwrap_err().to_string();
    assert!(error.starts_with("the certificate of agent alpha lapsed on 20"), "{error}");
    assert!(Identity::load_lapsed(&path).is_ok());
}

#[test]
fn damaged_files_are_named_and_keys_never() {
    let mut authority = TestAuthority::new();
    let (path, text) = issued(&mut authority);
    let key = text.split("PRIVATE KEY-----").nth(1).unwrap().replace(['\n', '-'], "");
    let key = key.trim_end_matches("END ");
    assert!(key.len() > 40);
    let other = authority.identity("beta", Role::Agent).to_pem();
    let swapped = text.replace(
        key,
        other.split("PRIVATE KEY-----").nth(1).unwrap().trim_end_matches("-----END ").trim(),
    );
    let begin = "PRIVATE KEY-----\n";
    let (head, rest) = text.split_once(begin).unwrap();
    let whole = text.len();
    let cases = [
        String::new(),
        "garbage".to_owned(),
        text[..whole / 3].to_owned(),
        text[..whole - 40].to_owned(),
    ];
    for damaged in cases.into_iter().chain([
        text.clone() + &text,
        swapped,
        // The first octets of the key, which say what follows; these letters may be elsewhere by
        // chance.
        format!("{head}{begin}AAA{}", &rest[3..]),
        text.replacen("MII", "MIJ", 1),
    ]) {
        if damaged == text {
            continue;
        }
        let error = error_of(&path, &damaged);
        assert!(error.contains("alpha.pem is not an identity"), "{error}");
        assert!(!error.contains(&key[20..40]), "{error}");
    }
    let debug =
        format!("{:?} {:?}", Identity::parse("it", text.as_bytes()).unwrap(), authority.authority);
    assert!(!debug.contains(&key[20..40]) && debug.contains("alpha"), "{debug}");
}

#[test]
fn names_are_those_of_hosts() {
    for good in ["alpha", "host-1", "host.lab.example", "7", &"a".repeat(63)] {
        assert!(server_name(good).is_ok(), "{good}");
    }
    let long = "a".repeat(64);
    for bad in [
        "",
        ".",
        "a.",
        ".a",
        "A",
        "a b",
        "a_b",
        "-a",
        "a-",
        "é",
        "*",
        "a..b",
        "a/b",
        &long,
        &"a.".repeat(150),
    ] {
        assert!(check_name(bad).is_err(), "{bad}");
    }
}

#[test]
fn revoking_takes_what_was_named() {
    let mut authority = TestAuthority::new();
    let (first, second) =
        (authority.identity("alpha", Role::Agent), authority.identity("alpha", Role::Agent));
    authority.identity("alpha", Role::Controller);
    let one =
        Choice { name: "alpha".into(), role: None, serial: Some(first.card().serial.clone()) };
    assert_eq!(authority.authority.revoke(&one).unwrap().len(), 1);
    assert!(
        authority
            .authority
            .revoke(&one)
            .unwrap_err()
            .to_string()
            .contains("has issued no certificate of alpha")
    );
    let list = Revocations::load(&authority.authority.list_path()).unwrap();
    assert_eq!(list.serials(), [first.card().serial.clone()]);
    let agents = Choice { name: "alpha".into(), role: Some(Role::Agent), serial: None };
    assert_eq!(authority.authority.revoke(&agents).unwrap()[0].card.serial, second.card().serial);
    assert_eq!(Authority::list(authority.directory.path()).unwrap(), authority.authority.issued());
    drop(authority.authority);
    let reopened = Authority::open(authority.directory.path()).unwrap();
    assert_eq!((reopened.list_number(), reopened.issued().len()), (3, 3));
}

#[test]
fn a_place_without_an_authority_says_how_to_make_one() {
    let empty = tempfile::tempdir().unwrap();
    for error in
        [Authority::open(empty.path()).unwrap_err(), Authority::list(empty.path()).unwrap_err()]
    {
        assert!(error.to_string().contains("btu hosts keys init"), "{error}");
    }
}

proptest! {
    #[test]
    fn garbage_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(Identity::parse("it", &bytes).is_err());
        prop_assert!(Revocations::parse("it", &bytes).is_err());
        prop_assert!(Card::read(&bytes).is_err());
    }

    #[test]
    fn a_flipped_bit_in_what_the_authority_signed_is_refused(at in 0_usize..10_000, bit in 0..8_u8) {
        let identity = Pairing::from_code(CODE).unwrap().agent().unwrap();
        let mut der = identity.certificate.to_vec();
        // The signed part follows the outer sequence's header of four octets.
        let at = 4 + at % card::parse(&der).unwrap().tbs_certificate.as_ref().len();
        der[at] ^= 1 << bit;
        prop_assert!(Identity::assemble(der.into(), identity.key.clone_key(), identity.authority.clone()).is_err());
    }
}

/// A pairing code for tests.
const CODE: &str = "0000-0000-0000-0000-00000";

#[test]
fn the_last_three_days_are_told() {
    let mut authority = TestAuthority::new();
    let now = now_unix_s();
    let mut with = |left_s: i64| {
        let validity = Validity { from_unix_s: now - DAY_S, to_unix_s: now + left_s };
        authority
            .authority
            .sign("alpha", Role::Agent, validity)
            .unwrap()
            .card()
            .warning()
            .unwrap_or_default()
    };
    for (left_s, when) in [
        (-3600, "has lapsed"),
        (3600, "within a day"),
        (DAY_S + 3600, "in a day"),
        (3 * DAY_S - 60, "in 2 days"),
    ] {
        assert!(with(left_s).contains(when), "{left_s}: {}", with(left_s));
    }
    assert_eq!(with(3 * DAY_S + 60), "");
}
