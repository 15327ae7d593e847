//! Packages of their own whose only dependency is a runtime: liten with its default features, tokio
//! `full`, or smol.
//!
//! `build` is how long a clean release build of an empty one takes. `hello` is a program whose
//! first task prints a word: how large it is when stripped, and how long it takes from its start to
//! its first byte.
//!
//! The packages lie in a temporary directory, with the lock file of this one beside them, so that
//! nothing is downloaded that was not needed to build this bench.

use crate::contest::{Contest, Figure, Lane, Start};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const HERE: &str = env!("CARGO_MANIFEST_DIR");
const RUNTIMES: [&str; 3] = ["liten", "tokio", "smol"];
/// Starts of a program in one measurement: the shortest of them counts, because all that disturbs
/// one makes it longer.
const STARTS: usize = 20;

pub(crate) fn clean_build() -> Contest {
    let start = |name: &'static str| -> (&'static str, Start) {
        (name, Box::new(move || Box::new(CleanBuild(Package::of(name, "lib.rs", "")))))
    };
    Contest {
        name: "build".to_owned(),
        figures: vec![Figure { suffix: "", unit: "s", goal: Some(1.00) }],
        lanes: RUNTIMES.map(start).into(),
        slice: Duration::from_secs(60),
        rounds: 2,
    }
}

pub(crate) fn hello() -> Contest {
    let start = |name: &'static str| -> (&'static str, Start) {
        (name, Box::new(move || Box::new(Hello::build(name))))
    };
    let figure = |suffix, unit| Figure { suffix, unit, goal: Some(1.00) };
    Contest {
        name: "hello".to_owned(),
        figures: vec![figure("size", "bytes"), figure("start", "ns")],
        lanes: RUNTIMES.map(start).into(),
        slice: Duration::from_millis(100),
        rounds: 11,
    }
}

/// A package that has one dependency. Its directory goes when this is dropped.
struct Package(PathBuf);

impl Package {
    /// `file` in `src` is all its code.
    fn of(name: &str, file: &str, code: &str) -> Self {
        let directory = format!("liten-versus-{}-{name}-{file}", std::process::id());
        let package = Self(std::env::temp_dir().join(directory));
        package.write(name, file, code).expect("the temporary directory can be written to");
        // Writes the lock file anew, so that the build has nothing to find out.
        let update = ["update", "--workspace"];
        package.cargo(&[&update[..], &["--offline"]].concat()).unwrap_or_else(|_| {
            package.cargo(&update).unwrap_or_else(|reason| panic!("cargo update: {reason}"));
        });
        package
    }

    fn write(&self, name: &str, file: &str, code: &str) -> std::io::Result<()> {
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
             [workspace]\n\n[profile.release]\nstrip = true\n"
        );
        fs::create_dir_all(self.0.join("src"))?;
        fs::write(self.0.join("src").join(file), code)?;
        fs::write(self.0.join("Cargo.toml"), manifest)?;
        fs::write(self.0.join("Cargo.lock"), lock)
    }

    fn target(&self) -> PathBuf {
        self.0.join("target")
    }

    fn build(&self) {
        let build = self.cargo(&["build", "--release", "--offline"]);
        build.unwrap_or_else(|reason| panic!("cargo build: {reason}"));
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

/// An empty package, built anew each time.
struct CleanBuild(Package);

impl Lane for CleanBuild {
    /// A build has none, and takes long.
    fn warm_up(&mut self, _slice: Duration) {}

    fn measure(&mut self, _slice: Duration) -> Vec<f64> {
        let Self(package) = self;
        if package.target().exists() {
            fs::remove_dir_all(package.target()).expect("it is ours");
        }
        let start = Instant::now();
        package.build();
        vec![start.elapsed().as_secs_f64()]
    }
}

/// A program that prints a word from its first task.
struct Hello {
    program: PathBuf,
    /// Only held.
    _package: Package,
}

impl Hello {
    fn build(name: &str) -> Self {
        let code = match name {
            "smol" => "fn main() { smol::block_on(smol::spawn(async { println!(\"hello\") })); }"
                .to_owned(),
            _ => format!(
                "#[{name}::main] async fn main() {{\n\
                 {name}::spawn(async {{ println!(\"hello\") }}).await.unwrap();\n}}"
            ),
        };
        let package = Package::of(name, "main.rs", &code);
        package.build();
        let program =
            package.target().join("release").join(format!("empty{}", std::env::consts::EXE_SUFFIX));
        Self { program, _package: package }
    }

    fn first_byte(&self) -> Duration {
        let start = Instant::now();
        let mut child =
            Command::new(&self.program).stdout(Stdio::piped()).spawn().expect("it was just built");
        let mut byte = [0];
        child
            .stdout
            .take()
            .expect("it is piped")
            .read_exact(&mut byte)
            .expect("the program prints a word");
        let taken = start.elapsed();
        child.wait().expect("it is our child");
        taken
    }
}

impl Lane for Hello {
    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        let starts = if slice.is_zero() { 1 } else { STARTS };
        let shortest = (0..starts).map(|_| self.first_byte()).min().expect("there is one at least");
        let size = fs::metadata(&self.program).expect("it was just built").len();
        vec![size as f64, shortest.as_nanos() as f64]
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
