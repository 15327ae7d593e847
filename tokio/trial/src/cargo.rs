//! What cargo answers.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What cargo and the compiler have said of a build.
pub(crate) struct Build {
    pub(crate) succeeded: bool,
    pub(crate) messages: Vec<Value>,
}

impl Build {
    /// Runs `cargo test --no-run` in `folder` with further arguments, and with these flags for the compiler
    /// in place of those of the environment.
    pub(crate) fn of_tests(
        folder: &Path,
        target: &Path,
        flags: Option<&str>,
        arguments: &[&str],
    ) -> Result<Self, String> {
        let output = Command::new("cargo")
            .args(["test", "--no-run", "--message-format=json"])
            .args(arguments)
            .current_dir(folder)
            .env("CARGO_TARGET_DIR", target)
            .envs(flags.map(|flags| ("RUSTFLAGS", flags)))
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("cargo could not be run: {error}"))?;
        let lines = String::from_utf8_lossy(&output.stdout);
        let messages = lines.lines().filter_map(|line| serde_json::from_str(line).ok());
        Ok(Self { succeeded: output.status.success(), messages: messages.collect() })
    }

    /// The compiler's errors, each with the message of cargo's that it is part of.
    pub(crate) fn errors(&self) -> impl Iterator<Item = (&Value, &Value)> {
        let messages = self.messages.iter().map(|message| (message, &message["message"]));
        messages.filter(|(_, said)| said["level"] == "error")
    }

    /// The errors as the compiler would print them.
    pub(crate) fn text(&self) -> String {
        self.errors().filter_map(|(_, said)| said["rendered"].as_str()).collect()
    }
}

/// The folders of the packages that cargo has chosen for the package in `folder`, with their names.
pub(crate) fn chosen(folder: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version=1"])
        .current_dir(folder)
        .output()
        .map_err(|error| format!("cargo could not be run: {error}"))?;
    let answer: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let packages = answer["packages"].as_array().into_iter().flatten();
    let chosen = packages.filter_map(|package| {
        let folder = Path::new(package["manifest_path"].as_str()?).parent()?;
        Some((package["name"].as_str()?.to_owned(), folder.to_owned()))
    });
    Ok(chosen.collect())
}
