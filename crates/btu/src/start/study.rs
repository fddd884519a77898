//! From a checked plan to a network or hosts, the run, and its result. Every command that measures
//! cells uses this module.

use std::path::{Path, PathBuf};

use anyhow::Context;
use btu_contract::congestion::CongestionControl;
use btu_contract::experiment::{Experiment, Field, Frame, LeftOut, Raised, Scripts};
use btu_contract::json;
use btu_contract::network::HostName;
use btu_contract::study::Scripted;
use btu_control::controller::{
    self, ControllerError, Ground, HostSet, MeasuredStudy, Observer, Phase, RunSettings, Testbed,
};
use btu_network::{Drawing, Host};
use btu_store::{Level, NewRun, RunId, RunLock, Store};
use btu_testbed::note;
use btu_testbed::testbed::RuntimeDirectory;
use btu_testbed::virtual_time::is_virtual;
use btu_units::{BitRate, Bytes, Span, shell_word};

use crate::cli::{Common, Launching, Naming, Reaching, StudyOptions, TimeLimit};
use crate::exit::Refusal;
use crate::files;
use crate::results::{self, shown};
use crate::start::hosts::Family;
use crate::start::progress::{Bar, ProgressDisplay};
use crate::start::{company, hosts, preflight, virtual_time};
use crate::stored::{self, resume, wall_clock};

/// The network of stations that work on a share: it carries no traffic.
pub(crate) const USUAL_AT_SHARE: &str = "veth";

/// The plan without the cells that do not end in the requested time by their closed forms.
pub(crate) fn within<E: Scripts>(mut plan: E, limit: &TimeLimit) -> Result<E, Refusal> {
    let Some(time) = limit.time else { return Ok(plan) };
    let too_long = match plan.within(time) {
        Ok(()) => return Ok(plan),
        Err(too_long) => too_long,
    };
    let shortest = too_long.iter().min_by_key(|one| one.least);
    let named = shortest.map_or_else(String::new, |LeftOut { cell, least }| {
        format!("even {cell} takes {:.0} s by its closed form", least.seconds())
    });
    let enough = LeftOut::enough(shortest.map_or(&[], std::slice::from_ref)).unwrap_or(time);
    Err(Refusal::Usage(format!(
        "--time {time} is too short for anything to end: {named}; give --time '{enough}' or more"
    )))
}

/// The share's directory as hosts know it: on this machine it must exist; other hosts check it
/// themselves.
pub(crate) fn share(options: &StudyOptions, directory: &Path) -> Result<PathBuf, Refusal> {
    let name = directory.display();
    if options.real.is_any() {
        let absolute = directory.is_absolute().then(|| directory.to_owned());
        return absolute.ok_or_else(|| {
            Refusal::Usage(format!("--at {name}: on other hosts a directory begins with /"))
        });
    }
    let found = directory
        .canonicalize()
        .map_err(|error| Refusal::Usage(format!("--at {name}: {error}")))?;
    if found.is_dir() {
        Ok(found)
    } else {
        Err(Refusal::Usage(format!("--at {name} is not a directory")))
    }
}

/// Refuses a share of this machine in which the superuser should not work.
fn check_share(directory: &Path) -> Result<(), Refusal> {
    let refused = |error| Refusal::Machine(format!("using {}: {error}", directory.display()));
    btu_load::check_share(directory).map_err(refused)
}

