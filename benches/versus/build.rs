//! How long a clean release build takes: liten with its default features beside tokio `full` and
//! smol, each as the only dependency of an empty package.
//!
//! The packages lie in a temporary directory, with the lock file of this one beside them, so that
//! nothing is downloaded that was not needed to build this bench.

use crate::contest::{Contest, Figure, Lane, Start};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

pub(crate) fn contest() -> Contest {
    let start = |name: &'static str| -> (&'static str, Start) {
        (name, Box::new(move || Box::new(Package::of(name))))
    };
    Contest {
        name: "build".to_owned(),
        figures: vec![Figure { suffix: "", unit: "s", goal: Some(1.00) }],
        lanes: vec![start("liten"), start("tokio"), start("smol")],
        slice: Duration::from_secs(60),
        rounds: 2,
    }
}

/// A package that has one dependency and no code. Its directory goes when this is dropped.
struct Package(PathBuf);

impl Package {
    fn of(name: &str) -> Self {
        let directory = format!("liten-versus-{}-{name}", std::process::id());
        let package = Self(std::env::temp_dir().join(directory));
        package.write(name).expect("the temporary directory can be written to");
        // Writes the lock file anew, so that the build has nothing to find out.
        let update = ["update", "--workspace"];
        package.cargo(&[&update[..], &["--offline"]].concat()).unwrap_or_else(|_| {
            package.cargo(&update).unwrap_or_else(|reason| panic!("cargo update: {reason}"));
        });
        package
    }

    fn write(&self, name: &str) -> std::io::Result<()> {
        let lock = fs::read_to_string(Path::new(HERE).join("Cargo.lock"))?;
        let dependency = match name {
            "liten" => format!("{{ path = {HERE:?} }}"),
            "tokio" => {
                format!("{{ version = \"={}\", features = [\"full\"] }}", version(&lock, name))
            }
            _ => format!("\"={}\"", version(&lock, name)),
        };
        let manifest = format!(
            "[package]\nname = \"empty\"\nedition = \"2024\"\n\n[dependencies]\n{name} = {dependency}\n\n\
             [workspace]\n"
        );
        fs::create_dir_all(self.0.join("src"))?;
        fs::write(self.0.join("src/lib.rs"), "")?;
        fs::write(self.0.join("Cargo.toml"), manifest)?;
        fs::write(self.0.join("Cargo.lock"), lock)
    }

    fn target(&self) -> PathBuf {
        self.0.join("target")
    }

    fn cargo(&self, arguments: &[&str]) -> Result<(), String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
        let mut command = Command::new(cargo);
        command.current_dir(&self.0).args(arguments).env("CARGO_TARGET_DIR", self.target());
        let output = command.output().map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

impl Lane for Package {
    /// A build has none, and takes long.
    fn warm_up(&mut self, _slice: Duration) {}

    fn measure(&mut self, _slice: Duration) -> Vec<f64> {
        if self.target().exists() {
            fs::remove_dir_all(self.target()).expect("it is ours");
        }
        let start = Instant::now();
        let build = self.cargo(&["build", "--release", "--offline"]);
        let taken = start.elapsed();
        build.unwrap_or_else(|reason| panic!("cargo build: {reason}"));
        vec![taken.as_secs_f64()]
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        // What is left lies in the temporary directory, which is the right place for it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The version of a package, as the lock file has it.
fn version<'a>(lock: &'a str, name: &str) -> &'a str {
    let head = format!("name = \"{name}\"\nversion = \"");
    let start = lock.find(&head).map(|start| start + head.len());
    let rest = start.map(|start| &lock[start..]);
    rest.and_then(|rest| rest.split('"').next()).expect("a dependency is in the lock file")
}
