//! Breaks the protocols one step at a time, and shows which loom model turns red: `cargo run -p mutations`.
//!
//! A model that passes proves something only if it can fail. Each row of `table.rs` weakens one ordering
//! or leaves out one look; the models of that part then run on a copy of the sources, and one of them has to
//! notice. `cargo run -p mutations -- WORD` takes the rows whose file or reason contains the word. Ends with
//! 1 if a mutation survives, or if a row does not fit the sources any more.

mod table;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use table::{Mutation, TABLE};

/// A mutated protocol may spin for ever where loom sees progress; the slowest model needs 40 s.
const PATIENCE: Duration = Duration::from_secs(180);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What the models said.
enum Verdict {
    /// The first model that failed.
    Caught(String),
    /// The models did not end.
    Stuck,
    Survived,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(survivors) => {
            eprintln!(
                "{survivors} mutation(s) survived: a model is missing, or a step is not needed"
            );
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Tries all rows that match; returns how many mutations no model noticed.
fn run(words: &[String]) -> Result<usize> {
    let copy = Copy::make()?;
    let chosen = |row: &&Mutation| {
        words.is_empty() || words.iter().any(|w| row.file.contains(w) || row.breaks.contains(w))
    };
    let mut survivors = 0;
    println!("| file | what is broken | noticed by | s |\n|---|---|---|---|");
    for row in TABLE.iter().filter(chosen) {
        let start = Instant::now();
        let verdict = copy.with(row, || copy.models(row.models))?;
        let by = match verdict {
            Verdict::Caught(model) => format!("`{model}`"),
            Verdict::Stuck => "the models do not end".to_owned(),
            Verdict::Survived => {
                survivors += 1;
                "**nobody**".to_owned()
            }
        };
        println!("| {} | {} | {by} | {} |", row.file, row.breaks, start.elapsed().as_secs());
    }
    Ok(survivors)
}

/// A copy of the workspace, with artefacts of its own.
struct Copy {
    root: PathBuf,
}

impl Copy {
    fn make() -> Result<Self> {
        let original = workspace();
        let root = original.join("target/mutations/sources");
        if root.exists() {
            fs::remove_dir_all(&root)?;
        }
        copy_folder(&original, &root)?;
        let copy = Self { root };
        match copy.models("loom")? {
            Verdict::Survived => Ok(copy),
            _ => Err("the models fail without any mutation".into()),
        }
    }

    /// Calls `f` while the mutation is in the copy.
    fn with<T>(&self, row: &Mutation, f: impl FnOnce() -> Result<T>) -> Result<T> {
        let path = self.root.join(row.file);
        let sound = fs::read_to_string(&path)?;
        fs::write(&path, row.apply(&sound)?)?;
        let result = f();
        fs::write(&path, sound)?;
        result
    }

    /// Runs the models whose names contain `filter`.
    fn models(&self, filter: &str) -> Result<Verdict> {
        let said = self.root.with_file_name("said");
        let mut cargo = Command::new(env!("CARGO"))
            .args(["test", "--lib", "--release", "--quiet", filter])
            .current_dir(&self.root)
            .env("RUSTFLAGS", "--cfg liten_loom")
            .env("CARGO_TARGET_DIR", self.root.with_file_name("artefacts"))
            .stdout(fs::File::create(&said)?)
            .stderr(Stdio::null())
            .spawn()?;
        let start = Instant::now();
        let status = loop {
            match cargo.try_wait()? {
                Some(status) => break status,
                None if start.elapsed() > PATIENCE => {
                    cargo.kill()?;
                    cargo.wait()?;
                    return Ok(Verdict::Stuck);
                }
                None => thread::sleep(Duration::from_millis(50)),
            }
        };
        let said = fs::read_to_string(said)?;
        if status.success() {
            let ran = !said.contains("running 0 tests");
            return ran.then_some(Verdict::Survived).ok_or_else(|| "no such model".into());
        }
        let failed = said.lines().find_map(|line| line.trim().strip_prefix("---- "));
        match failed.and_then(|line| line.split(' ').next()) {
            Some(model) => Ok(Verdict::Caught(model.to_owned())),
            // A model that aborts ends the whole run.
            None if said.contains("running ") => Ok(Verdict::Caught("an abort".to_owned())),
            None => Err(format!("{filter}: the mutated code does not compile").into()),
        }
    }
}

impl Mutation {
    /// The source with the mutation in it.
    fn apply(&self, sound: &str) -> Result<String> {
        match sound.matches(self.from).count() {
            1 => Ok(sound.replace(self.from, self.to)),
            count => Err(format!("{}: {count} times, not once: {:?}", self.file, self.from).into()),
        }
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "target" || name == ".git" {
            continue;
        }
        let target = to.join(&name);
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{TABLE, workspace};
    use std::fs;

    /// A change of the sources that a row does not follow is seen without running a single model.
    #[test]
    fn each_row_fits_the_sources_and_changes_them() {
        for row in TABLE {
            let sound = fs::read_to_string(workspace().join(row.file)).expect(row.file);
            let mutated = row.apply(&sound).unwrap_or_else(|error| panic!("{error}"));
            assert_ne!(mutated, sound, "{}: {}", row.file, row.breaks);
        }
    }
}
