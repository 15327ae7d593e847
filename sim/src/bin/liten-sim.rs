//! Runs a program in simulation, once for each seed: `liten-sim [--seeds N] PROGRAM [ARGUMENT ...]`

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: liten-sim [--seeds N] PROGRAM [ARGUMENT ...]

The program runs unchanged, as the only host of the run. Variables:
  LITEN_SIM_SEED=N   this seed alone         LITEN_SIM_CPUS=N   how many processors it sees
  LITEN_SIM_SEEDS=N  how many seeds          LITEN_SIM_LIMIT=N  the seconds of virtual time it may take";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut arguments = env::args().skip(1).peekable();
    let mut seeds = 10;
    if arguments.next_if(|argument| argument == "--seeds").is_some() {
        let number = arguments.next().and_then(|number| number.parse().ok());
        seeds = number.ok_or(USAGE)?;
    }
    let program = arguments.next().ok_or(USAGE)?;
    if program.starts_with('-') {
        return Err(USAGE.to_owned());
    }
    let own = env::current_exe().map_err(|error| format!("find the executable: {error}"))?;
    let library = own.with_file_name("libliten_sim.so");
    if !library.exists() {
        return Err(format!("liten-sim: there is no {}; build the package", library.display()));
    }
    liten_sim::run_program(&library, found(program)?, arguments.collect(), seeds)
}

/// The file of a program, which is looked for as a shell does.
fn found(program: String) -> Result<PathBuf, String> {
    if program.contains('/') {
        return Ok(PathBuf::from(program));
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let found =
        env::split_paths(&folders).map(|folder| folder.join(&program)).find(|path| path.is_file());
    found.ok_or_else(|| format!("liten-sim: there is no program named {program}"))
}
