//! A study without the type of its plan, for code that reads stored runs of any study.

use std::fmt;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use super::{Columns, Experiment, Head};

/// Finds a study by its name in the store: the program's table of studies.
pub type FindStudy = fn(&str) -> Option<&'static dyn AnyExperiment>;

/// The study with plans of type `E`.
pub const fn any<E: Experiment>() -> &'static dyn AnyExperiment {
    &Of::<E>(PhantomData)
}

/// A study, its plans and records as they are stored: JSON.
pub trait AnyExperiment: Sync + fmt::Debug {
    /// The study's name in the store.
    fn study(&self) -> &'static str;

    /// Reads a plan.
    ///
    /// # Errors
    /// A plan that this version cannot read, in a sentence.
    fn plan(&self, plan: &str) -> Result<Box<dyn AnyPlan>, String>;
}

/// A stored plan of any study.
pub trait AnyPlan: fmt::Debug {
    /// Its name; `None` if another version wrote it, because its form may differ.
    fn hash(&self) -> Option<String>;

    /// What it says of its run, if this version wrote it.
    fn head(&self) -> Option<Head>;

    /// Reads the cells of a run of this plan, with what was calibrated for it.
    ///
    /// # Errors
    /// A calibration that this version cannot read, in a sentence.
    fn cells(&self, calibration: Option<&str>) -> Result<Box<dyn AnyCells>, String>;
}

/// The cells of a run of any study, one after the other.
pub trait AnyCells: fmt::Debug {
    /// The columns of the next record.
    ///
    /// # Errors
    /// A record that this version cannot read, that cannot be one of this plan, or that says what
    /// its own accounts do not give; in a sentence.
    fn add(&mut self, record: &str) -> Result<Columns, String>;

    /// Whether these are all cells of a run that is complete.
    ///
    /// # Errors
    /// What is missing, in a sentence.
    fn check_whole(&mut self) -> Result<(), String>;
}

/// What a study compares its cells with, in addition to their columns.
pub trait CheckCells<R>: fmt::Debug {
    /// Whether a record says what its own accounts give, and is where its plan puts it.
    ///
    /// # Errors
    /// What contradicts, in a sentence.
    fn add(&mut self, _record: &R) -> Result<(), String> {
        Ok(())
    }

    /// Whether the records are all of a complete run.
    ///
    /// # Errors
    /// What is missing, in a sentence.
    fn check_whole(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// Nothing.
#[derive(Debug)]
pub struct Unchecked;

impl<R> CheckCells<R> for Unchecked {}

struct Of<E>(PhantomData<fn() -> E>);

impl<E: Experiment> fmt::Debug for Of<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(E::STUDY)
    }
}

impl<E: Experiment> AnyExperiment for Of<E> {
    fn study(&self) -> &'static str {
        E::STUDY
    }

    fn plan(&self, plan: &str) -> Result<Box<dyn AnyPlan>, String> {
        Ok(Box::new(Plan(read::<E>("plan", plan)?)))
    }
}

#[derive(Debug)]
struct Plan<E>(E);

impl<E: Experiment> AnyPlan for Plan<E> {
    fn hash(&self) -> Option<String> {
        (self.0.version() == E::VERSION).then(|| self.0.hash())
    }

    fn head(&self) -> Option<Head> {
        self.0.head().filter(|_| self.0.version() == E::VERSION)
    }

    fn cells(&self, calibration: Option<&str>) -> Result<Box<dyn AnyCells>, String> {
        let check: Box<dyn CheckCells<E::Record>> = if self.0.version() == E::VERSION {
            self.0.check(calibration)?
        } else {
            Box::new(Unchecked)
        };
        Ok(Box::new(Cells { plan: self.0.clone(), check }))
    }
}

#[derive(Debug)]
struct Cells<E: Experiment> {
    plan: E,
    check: Box<dyn CheckCells<E::Record>>,
}

impl<E: Experiment> AnyCells for Cells<E> {
    fn add(&mut self, record: &str) -> Result<Columns, String> {
        let record = read::<E::Record>("cell", record)?;
        self.check.add(&record)?;
        self.plan.columns(&record)
    }

    fn check_whole(&mut self) -> Result<(), String> {
        self.check.check_whole()
    }
}

fn read<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("its {what} cannot be read ({error})"))
}
