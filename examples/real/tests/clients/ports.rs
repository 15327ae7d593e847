//! Programs that came from tokio, beside what they were there: both do the same, and `ports.md` explains each
//! line in which they differ.

use crate::http::{self, curl};
use crate::process::{self, Example, eventually};
use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The lines of a port that are not its own documentation.
fn code(name: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.rs"));
    let text = fs::read_to_string(path).expect("it is in the repository");
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("//!"));
    lines.map(str::to_owned).collect()
}

/// What stands in a column of a section's table, in backquotes.
fn told(section: &str, column: usize) -> BTreeSet<String> {
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    let cells = rows.map(|row| {
        // A bar that belongs to the code is marked.
        let row = row.replace("\\|", "\0");
        row.split('|').nth(column + 1).unwrap_or_default().replace('\0', "|")
    });
    let code =
        cells.filter_map(|cell| Some(cell.trim().strip_prefix('`')?.strip_suffix('`')?.to_owned()));
    code.collect()
}

#[test]
fn each_line_that_changed_is_explained() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("ports.md")).unwrap();
    let sections: Vec<&str> = page.split("\n## ").skip(1).collect();
    let names: Vec<&str> = sections.iter().filter_map(|section| section.lines().next()).collect();
    assert_eq!(names, ["mini_redis", "axum_todo", "actors"]);
    for (name, section) in names.into_iter().zip(sections) {
        let (tokio, liten) = (code(&format!("{name}_tokio")), code(name));
        let gone: BTreeSet<String> = tokio.difference(&liten).cloned().collect();
        let come: BTreeSet<String> = liten.difference(&tokio).cloned().collect();
        assert!(gone.len() > 3 && come.len() > 3, "{name}: nothing has changed");
        assert_eq!(told(section, 0), gone, "{name}: what was on tokio");
        assert_eq!(told(section, 1), come, "{name}: what is on liten");
    }
}

fn start(name: &str, arguments: &[&str]) -> Example {
    Example::start(name, Command::new(process::path(name)).args(arguments))
}

/// What the blocking client of `name` says.
#[track_caller]
fn ask(name: &str, address: SocketAddr, command: &[&str]) -> Vec<String> {
    start(name, &[&[&*address.to_string()], command].concat()).success()
}

fn redis_cli(address: SocketAddr, command: &[&str]) -> String {
    let mut client = Command::new("redis-cli");
    let client = client.args(["-p", &address.port().to_string()]).args(command);
    let output = client.stdin(Stdio::null()).output().expect("redis-cli is there");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

const REDIS: [&str; 2] = ["mini_redis_tokio", "mini_redis"];

#[test]
fn mini_redis_serves_both_its_clients_and_redis_own() {
    for name in REDIS {
        let mut server = start(name, &["serve", "127.0.0.1:0"]);
        let address = server.address();
        for client in REDIS {
            assert_eq!(ask(client, address, &["set", "colour", "sky blue"]), ["+OK"]);
            assert_eq!(ask(client, address, &["get", "colour"]), ["sky blue"]);
            assert_eq!(redis_cli(address, &["get", "colour"]), "sky blue");
            assert_eq!(ask(client, address, &["del", "colour"]), [":1"]);
            assert_eq!(redis_cli(address, &["get", "colour"]), "");
            assert_eq!(ask(client, address, &["get", "colour"]), ["(nil)"]);
            let listener = start(client, &[&*address.to_string(), "subscribe", "news"]);
            assert_eq!(listener.line(), "subscribe news 1");
            assert_eq!(redis_cli(address, &["publish", "news", "rain"]), "1");
            assert_eq!(listener.line(), "message news rain");
            drop(listener);
        }
        // One that stays until the server ends.
        let mut listener = start(name, &[&*address.to_string(), "subscribe", "news"]);
        assert_eq!(listener.line(), "subscribe news 1");
        http::interrupt(&server);
        let (success, _) = server.end();
        assert!(success);
        assert!(!listener.end().0, "the connection is closed");
    }
}

#[test]
fn values_of_mini_redis_run_out() {
    for name in REDIS {
        let server = start(name, &["serve", "127.0.0.1:0"]);
        let address = server.address();
        assert_eq!(redis_cli(address, &["set", "stays", "1", "px", "3600000"]), "OK");
        assert_eq!(redis_cli(address, &["set", "goes", "1", "px", "50"]), "OK");
        eventually("the value is gone", || redis_cli(address, &["get", "goes"]).is_empty());
        assert_eq!(redis_cli(address, &["get", "stays"]), "1");
    }
}

#[test]
fn actors_say_the_same_on_both() {
    let lines = [
        "ada: Ok(70)",
        "bob: Err(\"bob has only 0\")",
        "ada: Ok(63)",
        "bob: Ok(50)",
        "replaced: 1",
        "journal: 105 lines",
    ];
    for name in ["actors_tokio", "actors"] {
        assert_eq!(start(name, &[]).success(), lines, "{name}");
    }
}

#[test]
fn axum_todo_answers_the_same_on_both() {
    for name in ["axum_todo_tokio", "axum_todo"] {
        let mut server = start(name, &["127.0.0.1:0"]);
        let url = format!("http://{}/todos", http::address(&server));
        let added = curl(&["--json", r#"{"text":"dig"}"#, &url]);
        assert_eq!(added, r#"{"id":1,"text":"dig","done":false}"#, "{name}");
        let item = format!("{url}/1");
        let done = curl(&["--request", "PUT", "--json", r#"{"done":true}"#, &item]);
        assert_eq!(done, r#"{"id":1,"text":"dig","done":true}"#, "{name}");
        assert_eq!(curl(&[&url]), format!("[{done}]"), "{name}");
        http::interrupt(&server);
        let (success, lines) = server.end();
        assert!(success && lines.iter().any(|line| line == "bye"), "{name}: {lines:?}");
    }
}
