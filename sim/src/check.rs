//! A scenario for many seeds.

use std::any::type_name;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::choices::entity;
use crate::properties::is_running;
use crate::run;
use crate::runner::{self, Sweep};
use crate::scenario::{Sim, nanos};

/// Runs `scenario` with the seeds `0..seeds`, each in a process of its own. Call it from a test.
///
/// For each seed the test function starts again from its beginning in a child process. What comes
/// before this call also runs there, outside of the simulation, and earlier checks of the same test
/// end at once as they did. So take random values inside the scenario, by [`Sim::random`].
///
/// # Panics
///
/// When a run fails, with a report.
///
/// # Examples
///
/// ```no_run
/// #[test]
/// fn an_answer_comes() {
///     liten_sim::check(100, |sim| {
///         sim.host("server", || server());
///         sim.client("client", || client());
///     });
/// }
/// # fn server() {}
/// # fn client() {}
/// ```
#[track_caller]
pub fn check(seeds: u64, scenario: impl FnOnce(Sim) + Send) {
    Check::new().seeds(seeds).run(scenario);
}

thread_local! {
    /// The checks of this thread that have failed. A test may expect that.
    static FAILED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// How often each scenario has been checked by this thread. A test has a thread of its own, in
    /// the child too, whatever other tests run beside it.
    static CHECKS: RefCell<BTreeMap<u64, u64>> = const { RefCell::new(BTreeMap::new()) };
}

/// Which check of this thread one is: its scenario, and how often that was checked before. The
/// child counts in the same way.
fn number_of(scenario: &str) -> String {
    let scenario = entity(scenario);
    let count = CHECKS.with_borrow_mut(|checks| {
        let count = checks.entry(scenario).or_insert(0);
        *count += 1;
        *count
    });
    // Of one length, so that the environment of all runs is.
    format!("{scenario:016x}-{count:06}")
}

/// How a scenario is run.
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `run`"]
pub struct Check {
    seeds: u64,
    first: u64,
    limit: Duration,
    real_limit: Duration,
    minimise: Duration,
    cpus: Option<usize>,
    panics_fail: bool,
    name: Option<String>,
    arguments: Option<Vec<String>>,
}

impl Default for Check {
    fn default() -> Self {
        Self::new()
    }
}

impl Check {
    /// Ten seeds, ten minutes of virtual time and one of real time for each.
    pub fn new() -> Self {
        Self {
            seeds: 10,
            first: 0,
            limit: Duration::from_secs(600),
            real_limit: Duration::from_secs(60),
            minimise: Duration::from_secs(30),
            cpus: None,
            panics_fail: false,
            name: None,
            arguments: None,
        }
    }

    /// How many seeds are tried. `LITEN_SIM_SEEDS` overrides it.
    pub fn seeds(mut self, seeds: u64) -> Self {
        self.seeds = seeds;
        self
    }

    /// The first seed that is tried, otherwise 0. `LITEN_SIM_FIRST` overrides it.
    pub fn first_seed(mut self, seed: u64) -> Self {
        self.first = seed;
        self
    }

    /// The virtual time after which a run fails.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The real time after which a run fails, at least a second.
    pub fn real_limit(mut self, limit: Duration) -> Self {
        self.real_limit = limit;
        self
    }

    /// The real time for which the smallest failure is searched for. With zero it is not.
    pub fn minimise_for(mut self, time: Duration) -> Self {
        self.minimise = time;
        self
    }

    /// How many processors each host sees, and so how many workers a runtime has by default.
    /// Otherwise the seed decides, from 1 to 4.
    ///
    /// # Panics
    ///
    /// When `cpus` is 0.
    pub fn cpus(mut self, cpus: usize) -> Self {
        assert!(cpus > 0, "liten-sim: a host has a processor");
        self.cpus = Some(cpus);
        self
    }

    /// Lets each panic fail the run, also that of a task, which the runtime catches and hands to
    /// the code that awaits it.
    pub fn panics_fail(mut self) -> Self {
        self.panics_fail = true;
        self
    }

    /// For a program without libtest: the arguments with which it reaches this check again. `name`
    /// stands in reports.
    ///
    /// ```no_run
    /// use liten_sim::Check;
    ///
    /// // The program `cluster` was called as `cluster --simulate`.
    /// let arguments = vec!["--simulate".to_owned()];
    /// Check::new().program("cluster", arguments).run(|sim| sim.client("node", || ()));
    /// ```
    pub fn program(mut self, name: &str, arguments: Vec<String>) -> Self {
        self.name = Some(name.to_owned());
        self.arguments = Some(arguments);
        self
    }

    /// Runs the scenario with one seed after the other.
    ///
    /// The scenario starts hosts and lets things happen to them. It may sleep, by
    /// `std::thread::sleep`, which takes virtual time only. When it has returned, the run goes on
    /// until all clients have ended.
    ///
    /// # Panics
    ///
    /// When a run fails, with a report.
    #[track_caller]
    pub fn run<F: FnOnce(Sim) + Send>(self, scenario: F) {
        assert!(!is_running(), "liten-sim: a check inside of a simulation");
        let program = self.name.as_deref().unwrap_or_default();
        let number = number_of(&format!("{program} {}", type_name::<F>()));
        if let Some(report) = run::report_path() {
            // A test that makes several checks makes them all again in the child, which belongs to
            // one. The ones before it end as they did.
            if run::number_of_check().as_ref() != Some(&number) {
                assert!(!run::has_failed_before(&number), "liten-sim: this check failed");
                return;
            }
            run::run(report, nanos(self.limit), self.cpus, self.panics_fail, scenario);
        }
        let name = self.name.unwrap_or_else(|| test_name(type_name::<F>()));
        let arguments = self.arguments.unwrap_or_else(|| runner::test_arguments(&name));
        let failed = FAILED.with_borrow(|failed| failed.join(","));
        let sweep = Sweep {
            name,
            seeds: self.seeds,
            first: self.first,
            jobs: 0,
            seconds: self.real_limit.as_secs(),
            minimise_seconds: self.minimise.as_secs(),
            arguments,
            program: None,
            environment: vec![(run::NUMBER_OF_CHECK, number.clone()), (run::FAILED_BEFORE, failed)],
        };
        if let Err(report) = runner::sweep(sweep) {
            FAILED.with_borrow_mut(|failed| failed.push(number));
            // Without the hook, which would print a stack of this package below the report. libtest
            // shows what a failing test prints.
            eprintln!("{report}");
            std::panic::resume_unwind(Box::new(report));
        }
    }
}

/// The path of the running test. libtest names its threads by it, except where it runs tests one by
/// one. Then the type of the closure tells.
fn test_name(closure: &str) -> String {
    if let Some(name) = std::thread::current().name()
        && name != "main"
    {
        return name.to_owned();
    }
    let path = closure.trim_end_matches("::{{closure}}");
    path.split_once("::").map_or(path, |(_, inside)| inside).to_owned()
}
