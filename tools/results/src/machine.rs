//! The machine and the versions that a run was made with.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::available_parallelism;

pub(crate) fn processors() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// One sentence each, for the page.
pub(crate) fn describe(root: &Path) -> Vec<String> {
    let model = fs::read_to_string("/proc/cpuinfo").ok();
    let model = model.as_deref().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let model = model.unwrap_or_else(|| "an unnamed processor".to_owned());
    let system = said(root, "uname", &["-sr"]).unwrap_or_else(|| std::env::consts::OS.to_owned());
    let commit = said(root, "git", &["rev-parse", "--short=12", "HEAD"]);
    let compiler = said(root, "rustc", &["--version"]);
    let unknown = || "unknown".to_owned();
    vec![
        format!("{} processors ({model}), {system}.", processors()),
        format!(
            "liten at {}, tokio {}, smol {}, {}.",
            commit.unwrap_or_else(unknown),
            locked(root, "tokio").unwrap_or_else(unknown),
            locked(root, "smol").unwrap_or_else(unknown),
            compiler.unwrap_or_else(unknown)
        ),
    ]
}

fn said(root: &Path, program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(root).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// The version of a package in the lock file.
fn locked(root: &Path, package: &str) -> Option<String> {
    let text = fs::read_to_string(root.join("Cargo.lock")).ok()?;
    let after = text.split_once(&format!("name = \"{package}\"\nversion = \""))?.1;
    Some(after.split_once('"')?.0.to_owned())
}
