//! `btu hosts keys`, as a user without any key runs it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A user's home, with nothing in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn btu(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
        command.args(line.split_whitespace()).current_dir(self.0.path()).env("HOME", self.0.path());
        command.env_remove("XDG_CONFIG_HOME").env_remove("BTU_KEYS").output().expect("btu runs")
    }

    /// The output of a command that succeeds.
    fn says(&self, line: &str) -> String {
        let output = self.btu(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, line: &str) -> serde_json::Value {
        serde_json::from_str(&self.says(&format!("{line} --json"))).expect("JSON")
    }

    /// The code and the one line of a command that is refused.
    fn refuses(&self, line: &str) -> (Option<i32>, String) {
        let output = self.btu(line);
        assert!(output.stdout.is_empty(), "{line}");
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn from_nothing_to_a_revoked_key() {
    let home = Home::new();
    assert!(home.says("keys init").contains("btu hosts keys issue desk --role controller"));
    assert_eq!(mode(&home.path(".config/btu/keys")), 0o700);
    assert_eq!(mode(&home.path(".config/btu/keys/authority.key")), 0o600);
    let said = home.says("keys issue alpha --role agent");
    assert!(
        said.contains("scp -p alpha.agent.pem alpha:btu.pem")
            && said.contains("btu hosts agent --identity"),
        "{said}"
    );
    assert_eq!(mode(&home.path("alpha.agent.pem")), 0o600);
    let shown = home.says("keys show alpha.agent.pem");
    assert!(shown.contains("name           alpha") && shown.contains("btu authority "), "{shown}");
    assert!(!shown.contains("PRIVATE"), "{shown}");
    let said = home.says("keys issue desk --role controller --out desk.pem");
    assert!(said.contains("btu hosts check FILE --identity desk.pem "), "{said}");
    let listed = home.says("keys list");
    // Whole days are left: a second after the key was issued, one less.
    let days_left = ["valid, 30 days left", "valid, 29 days left"];
    assert!(days_left.iter().any(|left| listed.contains(left)), "{listed}");
    assert!(listed.contains("alpha  agent"), "{listed}");
    assert!(home.says("keys revoke alpha").contains("scp "));
    assert!(home.says("keys list").contains("revoked on 20"));
}

/// As systemd 254 and newer show an identity to a service with a user of its own.
#[test]
fn a_credential_of_systemd_may_have_its_access_control_list() {
    let home = Home::new();
    home.says("keys init");
    home.says("keys issue alpha --role agent");
    let file = home.path("alpha.agent.pem");
    let show = |mode, credentials: Option<&Path>| {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
        command
            .args(["keys", "show"])
            .arg(&file)
            .env("HOME", home.0.path())
            .env_remove("CREDENTIALS_DIRECTORY");
        command.envs(credentials.map(|directory| ("CREDENTIALS_DIRECTORY", directory)));
        command.output().unwrap().status.code()
    };
    let here = Some(home.0.path());
    assert_eq!(show(0o440, here), Some(0));
    for mode in [0o444, 0o460, 0o441] {
        assert_eq!(show(mode, here), Some(3), "{mode:o}");
    }
    let elsewhere = [None, Some(Path::new("")), here.and_then(Path::parent)];
    assert!(elsewhere.iter().all(|credentials| show(0o440, *credentials) == Some(3)));
}

#[test]
fn everything_is_json_too() {
    let home = Home::new();
    let made = home.json("keys init --keys here");
    assert!(made["authority"].as_str().unwrap().starts_with("btu authority "));
    let issued = home.json("keys issue alpha --role agent --days 2 --keys here");
    assert_eq!((issued["name"].as_str(), issued["role"].as_str()), (Some("alpha"), Some("agent")));
    let file = issued["file"].as_str().unwrap();
    let shown = home.json(&format!("keys show {file}"));
    assert_eq!(shown["serial"], issued["serial"]);
    // Two days, a moment ago: two whole days are left in the same second, and one after it.
    assert!((1..=2).contains(&shown["days_left"].as_i64().unwrap()), "{shown}");
    assert_eq!(shown["authority"], made["authority"]);
    let revoked = home.json("keys revoke alpha --keys here");
    assert_eq!(revoked["list_number"], 2);
    assert_eq!(revoked["revoked"][0]["serial"], issued["serial"]);
    assert!(home.json("keys list --keys here")[0]["revoked_at_unix_s"].is_i64());
}

#[test]
fn a_key_that_lapses_soon_is_pointed_out() {
    let home = Home::new();
    home.says("keys init");
    home.says("keys issue alpha --role agent --days 2");
    let listed = home.says("keys list");
    assert!(listed.contains("lapses in ") && listed.contains(": issue a new one"), "{listed}");
    let shown = home.btu("keys show alpha.agent.pem");
    let warning = String::from_utf8(shown.stderr).unwrap();
    assert!(shown.status.success() && warning.contains("alpha lapses in "), "{warning}");
    let again = home.says("keys issue alpha --role agent --out new.pem");
    assert!(again.contains("An older one is still valid") && again.contains("--serial"), "{again}");
}

#[test]
fn nothing_is_overwritten_and_refusals_say_what_to_do() {
    let home = Home::new();
    let (code, line) = home.refuses("keys issue alpha --role agent");
    assert!(
        code == Some(2) && line.contains("make one with `btu hosts keys init`"),
        "{code:?} {line}"
    );
    home.says("keys init");
    home.says("keys issue alpha --role agent");
    std::fs::write(home.path("garbage.pem"), "garbage").unwrap();
    std::fs::set_permissions(home.path("garbage.pem"), std::fs::Permissions::from_mode(0o600))
        .unwrap();
    let cases = [
        ("keys init", 2, "authority.key exists already and is not overwritten"),
        (
            "keys issue alpha --role agent",
            2,
            "alpha.agent.pem exists already and is not overwritten",
        ),
        ("keys issue Alpha --role agent", 2, "lower-case letters"),
        ("keys issue beta --role king", 2, "possible values: agent, controller"),
        ("keys issue beta --role agent --out no/such/place.pem", 3, "writing no/such/place.pem"),
        ("keys revoke beta", 2, "has issued no certificate of beta"),
        ("keys show nowhere.pem", 3, "reading nowhere.pem"),
        ("keys show garbage.pem", 2, "garbage.pem is not an identity"),
        ("keys list --keys elsewhere", 2, "there is no authority in elsewhere"),
    ];
    for (line, code, expected) in cases {
        let (found, said) = home.refuses(line);
        assert!(found == Some(code) && said.contains(expected), "{line}: {found:?} {said}");
    }
    assert_eq!(
        home.json("keys list").as_array().unwrap().len(),
        1,
        "what was refused is not on record"
    );
    std::fs::set_permissions(home.path("alpha.agent.pem"), std::fs::Permissions::from_mode(0o644))
        .unwrap();
    let (code, said) = home.refuses("keys show alpha.agent.pem");
    assert!(code == Some(3) && said.contains("chmod 600 alpha.agent.pem"), "{code:?} {said}");
}
