//! `sqlx_sqlite`, and what Python's sqlite3 finds in the file.

use crate::process::{self, Example, LIMIT};
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, id};

fn start(file: &Path) -> Example {
    Example::start("sqlx_sqlite", Command::new(process::path("sqlx_sqlite")).arg(file))
}

/// A folder for a database and its side files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left behind, it is in the folder for such things.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The first row of what Python reads.
fn python(file: &Path, query: &str) -> String {
    let program =
        "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone())";
    let output =
        Command::new("python3").args(["-c", program]).arg(file).arg(query).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

#[test]
fn transfers_conserve_the_sum() {
    let folder = Folder::new("sqlx");
    let file = folder.0.join("bank.db");
    // The second time over what the first has left.
    for _ in 0..2 {
        let lines = start(&file).success();
        assert!(lines[0].ends_with(" refused, 1000 in the bank"), "{lines:?}");
        let counts: Vec<u32> = lines[0].split(' ').filter_map(|word| word.parse().ok()).collect();
        assert_eq!(counts[0] + counts[1], 500, "{lines:?}");
        assert!(counts[0] > 0, "{lines:?}");
        let query = "SELECT count(*), sum(balance), min(balance) >= 0 FROM account";
        assert_eq!(python(&file, query), "10 1000 1");
        assert_eq!(python(&file, "PRAGMA integrity_check"), "ok");
    }
}

#[test]
fn what_is_no_database_is_an_error_and_stays_as_it_is() {
    let folder = Folder::new("sqlx-bad");
    let garbage = folder.0.join("garbage");
    let bytes: Vec<u8> = (0..5_000_u32).map(|i| (i * i % 251) as u8).collect();
    fs::write(&garbage, &bytes).unwrap();
    let missing = folder.0.join("no").join("such").join("folder");
    let cases = [
        (garbage.as_path(), "file is not a database"),
        (folder.0.as_path(), "unable to open database file"),
        (missing.as_path(), "unable to open database file"),
    ];
    for (file, reason) in cases {
        let mut example = start(file);
        let (success, lines) = example.end();
        assert!(!success, "{lines:?}");
        // Until the process has closed it.
        let said = iter::from_fn(|| example.errors.recv_timeout(LIMIT).ok());
        let said = said.collect::<Vec<_>>().join("\n");
        assert!(said.contains(reason), "{said}");
    }
    assert_eq!(fs::read(&garbage).unwrap(), bytes);
}
