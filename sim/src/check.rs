//! A scenario for many seeds.

use std::any::type_name;
use std::time::Duration;

use crate::run;
use crate::runner::{self, Sweep};
use crate::scenario::Sim;

/// Runs `scenario` with seeds 0 to `seeds`, each in a process of its own. Call it from a test.
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

/// How a scenario is run.
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `run`"]
pub struct Check {
    seeds: u64,
    limit: Duration,
    seconds: u64,
    minimise: u64,
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
            limit: Duration::from_secs(600),
            seconds: 60,
            minimise: 30,
            cpus: None,
            panics_fail: false,
            name: None,
            arguments: None,
        }
    }

    /// How many seeds are tried, from 0 on. `LITEN_SIM_SEEDS` overrides it.
    pub fn seeds(mut self, seeds: u64) -> Self {
        self.seeds = seeds;
        self
    }

    /// The virtual time after which a run fails.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The real time after which a run fails, in seconds.
    pub fn real_seconds(mut self, seconds: u64) -> Self {
        self.seconds = seconds;
        self
    }

    /// How long the smallest failure is searched for, in seconds of real time. With 0 it is not.
    pub fn minimise_seconds(mut self, seconds: u64) -> Self {
        self.minimise = seconds;
        self
    }

    /// How many processors each host sees, and so how many workers a runtime has by default.
    /// Otherwise the seed decides, from 1 to 4.
    pub fn cpus(mut self, cpus: usize) -> Self {
        self.cpus = Some(cpus);
        self
    }

    /// Lets each panic fail the run, also that of a task, which the runtime catches and hands to whoever
    /// awaits it.
    pub fn panics_fail(mut self) -> Self {
        self.panics_fail = true;
        self
    }

    /// The name under which a run is found again, for programs that are no tests of libtest. It is
    /// called with `arguments` for each seed.
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
        if let Some(report) = run::report_path() {
            let limit = u64::try_from(self.limit.as_nanos()).unwrap_or(u64::MAX);
            run::run(report, limit, self.cpus, self.panics_fail, scenario);
        }
        let name = self.name.unwrap_or_else(|| test_name(type_name::<F>()));
        let arguments = self.arguments.unwrap_or_else(|| runner::test_arguments(&name));
        runner::sweep(Sweep {
            name,
            seeds: self.seeds,
            first: 0,
            jobs: 0,
            seconds: self.seconds,
            minimise_seconds: self.minimise,
            arguments,
            program: None,
            environment: Vec::new(),
        });
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