/// Measures `plan`, or the missing cells of the named run, and prints the result. The plan is made
/// only if no run is resumed. `watch` gets the progress. Its activities write files of up to
/// `scratch` at a time.
pub(crate) fn run<E: Scripts>(
    options: &StudyOptions,
    common: &Common,
    watch: ProgressDisplay,
    plan: impl FnOnce() -> anyhow::Result<E>,
    scratch: impl FnOnce(&E) -> Bytes,
) -> anyhow::Result<(Store, RunId)> {
    if options.in_virtual_time {
        let (store, run) = virtual_time::study(E::COMMAND, options, common)?;
        shown::print_result(&store, run, shown::Shown::of(options.all), watch.form(common))?;
        return Ok((store, run));
    }
    let (store, plan, resumed) = match &options.resuming.resume {
        None => {
            let plan = plan()?;
            (stored::open(common)?, plan, None)
        }
        Some(name) => {
            let store = stored::open(common)?;
            let row = store.run(name)?;
            results::resumed_by(&row, E::COMMAND)?;
            let plan: E = resume::plan(&row)?;
            resume::is_its_plan(&row, (plan.frame().version, E::VERSION), &plan.hash())?;
            let Some(lock) = resume::lock(&store, &row)? else {
                shown::print_result(
                    &store,
                    row.summary.id,
                    shown::Shown::of(options.all),
                    watch.form(common),
                )?;
                return Ok((store, row.summary.id));
            };
            resume::may_start(&row, &plan.commands(), options.resuming.allowed.start_programs)?;
            resume::may_use(&row, &plan.directories(), options.resuming.allowed.use_directory)?;
            let machines = match &plan.frame().network {
                Field::Drawing(_) => None,
                Field::Machines(machines) => Some(machines),
            };
            let warning = resume::same_ground(&row, machines, &options.resuming)?;
            (store, plan, Some((lock, warning)))
        }
    };
    let command = resuming(E::COMMAND, &options.real.launching);
    let mut session = Session::new(Some(command), Bar::new(options.quiet, watch), store, resumed)?;
    let room = scratch(&plan);
    let Prepared { ground, scratch, mut warnings } = prepare(options, &plan, room, &mut session)?;
    if session.resumed().is_none() {
        warnings.extend(plan.frame().says_left_out());
    }
    let lock = session.open(warnings, |store| begin(store, &options.naming, &plan))?;
    let (measured, directory) = (plan.clone(), scratch.clone());
    let result = session.measure(
        &lock,
        &mut Scripted { plan, scratch },
        ground,
        shown::Shown::of(options.all),
        common,
    );
    sweep_dead(&measured, &directory);
    Ok((result?, lock.run()))
}

/// Removes what processes of this machine left that were killed all at once: in the scratch
/// directory, in memory and in the plan's directories. Other hosts remove their own files.
fn sweep_dead<E: Scripts>(plan: &E, scratch: &Path) {
    if matches!(plan.frame().network, Field::Machines(_)) {
        return;
    }
    let directories = plan.directories().into_iter();
    for within in [scratch, Path::new(btu_load::NAMED_IN_MEMORY)].into_iter().chain(directories) {
        if within.is_dir()
            && let Err(error) = btu_load::sweep_dead(within)
        {
            note!("btu: removing what killed runs left in {}: {error}", within.display());
        }
    }
}

/// The inputs of a run.
pub(crate) struct Prepared {
    pub(crate) ground: Ground,
    /// An existing directory for files of the hosts' activities.
    pub(crate) scratch: PathBuf,
    /// Warnings about the run before it begins.
    pub(crate) warnings: Vec<String>,
}

impl Prepared {
    /// On hosts: their own policies give their scratch directories.
    pub(crate) fn on_hosts(party: HostSet, warnings: Vec<String>) -> Self {
        Self { ground: Ground::Hosts(Box::new(party)), scratch: PathBuf::from("."), warnings }
    }
}

/// A resumed run, with the warning that it stores.
pub(crate) type Resumed = (RunLock, Option<String>);

/// The settings of a measurement in addition to its plan: every command that measures cells has
/// one.
pub(crate) struct Session {
    /// The command that resumes a run, as users write it; `None` if none does.
    command: Option<String>,
    pub(crate) store: Store,
    pub(crate) bar: Bar,
    pub(crate) settings: RunSettings,
    resumed: Option<Resumed>,
    /// Tells other runs of this one, and this one of them.
    company: RuntimeDirectory,
}

impl Session {
    /// With the command that resumes the run.
    pub(crate) fn new(
        command: Option<String>,
        bar: Bar,
        store: Store,
        resumed: Option<Resumed>,
    ) -> anyhow::Result<Self> {
        let executable = std::env::current_exe().context("finding this program's own file")?;
        let settings =
            RunSettings { runtime: preflight::runtime_directory()?, executable, wall_clock };
        let company = RuntimeDirectory::claim(&preflight::runtime_directory()?)?;
        Ok(Self { command, store, bar, settings, resumed, company })
    }

    /// The name of the resumed run.
    pub(crate) fn resumed(&self) -> Option<String> {
        self.resumed.as_ref().map(|(lock, _)| lock.run().to_string())
    }

    /// Resumes the run, or begins one, and stores its warnings.
    pub(crate) fn open(
        &mut self,
        mut warnings: Vec<String>,
        begin: impl FnOnce(&mut Store) -> anyhow::Result<RunLock>,
    ) -> anyhow::Result<RunLock> {
        let lock = match self.resumed.take() {
            None => begin(&mut self.store)?,
            Some((lock, warning)) => {
                self.store.reopen(&lock)?;
                warnings.extend(warning);
                lock
            }
        };
        // Who waits for the result may stop here; else the result alone says it.
        if let Some(company) = company(&self.company).filter(|_| self.bar.is_shown()) {
            self.bar.notice(&company);
        }
        for warning in &warnings {
            self.bar.notice(warning);
            self.store.save_event(&lock, &wall_clock(), Level::Warning, warning)?;
        }
        Ok(lock)
    }

