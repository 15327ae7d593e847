//! Compares the public interface of liten with the list in `tools/api/liten.txt`, so that no change of it goes by
//! unseen: `cargo run -p api -- --check`. After a change that is meant, `--bless` writes the list.
//!
//! The interface is read from rustdoc's JSON, with all features, on Linux. That output is unstable: it takes
//! `RUSTC_BOOTSTRAP`, and what is in it depends on the compiler. So the list names the compiler it was made
//! with, and CI has a job with that one, where nothing is excused (`--strict`). With any other compiler the
//! same list is a pass; what cannot be read, or compared, is skipped and says why.
//!
//! Rejected: reading the sources with syn. It sees neither auto traits nor what is behind a re-export or a
//! macro, and it would be ours to keep.

mod list;

use list::List;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

enum Verdict {
    Same(usize),
    Changed(Vec<String>),
    /// Why there is nothing to compare, or no sense in it.
    Skipped(String),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let known = ["--check", "--strict", "--bless"];
    if has("--check") == has("--bless") || arguments.iter().any(|a| !known.contains(&a.as_str())) {
        eprintln!("usage: cargo run -p api -- (--check [--strict] | --bless)");
        return ExitCode::FAILURE;
    }
    let done = if has("--bless") { bless() } else { check().map(|v| tell(v, has("--strict"))) };
    done.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

fn bless() -> Result<ExitCode> {
    let list = interface()?;
    fs::write(path_of_list(), list.to_text())?;
    println!("{}: {} items", path_of_list().display(), list.items.len());
    Ok(ExitCode::SUCCESS)
}

fn check() -> Result<Verdict> {
    let kept = List::from_text(&fs::read_to_string(path_of_list())?)?;
    let found = match interface() {
        Ok(found) => found,
        Err(reason) => return Ok(Verdict::Skipped(reason.to_string())),
    };
    let changes = found.changes_since(&kept);
    Ok(if changes.is_empty() {
        Verdict::Same(found.items.len())
    } else if found.compiler == kept.compiler {
        Verdict::Changed(changes)
    } else {
        let (ours, theirs) = (found.compiler, kept.compiler);
        let changes = changes.join("\n");
        Verdict::Skipped(format!(
            "{changes}\nthis may be the compiler: it is {ours}, and the list was made with {theirs}"
        ))
    })
}

fn tell(verdict: Verdict, strict: bool) -> ExitCode {
    match verdict {
        Verdict::Same(items) => {
            println!("the public interface is as listed: {items} items");
            ExitCode::SUCCESS
        }
        Verdict::Changed(changes) => {
            println!("{}", changes.join("\n"));
            println!(
                "\nThe public interface is not what tools/api/liten.txt says. A line that goes (-) breaks \
                 programs that use it. If the change is meant: `cargo run -p api -- --bless`, and a line in \
                 CHANGELOG.md."
            );
            ExitCode::FAILURE
        }
        Verdict::Skipped(reason) => {
            println!(
                "{reason}\nskipped: the public interface was not compared; the line above says why"
            );
            if strict { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn path_of_list() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("liten.txt")
}

/// What rustdoc says of the library as it is now. Any error means that it could not be asked.
fn interface() -> Result<List> {
    if !cfg!(target_os = "linux") {
        return Err("the list is of what there is on Linux".into());
    }
    let json = rustdoc_json()?;
    let read = public_api::Builder::from_rustdoc_json(&json).omit_blanket_impls(true).build();
    let api = read.map_err(|error| format!("this compiler's JSON cannot be read: {error}"))?;
    Ok(List::new(compiler()?, api.items().map(ToString::to_string)))
}

/// Runs rustdoc; returns where its output is.
fn rustdoc_json() -> Result<PathBuf> {
    // A folder of its own: with another environment, cargo would rebuild what it shares with the other steps.
    let target = workspace().join("target/api");
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["rustdoc", "--package=liten", "--lib", "--all-features", "--quiet"])
        .args(["--", "-Zunstable-options", "--output-format=json"])
        .current_dir(workspace())
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTC_BOOTSTRAP", "1")
        .env_remove("RUSTDOCFLAGS")
        .env_remove("RUSTFLAGS")
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{said}\nrustdoc gave no JSON: {}", output.status).into());
    }
    Ok(target.join("doc/liten.json"))
}

/// The compiler's version, without the patch: `1.85`, or `1.97-nightly`.
fn compiler() -> Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").current_dir(workspace()).output()?;
    let said = String::from_utf8(output.stdout)?;
    list::minor_version(&said).ok_or_else(|| format!("not a version: {said:?}").into())
}
