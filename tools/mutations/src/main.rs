//! Breaks the protocols one step at a time, and shows which loom model turns red: `cargo run -p mutations`.
//!
//! A model that passes proves something only if it can fail. Each row of `table.rs` weakens one ordering
//! or leaves out one look; the models of that part then run on a copy of the sources, and one of them has to
//! notice. `cargo run -p mutations -- WORD` takes the rows whose file or reason contains the word. Ends with
//! 1 if a mutation survives, or if a row does not fit the sources any more.

mod table;

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use table::{Mutation, TABLE};

/// A mutated protocol may spin for ever where loom sees progress. All models together need five minutes on two
/// idle cores.
const PATIENCE: Duration = Duration::from_secs(900);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What the models said.
enum Verdict {
    /// The first model that failed.
    Caught(String),
    /// The models did not end in time, which proves nothing.
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
    let is_chosen = |row: &&Mutation| {
        words.is_empty() || words.iter().any(|w| row.file.contains(w) || row.breaks.contains(w))
    };
    let chosen: Vec<_> = TABLE.iter().copied().flatten().filter(is_chosen).collect();
    let copy = Copy::make()?;
    copy.check(chosen.iter().map(|row| row.models).collect())?;
    let mut survivors = 0;
    println!("| file | what is broken | noticed by | s |\n|---|---|---|---|");
    for row in chosen {
        let start = Instant::now();
        let verdict = copy.with(row, || copy.models(row.models))?;
        let by = match verdict {
            Verdict::Caught(model) => format!("`{model}`"),
            unnoticed => {
                survivors += 1;
                let stuck = matches!(unnoticed, Verdict::Stuck);
                if stuck { "**the models do not end**" } else { "**no model**" }.to_owned()
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
        Ok(Self { root })
    }

    /// Runs the models of each filter as they are: what fails without a mutation says nothing about one.
    fn check(&self, filters: BTreeSet<&str>) -> Result<()> {
        for filter in filters {
            match self.models(filter)? {
                Verdict::Survived => {}
                Verdict::Stuck => return Err(format!("{filter}: too slow without mutation").into()),
                Verdict::Caught(model) => {
                    return Err(format!("{model} fails without any mutation").into());
                }
            }
        }
        Ok(())
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

    /// Compiles the models; returns their executable.
    fn build(&self) -> Result<PathBuf> {
        let output = Command::new(env!("CARGO"))
            .args(["test", "--package", "liten", "--profile", "models", "--lib", "--no-run"])
            .arg("--message-format=json")
            .current_dir(&self.root)
            .env("RUSTFLAGS", "--cfg liten_loom")
            // One line changes from build to build.
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_TARGET_DIR", self.root.with_file_name("artefacts"))
            .stderr(Stdio::null())
            .output()?;
        let said = String::from_utf8(output.stdout)?;
        if !output.status.success() {
            return Err("the mutated code does not compile".into());
        }
        let named = said.lines().rev().find_map(|line| line.split("\"executable\":\"").nth(1));
        let path =
            named.and_then(|rest| rest.split('"').next()).ok_or("cargo names no executable")?;
        // JSON doubles the backslashes of Windows.
        Ok(path.replace("\\\\", "\\").into())
    }

    /// Runs the models whose names contain `filter`, until the first one fails.
    fn models(&self, filter: &str) -> Result<Verdict> {
        let mut models = Command::new(self.build()?)
            .arg(filter)
            .current_dir(&self.root)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let pipe = models.stdout.take().ok_or("no pipe")?;
        let (say, said) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(|line| line.ok()) {
                // The receiver is gone when the verdict is there.
                let _ = say.send(line);
            }
        });
        let verdict = listen(&said, filter);
        if verdict.is_some() {
            models.kill()?;
        }
        let status = models.wait()?;
        match verdict {
            Some(verdict) => verdict,
            None if status.success() => Ok(Verdict::Survived),
            // loom found a second violation while it unwound from the first one.
            None if status.code().is_none() => Ok(Verdict::Caught("a panic in a panic".to_owned())),
            None => Err(format!("{filter}: the models end with {status} and name none").into()),
        }
    }
}

/// What the models say about themselves. `None`: they have ended, and none has failed.
fn listen(said: &Receiver<String>, filter: &str) -> Option<Result<Verdict>> {
    let start = Instant::now();
    loop {
        match said.recv_timeout(PATIENCE.saturating_sub(start.elapsed())) {
            Ok(line) if line == "running 0 tests" => return Some(Err(no_model(filter))),
            Ok(line) => {
                let result = line.strip_prefix("test ").and_then(|line| line.split_once(" ... "));
                if let Some((model, "FAILED")) = result {
                    return Some(Ok(Verdict::Caught(model.to_owned())));
                }
            }
            Err(RecvTimeoutError::Timeout) => return Some(Ok(Verdict::Stuck)),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

fn no_model(filter: &str) -> Box<dyn Error> {
    format!("{filter}: no such model").into()
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
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
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
            // Not `fs::copy`, which keeps the time of the last change on some systems: cargo would take what it
            // built from an earlier mutation for new.
            fs::write(target, fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{TABLE, workspace};
    use std::fs;
    use std::path::Path;

    /// Adds the module of each file in `folder`, whose own module is `parent`.
    fn add_modules(folder: &Path, parent: &str, modules: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("the sources are there") {
            let path = entry.expect("it can be read").path();
            let stem = path.file_stem().expect("it has a name").to_string_lossy();
            let module = format!("{parent}::{stem}");
            if path.is_dir() {
                add_modules(&path, &module, modules);
            }
            modules.push(module);
        }
    }

    /// A filter that no model passes would let every fault of its rows go unnoticed.
    #[test]
    fn each_row_names_models_that_are_there() {
        let mut modules = Vec::new();
        add_modules(&workspace().join("src"), "", &mut modules);
        for row in TABLE.iter().copied().flatten() {
            let models = row.models.trim_end_matches(':');
            assert!(modules.iter().any(|module| module.contains(models)), "no models: {models}");
        }
    }

    /// A change of the sources that a row does not follow is seen without running a single model.
    #[test]
    fn each_row_fits_the_sources_and_changes_them() {
        for row in TABLE.iter().copied().flatten() {
            let sound = fs::read_to_string(workspace().join(row.file)).expect(row.file);
            let mutated = row.apply(&sound).unwrap_or_else(|error| panic!("{error}"));
            assert_ne!(mutated, sound, "{}: {}", row.file, row.breaks);
        }
    }
}