    /// A private directory that exists as long as this.
    pub(crate) fn directory(&self) -> &Path {
        self.company.path()
    }

    /// Measures the missing cells and prints the requested part of the result. Returns the store of
    /// the run.
    pub(crate) fn measure<S: MeasuredStudy>(
        mut self,
        lock: &RunLock,
        study: &mut S,
        ground: Ground,
        shown: shown::Shown,
        common: &Common,
    ) -> anyhow::Result<Store> {
        self.carry_out(lock, study, ground)?;
        shown::print_result(&self.store, lock.run(), shown, self.bar.watch().form(common))?;
        Ok(self.store)
    }

    /// Measures the missing cells; tells the user how to resume if the run ends early.
    pub(crate) fn carry_out<S: MeasuredStudy>(
        &mut self,
        lock: &RunLock,
        study: &mut S,
        ground: Ground,
    ) -> anyhow::Result<()> {
        let result =
            controller::run(&self.store, lock, study, &self.settings, ground, &mut self.bar);
        self.bar.clear();
        if let Some(company) = company(&self.company) {
            self.store.save_event(lock, &wall_clock(), Level::Warning, &company)?;
        }
        if let Err(error) = &result {
            advise(error, lock, self.store.path(), self.command.as_deref());
        }
        Ok(result?)
    }
}

/// Checks that this machine, or the hosts, can measure it.
fn prepare<E: Scripts>(
    options: &StudyOptions,
    plan: &E,
    room: Bytes,
    session: &mut Session,
) -> anyhow::Result<Prepared> {
    match &plan.frame().network {
        Field::Drawing(raised) => {
            let mut testbed = testbed_of::<E>(raised)?;
            testbed.others = plan
                .other_networks()
                .into_iter()
                .map(testbed_of::<E>)
                .collect::<anyhow::Result<_>>()?;
            let scratch =
                preflight::scratch_directory(options.scratch.as_deref(), session.store.path())?;
            preflight::scratch_room(&scratch, room)?;
            for directory in plan.directories() {
                check_share(directory)?;
            }
            sweep_dead(plan, &scratch);
            preflight::namespaces(&session.settings.executable, &[])?;
            Ok(Prepared {
                ground: Ground::Testbed(Box::new(testbed)),
                scratch,
                warnings: Vec::new(),
            })
        }
        Field::Machines(machines) => {
            session.bar.phase(Phase::Reserve);
            let party =
                hosts::gather_for(machines, plan, &options.real, session.resumed().as_deref());
            session.bar.clear();
            Ok(Prepared::on_hosts(party?, Vec::new()))
        }
    }
}

/// The network or hosts that the options name.
pub(crate) struct Chosen<'a> {
    /// All hosts there, in the order of the file or of the options.
    pub(crate) hosts: Vec<HostName>,
    place: StudyPlace<'a>,
    family: Family,
}

enum StudyPlace<'a> {
    /// A network file or a name of the library.
    Raised {
        /// The name of the network in results.
        name: String,
        /// The argument of `btu net check` for that file.
        source: String,
        text: String,
        drawing: Box<Drawing>,
        congestion_control: Option<CongestionControl>,
    },
    /// The study measures on real hosts.
    Elsewhere { hosts: Vec<Host>, reaching: &'a Reaching },
}

impl<'a> Chosen<'a> {
    /// Real hosts if any are named. Else a network file or a name of the library, with its
    /// settings; or the rate of a line, which becomes the library's `path`. Without any it is
    /// `usual`, and only then its delay applies.
    pub(crate) fn of(options: &'a StudyOptions, usual: (&str, Span)) -> anyhow::Result<Self> {
        let named = hosts::named_hosts(&options.real)?;
        let is_alone = named.len() == 1;
        if named.is_empty() {
            Self::raised(options, usual)
        } else {
            Self::elsewhere(options, named, is_alone)
        }
    }

