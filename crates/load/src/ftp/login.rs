//! The login of the embedded server: one user with one password, and limits for attempts and time.

use std::fmt;
use std::future::pending;
use std::time::Duration;

use async_trait::async_trait;
use subtle::ConstantTimeEq;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use unftp_core::auth::{AuthenticationError, Authenticator, Credentials, Principal};

/// The only user.
const USER: &str = "btu";

/// A connection is closed at its third wrong login.
const WRONG_LOGINS: u32 = 3;

/// A connection is closed when it has not logged in for so long.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The progress of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Wrong(u32),
    LoggedIn,
}

/// The login of one connection.
pub(super) struct Login {
    password: String,
    standing: watch::Sender<Standing>,
}

impl Login {
    pub(super) fn new(password: &str) -> Self {
        Self { password: password.to_owned(), standing: watch::Sender::new(Standing::Wrong(0)) }
    }

    /// Returns when the connection is to be closed: it has guessed too often, or not logged in in
    /// time.
    pub(super) async fn fails(&self) {
        if timeout(LOGIN_TIMEOUT, self.comes_in()).await == Ok(true) {
            pending::<()>().await;
        }
    }

    /// Whether it has logged in, once that is known.
    async fn comes_in(&self) -> bool {
        let mut standing = self.standing.subscribe();
        let settled = standing
            .wait_for(|standing| {
                matches!(standing, Standing::LoggedIn | Standing::Wrong(WRONG_LOGINS..))
            })
            .await;
        settled.is_ok_and(|standing| *standing == Standing::LoggedIn)
    }

    /// Whether it has guessed too often, so that the connection is about to be closed.
    fn is_refused(&self) -> bool {
        matches!(*self.standing.borrow(), Standing::Wrong(WRONG_LOGINS..))
    }

    fn is_right(&self, user: &str, given: &Credentials) -> bool {
        let password = given.password.as_deref().unwrap_or_default();
        user == USER && bool::from(password.as_bytes().ct_eq(self.password.as_bytes()))
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login")
    }
}

#[async_trait]
impl Authenticator for Login {
    async fn authenticate(
        &self,
        user: &str,
        given: &Credentials,
    ) -> Result<Principal, AuthenticationError> {
        if self.is_refused() {
            // Guesses that came in one packet with the last one are not judged.
            sleep(LOGIN_TIMEOUT).await;
        } else if self.is_right(user, given) {
            self.standing.send_replace(Standing::LoggedIn);
            return Ok(Principal { username: user.to_owned() });
        } else {
            self.standing.send_modify(|standing| {
                if let Standing::Wrong(times) = standing {
                    *times += 1;
                }
            });
        }
        Err(AuthenticationError::BadPassword)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use unftp_core::auth::ChannelEncryptionState;

    use super::*;

    #[tokio::test]
    async fn after_three_wrong_guesses_even_the_password_is_not_judged() {
        let login = Login::new("secret");
        let given = |password: &str| Credentials {
            password: Some(password.to_owned()),
            certificate_chain: None,
            source_ip: Ipv4Addr::LOCALHOST.into(),
            command_channel_security: ChannelEncryptionState::Plaintext,
        };
        for _ in 0..WRONG_LOGINS {
            login.authenticate(USER, &given("guess")).await.expect_err("wrong");
        }
        let (soon, right) = (Duration::from_millis(50), given("secret"));
        timeout(soon, login.authenticate(USER, &right)).await.expect_err("no answer");
        timeout(soon, login.fails()).await.expect("the connection is to be closed");
    }
}
