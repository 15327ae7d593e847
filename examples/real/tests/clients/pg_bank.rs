//! `pg_bank` with a real PostgreSQL, which each test starts for itself.

use crate::process::{self, Example};
use crate::server::{Folder, Server};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Where Debian keeps the programs of the server: not on the path, but in a folder per version.
fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<_> = versions.map(|entry| entry.path().join("bin").join(name)).collect();
    found.sort();
    found.pop().unwrap_or_else(|| name.into())
}

/// PostgreSQL refuses to run as root: then it runs as the user that its package has made.
fn command(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(program(name));
    command.current_dir(folder);
    let owner = fs::metadata(folder).expect("it has been made");
    command.uid(owner.uid()).gid(owner.gid());
    command
}

fn number(of: &str) -> u32 {
    let output = Command::new("id").args([of, "postgres"]).output().expect("id is there");
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    text.parse().unwrap_or_else(|_| panic!("there is no user postgres: {output:?}"))
}

fn postgres(name: &str) -> Server {
    let folder = Folder::new(name);
    if fs::metadata(folder.path()).expect("it has been made").uid() == 0 {
        chown(folder.path(), Some(number("-u")), Some(number("-g"))).expect("root may do that");
    }
    let data = folder.path().join("data");
    let made = command("initdb", folder.path())
        .args(["--username=postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "-D"])
        .arg(&data)
        .output()
        .expect("PostgreSQL is installed");
    assert!(made.status.success(), "{made:?}");
    let place = folder.path().to_owned();
    let server = Server::start(folder, move |port| {
        let mut command = command("postgres", &place);
        command.arg("-D").arg(&data).arg("-k").arg(&place);
        command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-c", "fsync=off"]);
        command
    });
    wait_until_ready(server.address);
    server
}

/// It listens before it lets a client in.
fn wait_until_ready(address: SocketAddr) {
    let deadline = Instant::now() + process::LIMIT;
    let mut ready = Command::new(program("pg_isready"));
    ready.args(["-q", "-h", "127.0.0.1", "-p", &address.port().to_string()]);
    while !ready.status().expect("it comes with the server").success() {
        assert!(Instant::now() < deadline, "the server does not become ready");
    }
}

fn start(address: SocketAddr, transfers: &str) -> Example {
    let mut command = Command::new(process::path("pg_bank"));
    Example::start("pg_bank", command.args([&address.to_string(), "postgres", transfers]))
}

fn psql(address: SocketAddr, query: &str) -> String {
    let mut psql = Command::new("psql");
    psql.args(["-h", "127.0.0.1", "-p", &address.port().to_string(), "-U", "postgres"]);
    let output = psql.args(["-tAc", query, "postgres"]).output().expect("psql is there");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn transfers_over_eight_connections_conserve_the_sum() {
    let server = postgres("bank");
    let lines = start(server.address, "2000").success();
    assert_eq!(lines[0], "100000 on 100 accounts");
    assert!(lines[1].starts_with("100000 after 2000 transfers, "), "{lines:?}");
    // What the bank says is what is there.
    assert_eq!(psql(server.address, "SELECT sum(balance), count(*) FROM account"), "100000|100");
    assert_ne!(psql(server.address, "SELECT count(*) FROM account WHERE balance <> 1000"), "0");
}

#[test]
fn a_server_that_dies_in_the_middle_of_a_transaction_is_an_error_and_no_hang() {
    let mut server = postgres("killed");
    let mut example = start(server.address, "100000000");
    assert_eq!(example.line(), "100000 on 100 accounts");
    server.kill();
    let error = example.errors.recv_timeout(process::LIMIT).expect("it reports an error");
    assert!(error.contains("Error"), "{error}");
    let (success, lines) = example.end();
    assert!(!success && lines.is_empty(), "{lines:?}");
}

#[test]
fn an_address_without_a_server_is_an_error() {
    // No program listens on port 1; a port that was free a moment ago may be another test's.
    let mut example = start(SocketAddr::from(([127, 0, 0, 1], 1)), "1");
    let error = example.errors.recv_timeout(process::LIMIT).expect("it reports an error");
    assert!(error.contains("refused"), "{error}");
    assert!(!example.end().0);
}

#[test]
fn a_server_that_speaks_something_else_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let garbage = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut stream, &[b'x'; 4096]).unwrap();
        stream
    });
    let mut example = start(address, "1");
    let error = example.errors.recv_timeout(process::LIMIT).expect("it reports an error");
    assert!(error.contains("Error"), "{error}");
    assert!(!example.end().0);
    drop(garbage.join().unwrap());
}