    /// These hosts, after this machine itself if it may take part.
    pub(crate) fn elsewhere(
        options: &'a StudyOptions,
        named: Vec<Host>,
        with_here: bool,
    ) -> anyhow::Result<Self> {
        options.congestion.refused()?;
        if options.delay.is_some() || !options.settings.is_empty() || options.scratch.is_some() {
            let problem = "--delay, --set and --scratch are of a network that btu starts on this machine: hosts have what lies between them, and a scratch directory by their own policies";
            return Err(Refusal::Usage(problem.to_owned()).into());
        }
        let mut hosts = named.iter().map(hosts::host_name).collect::<Result<Vec<_>, Refusal>>()?;
        if with_here && hosts.iter().all(|host| host.as_str() != hosts::HERE) {
            hosts.extend(HostName::try_from(hosts::HERE));
            hosts.rotate_right(1);
        }
        Ok(Self {
            hosts,
            place: StudyPlace::Elsewhere { hosts: named, reaching: &options.real.reaching },
            family: Family::Either,
        })
    }

    /// A network file that a command writes itself.
    pub(crate) fn written(
        options: &StudyOptions,
        name: &str,
        text: String,
    ) -> anyhow::Result<Self> {
        Self::of_text(
            options,
            NetworkText::read(files::Source::written(name, text), &options.settings)?,
        )
    }

    fn raised(options: &StudyOptions, usual: (&str, Span)) -> anyhow::Result<Self> {
        let asked = options.network.as_deref().unwrap_or(usual.0);
        let delay = options.delay.or_else(|| options.network.is_none().then_some(usual.1));
        Self::of_text(options, NetworkText::of(asked, delay, &options.settings, None)?)
    }

    fn of_text(options: &StudyOptions, network: NetworkText) -> anyhow::Result<Self> {
        let NetworkText { name, source, text, drawing } = network;
        let congestion_control = options.congestion.checked()?;
        let hosts = drawing.stations.iter().map(HostName::from).collect();
        let place = StudyPlace::Raised { name, source, text, drawing, congestion_control };
        Ok(Self { hosts, place, family: Family::Either })
    }

    /// Like `written`, measured by addresses of this family.
    pub(crate) fn over(self, family: Family) -> Self {
        Self { family, ..self }
    }

    /// The network as it is drawn; `None` for real hosts.
    pub(crate) fn drawing(&self) -> Option<&Drawing> {
        match &self.place {
            StudyPlace::Raised { drawing, .. } => Some(drawing),
            StudyPlace::Elsewhere { .. } => None,
        }
    }

    /// The station of a role: the one that the option `--role` names, else the one of that name,
    /// else the one with this index.
    pub(crate) fn host(
        &self,
        role: &str,
        named: Option<&str>,
        place: Option<usize>,
    ) -> Result<HostName, Refusal> {
        let found = |name: &str| self.hosts.iter().find(|host| host.as_str() == name).cloned();
        if let Some(name) = named {
            return found(name)
                .ok_or_else(|| Refusal::Usage(format!("--{role}: {}", self.nobody_called(name))));
        }
        let place = || self.hosts.get(place?).cloned();
        found(role).or_else(place).ok_or_else(|| {
            let short = match &self.place {
                StudyPlace::Raised { name, .. } => format!("{name} has not stations enough"),
                StudyPlace::Elsewhere { .. } => "not hosts enough are named".to_owned(),
            };
            Refusal::Usage(format!("{short}: there is none for --{role}"))
        })
    }

    /// The index of the last station.
    pub(crate) fn last(&self) -> Option<usize> {
        self.hosts.len().checked_sub(1)
    }

    fn nobody_called(&self, name: &str) -> String {
        match &self.place {
            StudyPlace::Raised { source, .. } => files::no_such_station(name, source),
            StudyPlace::Elsewhere { .. } => {
                let known: Vec<&str> = self.hosts.iter().map(HostName::as_str).collect();
                format!("there is no host `{name}`; there are {}", known.join(", "))
            }
        }
    }

    /// This place with the hosts that take part.
    pub(crate) fn field(self, stations: Vec<HostName>) -> Result<Field, Refusal> {
        Ok(match self.place {
            StudyPlace::Raised { name, text, congestion_control, .. } => {
                let ipv6 = self.family == Family::Ipv6;
                Field::Drawing(Raised { name, text, stations, congestion_control, ipv6 })
            }
            StudyPlace::Elsewhere { hosts, reaching } => {
                Field::Machines(hosts::taking_part(&hosts, stations, reaching, self.family)?)
            }
        })
    }
}

/// A network by its name on the command line, with its settings.
pub(crate) struct NetworkText {
    /// The name of the network in results.
    pub(crate) name: String,
    /// The argument of `btu net check` for that file.
    pub(crate) source: String,
    /// The file with the settings.
    pub(crate) text: String,
    /// The drawing of the network.
    pub(crate) drawing: Box<Drawing>,
}

