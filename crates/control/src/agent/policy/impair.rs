//! Whether packets may be delayed and dropped: how much, and at which interfaces.

use btu_contract::network::Impairment;

use super::{Forbidden, IMPAIR, Policy, UNCHANGEABLE};

impl Policy {
    /// Whether packets that come in at `interface` may be impaired like this. `control` are the
    /// interfaces over which the control connection comes: an impairment there would also impair
    /// the control connection. If they are unknown, `interface` may be one of them.
    pub(crate) fn check_impair(
        &self,
        interface: &str,
        wanted: Impairment,
        control: Option<&[String]>,
    ) -> Result<(), Forbidden> {
        self.check_kind(IMPAIR)?;
        let always = |what: String| Forbidden { what, place: UNCHANGEABLE.to_owned() };
        let Some(control) = control else {
            let what = format!(
                "impairing {interface}, which may carry the control connection: this agent has no SSH_CONNECTION to tell over which interface \
                 that comes; let ssh start it, or use TLS"
            );
            return Err(always(what));
        };
        if interface == "lo" {
            return Err(always(
                "lo is this machine's own, and not a network to be impaired".to_owned(),
            ));
        }
        if control.iter().any(|name| name == interface) {
            let what = format!(
                "{interface} carries the control connection: the measured network has to be another one"
            );
            return Err(always(what));
        }
        if let Some(allowed) = &self.impair_interfaces.value
            && !allowed.iter().any(|name| name == interface)
        {
            let what = format!("impairing {interface}, which is not one of {}", allowed.join(", "));
            return Err(self.forbids(what, "impair.interfaces", &self.impair_interfaces));
        }
        if wanted.loss.is_nan() || wanted.loss > self.impair_loss.value {
            let what = format!("a loss of {} is more than {}", wanted.loss, self.impair_loss.value);
            return Err(self.forbids(what, "impair.loss", &self.impair_loss));
        }
        if wanted.delay > self.impair_delay.value {
            let what =
                format!("a delay of {} is more than {}", wanted.delay, self.impair_delay.value);
            return Err(self.forbids(what, "impair.delay", &self.impair_delay));
        }
        Ok(())
    }
}
