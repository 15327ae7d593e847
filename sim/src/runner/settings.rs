//! What the user sets in the environment of the parent.

use std::env;
use std::str::FromStr;

/// What the parent does not read itself.
const PASSED_ON: [&str; 4] =
    ["LITEN_SIM_BATON", "LITEN_SIM_CALM", "LITEN_SIM_CPUS", "LITEN_SIM_LIMIT"];

/// One field for each variable `LITEN_SIM_*` that the parent reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Run this seed alone and show its output.
    pub(crate) seed: Option<u64>,
    pub(crate) seeds: Option<u64>,
    pub(crate) first: Option<u64>,
    pub(crate) jobs: Option<u64>,
    /// Go on with new seeds for so many seconds. The number of seeds does not count then.
    pub(crate) seconds: Option<u64>,
    /// Compare so many runs of a failing seed, and search for no smaller failure.
    pub(crate) replays: Option<u64>,
    /// Run each seed twice and compare.
    pub(crate) check: bool,
    /// Keys, or a file of them: no other disturbance happens.
    pub(crate) only: Option<String>,
    /// The run is to stop at this decision, or so many before its end if negative.
    pub(crate) stop: Option<i64>,
    /// Variables that the world reads. The children get them as they are.
    pub(crate) passed_on: Vec<(&'static str, String)>,
}

impl Settings {
    pub(crate) fn from_environment() -> Result<Self, String> {
        Self::read(|name| env::var(name).ok())
    }

    /// Reads the settings through `variable`, so that a test needs no environment.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        // `LITEN_SIM_CHECK= cargo test` is how a shell leaves one out.
        let text = |name: &str| variable(name).filter(|text| !text.is_empty());
        let number = |name: &str| parsed(name, text(name));
        let stop: Option<i64> = parsed("LITEN_SIM_STOP", text("LITEN_SIM_STOP"))?;
        let seed = number("LITEN_SIM_SEED")?;
        if stop.is_some() && seed.is_none() {
            return Err("LITEN_SIM_STOP stops the run of LITEN_SIM_SEED, which is not set".into());
        }
        Ok(Self {
            seed,
            seeds: number("LITEN_SIM_SEEDS")?,
            first: number("LITEN_SIM_FIRST")?,
            jobs: number("LITEN_SIM_JOBS")?,
            seconds: number("LITEN_SIM_SECONDS")?,
            replays: number("LITEN_SIM_REPLAYS")?,
            check: text("LITEN_SIM_CHECK").is_some_and(|text| text != "0"),
            only: text("LITEN_SIM_ONLY"),
            stop,
            passed_on: PASSED_ON.into_iter().filter_map(|name| Some((name, text(name)?))).collect(),
        })
    }
}

fn parsed<T: FromStr>(name: &str, text: Option<String>) -> Result<Option<T>, String> {
    let parsed = text.map(|text| {
        text.trim().parse().map_err(|_| format!("{name}: `{text}` is not a whole number"))
    });
    parsed.transpose()
}