impl NetworkText {
    /// The rate of a line, a name of the library, or a file; a relative path of a file is looked up
    /// in `directory`, if that is given.
    pub(crate) fn of(
        asked: &str,
        delay: Option<Span>,
        settings: &[(String, String)],
        directory: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let delay = delay.filter(|delay| *delay > Span::ZERO);
        let mut settings = settings.to_vec();
        let is_rate = asked.parse::<BitRate>().is_ok();
        if let Some(delay) = delay {
            settings.push(files::delay_setting(asked, delay)?);
        }
        let mut network = Self::read(files::source_in(asked, directory)?, &settings)?;
        if is_rate {
            network.name = line_name(asked, delay);
        }
        Ok(network)
    }

    /// A network of another file with this name.
    pub(crate) fn drawn(
        name: &str,
        text: String,
        directory: &Path,
        settings: &[(String, String)],
    ) -> anyhow::Result<Self> {
        Self::read(files::Source::drawn(name, text, directory), settings)
    }

    fn read(source: files::Source, settings: &[(String, String)]) -> anyhow::Result<Self> {
        let drawing =
            Box::new(source.read(settings).map_err(|error| Refusal::Usage(error.to_string()))?);
        let text = source.with_settings(settings);
        Ok(Self { name: drawing.name.clone(), source: source.name, text, drawing })
    }
}

/// The name of a line in lists of runs.
fn line_name(rate: &str, delay: Option<Span>) -> String {
    delay.map_or_else(|| rate.to_owned(), |delay| format!("{rate}, delay {delay}"))
}

/// The frame of a plan of `E` from the options that studies share.
pub(crate) fn frame<E: Scripts>(
    options: &StudyOptions,
    (blocks, budget): (u32, Span),
    deadline: Span,
    network: Field,
) -> anyhow::Result<Frame> {
    Ok(Frame {
        version: E::VERSION,
        seed: seed(options.seed)?,
        profile: options.profile.name().to_owned(),
        blocks,
        budget,
        deadline,
        left_out: Vec::new(),
        network,
    })
}

/// The seed that was given, or a new one that is short enough to be typed.
pub(crate) fn seed(asked: Option<u64>) -> anyhow::Result<u64> {
    asked.map_or_else(|| preflight::random().map(u64::from), Ok)
}

fn testbed_of<E: Scripts>(field: &Raised) -> anyhow::Result<Testbed> {
    let drawing = files::stored(&field.text).map_err(|error| Refusal::Usage(error.to_string()))?;
    let hosts = field
        .hosts(&drawing)
        .context("the network file has no longer the stations that this run is for")?;
    btu_testbed::testbed::check(&drawing)?;
    Ok(Testbed {
        name: E::STUDY,
        drawing,
        hosts,
        source: field.name.clone(),
        congestion_control: field.congestion_control.clone(),
        ipv6: field.ipv6,
        ..Testbed::default()
    })
}

/// Begins a run of `plan` in the store.
pub(crate) fn begin<E: Scripts>(
    store: &mut Store,
    naming: &Naming,
    plan: &E,
) -> anyhow::Result<RunLock> {
    let frame = plan.frame();
    let cells = u32::try_from(plan.cells().len()).unwrap_or(u32::MAX);
    Ok(store.create_run(&NewRun {
        study: E::STUDY,
        profile: &frame.profile,
        network: &frame.network.to_string(),
        label: naming.label.as_deref(),
        tags: &naming.tag,
        created: &wall_clock(),
        seed: frame.seed,
        btu_version: env!("CARGO_PKG_VERSION"),
        plan: &json::to_value(plan)?,
        plan_hash: &plan.hash(),
        planned_cells: cells.saturating_mul(frame.blocks),
    })?)
}

/// The command that resumes a run, with the launcher that starts its agents again.
pub(crate) fn resuming(command: &str, launching: &Launching) -> String {
    match &launching.launcher {
        Some(launcher) => format!("{command} --launcher {}", shell_word(launcher)),
        None => command.to_owned(),
    }
}

/// Advice about a run that ended early.
fn advise(error: &ControllerError, lock: &RunLock, database: &Path, command: Option<&str>) {
    // The run is the one that is taken over from there.
    if is_virtual() {
        return;
    }
    let run = lock.run();
    let is_stopped = matches!(error, ControllerError::Interrupted(_));
    let (how, again) =
        if is_stopped { ("was stopped", "Finish it") } else { ("ended early", "Then finish it") };
    note!("Run {run} {how}; its cells are kept in {}.", database.display());
    let Some(command) = command else { return };
    note!("{again} with: {command} --resume {run}");
}
