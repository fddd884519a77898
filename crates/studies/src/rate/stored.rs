//! A plan of the rating and its cells as they are stored.

use btu_contract::experiment::{CheckCells, Columns, Experiment, Head};
use btu_units::Bytes;

use super::plan::Plan;
use super::record::CellRecord;
use super::row::Row;
use super::schedule::RatingCheck;

impl Experiment for Plan {
    type Record = CellRecord;

    fn version(&self) -> u32 {
        self.version
    }

    fn head(&self) -> Option<Head> {
        let (profile, network) = (self.profile.name.clone(), self.network.to_string());
        Some(Head { profile, network, seed: self.seed })
    }

    fn with_seed(&self, seed: u64) -> Self {
        Self { seed, ..self.clone() }
    }

    fn columns(&self, record: &CellRecord) -> Result<Columns, String> {
        let (component, message, load) = match record.row {
            Row::Network { component, message, load } => (component.name(), message, load),
            Row::Host { load } => ("", Bytes::ZERO, load),
        };
        let network = record.network.as_ref();
        Ok(Columns {
            block: record.block,
            position: record.position,
            component: component.to_owned(),
            message,
            load: load.name(),
            valid: record.is_valid(),
            goodput_bits_per_second: network.map(|network| network.goodput_bits_per_second),
            duration: network.map(|network| network.duration),
            host_duration: record.host.as_ref().map(|host| host.duration),
        })
    }

    fn check(&self, calibration: Option<&str>) -> Result<Box<dyn CheckCells<CellRecord>>, String> {
        Ok(Box::new(RatingCheck::of(self, calibration)?))
    }
}
