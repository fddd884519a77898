//! The foreground task of a cell, timed.

use std::sync::atomic::AtomicBool;

use btu_contract::activity::{FilesTask, Performance, Performed, Tell};
use btu_contract::lan::{SETUP_CLIENT, Share, TaskDone};
use btu_contract::record::Outcome;
use btu_units::{Span, hexadecimal};
use sha2::{Digest, Sha256};

use super::place::{Placed, files_at};
use super::work::TaskState;
use super::{TIMEOUT, wait_until, wake_in_time};
use crate::LoadError;
use crate::account::{self, Account};
use crate::files::{Files, RemoteFiles};
use crate::nfs::NfsClient;

/// The largest number of repetitions of a task.
const MOST_TIMES: usize = 1000;

/// The task itself to the server's account; stations are 1, 2 and so on.
const TASK_CLIENT: u32 = 0;

/// A task, ready to go: its files are there.
#[derive(Debug)]
struct Tasking<F> {
    work: TaskState,
    files: F,
    /// The client that makes the files and checks the remaining ones, if it is another client; a
    /// station has one on its own disk.
    setup: Option<F>,
    lead: Span,
    target: Span,
    /// The description of the share, if the files are on one.
    share: Option<Share>,
}

/// Makes the task's files, at the server, here, or on a share.
pub(crate) fn prepare(seed: u64, order: &FilesTask) -> Result<Box<dyn Performance>, LoadError> {
    let mut work = TaskState::new(order.task, order.sizes, seed);
    let (lead, target) = (order.lead, order.target);
    Ok(match files_at(&order.place, &order.token, TASK_CLIENT)? {
        Placed::Remote(files) => {
            // Another client makes the files: the server's account of the task is of the task
            // alone.
            let server = files.server();
            let client = NfsClient::connect(server, &order.token, SETUP_CLIENT, TIMEOUT)?;
            let mut setup = RemoteFiles::new(client);
            work.lay_out(&mut setup)?;
            Box::new(Tasking { work, files, setup: Some(setup), lead, target, share: None })
        }
        Placed::Local(mut files) => {
            work.lay_out(&mut files)?;
            Box::new(Tasking { work, files, setup: None, lead, target, share: None })
        }
        Placed::Share(mut files) => {
            work.lay_out(&mut files)?;
            let share = Some(files.share().clone());
            Box::new(Tasking { work, files, setup: None, lead, target, share })
        }
    })
}

impl<F: Files> Tasking<F> {
    fn run(&mut self, account: &Account) -> Result<TaskDone, LoadError> {
        wake_in_time();
        let made = self.files.operations();
        let start = account.started() + self.lead;
        wait_until(start)?;
        let (mut times, mut wrong) = (Vec::with_capacity(MOST_TIMES), 0);
        loop {
            let began = account::now()?;
            self.work.perform(&mut self.files)?;
            let ended = account::now()?;
            times.push(ended.since(began));
            wrong += u64::from(!self.work.is_right());
            if ended >= start + self.target || times.len() == MOST_TIMES {
                break;
            }
        }
        let operations = self.files.operations() - made;
        let others = self.setup.as_mut().unwrap_or(&mut self.files);
        wrong += u64::from(!self.work.is_left(others)?);
        let setup_operations =
            self.setup.as_ref().map_or_else(|| self.files.operations() - operations, F::operations);
        let digest = Sha256::digest(self.work.outcome());
        Ok(TaskDone {
            times,
            operations,
            setup_operations,
            read: self.work.read(),
            written: self.work.written(),
            wrong,
            digest: hexadecimal(&digest),
            share: self.share.clone(),
        })
    }
}

impl<F: Files + Send> Performance for Tasking<F> {
    fn perform_telling(mut self: Box<Self>, _stop: &AtomicBool, _: Tell<'_>) -> Performed {
        let account = Account::open()?;
        let done = self.run(&account)?;
        Ok(account.close()?.report(Outcome::TaskDone(done)))
    }
}
