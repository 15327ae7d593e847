//! The command that lays the package named `tokio` down: `packer DIR`. `packer --record` writes the
//! checksums of another release of tokio into `upstream/files`.

use std::env;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: bash tokio/lay DIR
Lays the package named tokio down in DIR: a new or empty folder, or one that was laid down before.";

fn main() -> ExitCode {
    let arguments: Vec<String> =
        env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--record"] => packer::record(&packer::home()),
        [folder] if !folder.starts_with('-') => lay(folder),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn lay(folder: &str) -> Result<String, String> {
    let release = packer::lay(&packer::home(), Path::new(folder), &mut |_| Ok(()))?;
    let from_here = if Path::new(folder).is_relative() { ", if that lies here" } else { "" };
    Ok(format!(
        "The package named tokio, with the files of tokio {release} and with liten, lies in {folder}. Add to \
         the Cargo.toml of the workspace's root{from_here}:\n\n[patch.crates-io]\n\
         tokio = {{ path = \"{folder}\" }}\n\nand run once: cargo update -p tokio"
    ))
}
