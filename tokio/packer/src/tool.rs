//! cargo and rustup as they are asked here.

use std::process::{Command, Output};

/// Returns a command whose words can be read and passed on: without colours, progress and backtraces, and
/// with its warnings. It neither installs a toolchain nor asks for a password.
pub fn tool(name: &str) -> Command {
    let mut command = Command::new(name);
    command
        .env_remove("RUST_LIB_BACKTRACE")
        .env("RUST_BACKTRACE", "0")
        .env("RUSTUP_AUTO_INSTALL", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_QUIET", "false")
        .env("CARGO_TERM_VERBOSE", "false")
        .env("CARGO_TERM_PROGRESS_WHEN", "never");
    command
}

/// Runs a command, and returns what it has written and how it has ended.
///
/// # Errors
///
/// Says that it could not be started, and what to do if it is not there.
pub fn output(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|error| {
        let name = command.get_program().to_string_lossy();
        match error.kind() {
            std::io::ErrorKind::NotFound => {
                format!("there is no {name} on the PATH. Install Rust, for example from https://rustup.rs")
            }
            _ => format!("{name} could not be run: {error}"),
        }
    })
}
