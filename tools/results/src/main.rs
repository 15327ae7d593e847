//! Measures liten beside tokio and smol, and makes `RESULTS.md` with its pictures: `cargo run -p results`.
//!
//! With `--from FILE` it draws what an earlier run has written to `target/results.json`, and measures nothing.
//! `--out FOLDER` writes the page there instead of over the one of the repository. `--all` also measures the rows for
//! which programs are built, some minutes longer. All other arguments go to the bench (`--rounds N`, `--workers N`). What the page shows of which row is a table in `plan.rs`.

mod machine;
mod page;
mod picture;
mod plan;
mod row;
#[path = "../../../benches/versus/mixed/svg.rs"]
mod svg;

use row::Row;
use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Rounds of a measurement unless the command line has another number: with them the whole run stays below five minutes
/// on two processors.
const ROUNDS: &str = "5";

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let mut out = root.clone();
    let (mut from, mut all) = (None, false);
    let mut options = Vec::new();
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut path =
            || arguments.next().map(PathBuf::from).ok_or(format!("{argument}: no path follows"));
        match argument.as_str() {
            "--from" => from = Some(path()?),
            "--out" => out = path()?,
            "--all" => all = true,
            _ => options.push(argument),
        }
    }
    let text = match from {
        Some(path) => fs::read_to_string(path)?,
        None => measure(&root, options, all)?,
    };
    let rows = row::read(&text)?;
    let pictures = out.join(plan::FOLDER);
    fs::create_dir_all(&pictures)?;
    for picture in plan::PICTURES {
        let bars = picture.bars(&rows);
        if !bars.is_empty() {
            fs::write(
                pictures.join(format!("{}.svg", picture.name)),
                picture::draw(picture.title, &bars),
            )?;
        }
    }
    let path = out.join("RESULTS.md");
    fs::write(&path, page::render(&rows, &machine::describe(&root)))?;
    println!("{} and its pictures are written.", path.display());
    Ok(())
}

/// Runs the bench, and keeps what it prints for `--from`.
fn measure(root: &Path, options: Vec<String>, all: bool) -> Result<String, Box<dyn Error>> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(["bench", "--bench", "versus", "--", "--json"]);
    if !options.iter().any(|option| option == "--rounds") {
        command.args(["--rounds", ROUNDS]);
    }
    if !options.iter().any(|option| option == "--workers") {
        // Else the bench repeats some rows with more workers than there are processors.
        command.args(["--workers", &machine::processors().to_string()]);
    }
    command.args(options).args(plan::names(all)).stdout(Stdio::piped());
    println!("{command:?}");
    let output = command.spawn()?.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("the bench failed: {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    fs::write(root.join("target/results.json"), &text)?;
    Ok(text)
}

/// The row with this name, and the figure of it that is wanted.
fn find<'a>(rows: &'a [Row], name: &str, figure: &str) -> Option<&'a Row> {
    rows.iter().find(|row| row.name == name && row.figure == figure)
}
