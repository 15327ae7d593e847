//! A signal that ends programs does not leave a project changed.
#![cfg(unix)]

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

/// A cargo that finds no fitting lock file, writes one, and then gets the signal with the program that has
/// called it, as all programs of a terminal do. `SIGNAL`, `TO` and `END` are put in.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
--version) echo 'cargo 1.999.0 (0 2026-01-01)' ;;
*--locked*) echo 'error: the lock file needs an update, but --locked was passed' >&2 && exit 101 ;;
locate-project*) echo "$PWD/Cargo.toml" ;;
*) echo changed >Cargo.lock && kill -SIGNAL TO && END ;;
esac
"#;

/// Lets the doctor look at a project with this cargo, and returns what the lock file then is.
fn looks(folder: &Path, cargo: &str) -> (Output, String) {
    let tools = folder.join("tools");
    fs::create_dir_all(&tools).expect("the folder can be made");
    fs::write(folder.join("Cargo.lock"), "before\n").expect("the file can be written");
    fs::write(tools.join("cargo"), cargo).expect("the file can be written");
    let all = fs::Permissions::from_mode(0o755);
    fs::set_permissions(tools.join("cargo"), all).expect("the file is there");
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([tools].into_iter().chain(env::split_paths(&others)));
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_diagnosis"));
    doctor.arg(folder).env("PATH", path.expect("no folder has a colon in its name"));
    // A group of its own, so that the signal does not end this test.
    let output = doctor.process_group(0).output().expect("it can be started");
    let lock = fs::read_to_string(folder.join("Cargo.lock")).expect("the file is there");
    (output, lock)
}

#[test]
fn the_lock_file_is_put_back_and_the_doctor_says_that_it_was_interrupted() {
    let folder = env::temp_dir().join(format!("interrupted-{}", std::process::id()));
    for signal in ["INT", "TERM", "HUP"] {
        // The signal comes to both, or to the doctor alone while cargo goes on.
        for (to, end) in [("0", "sleep 60"), ("$PPID", "exit 101"), ("$PPID", "echo '{}'")] {
            let cargo = CARGO.replace("SIGNAL", signal).replace("TO", to).replace("END", end);
            let (output, lock) = looks(&folder, &cargo);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(lock, "before\n", "{signal} to {to}: {said}");
            assert_eq!(output.status.code(), Some(1), "{signal} to {to}: {said}");
            assert!(said.starts_with("error: interrupted"), "{signal} to {to}: {said}");
        }
    }
    fs::remove_dir_all(folder).expect("the folder goes away");
}
