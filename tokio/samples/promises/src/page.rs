//! The page that `LITEN_INSIGHT` opens. This holds on liten alone.

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream as StdStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream};
use tokio::runtime::{Builder, Handle};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

const VARIABLE: &str = "LITEN_INSIGHT";

/// The arguments with which this program starts itself, to be looked at, and to run out of descriptors.
pub(crate) const SHOWN: &str = "shown";
pub(crate) const LACKING: &str = "lacking";

const HOUR: Duration = Duration::from_secs(3600);

/// A program that knows nothing of the page: tasks of each kind, sockets of each kind, and a task that blocks
/// its worker. It ends with its standard input.
pub(crate) fn shown() {
    let runtime =
        Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let mut set = JoinSet::new();
    runtime.block_on(async {
        let tcp = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
        let mut client =
            TcpStream::connect(tcp.local_addr().expect("an address")).await.expect("a client");
        let (mut server, _) = tcp.accept().await.expect("a connection");
        let udp = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        let path = env::temp_dir().join(format!("promises-{}", std::process::id()));
        let unix = UnixListener::bind(&path).expect("a listener");
        std::fs::remove_file(&path).expect("the file of the socket");
        let (one, other) = UnixStream::pair().expect("a pair");
        tokio::spawn(async move { tcp.accept().await.map(drop) });
        tokio::spawn(async move { client.read(&mut [0]).await });
        tokio::spawn(async move { server.read(&mut [0]).await });
        tokio::spawn(async move { udp.recv(&mut [0]).await });
        tokio::spawn(async move { unix.accept().await.map(drop) });
        tokio::spawn(async move { (one.readable().await, other) });
        Handle::current().spawn(sleep(HOUR));
        set.spawn(sleep(HOUR));
        set.spawn_on(sleep(HOUR), &Handle::current());
        spawn_blocking(|| std::thread::sleep(HOUR));
        tokio::spawn(async {
            sleep(Duration::from_millis(1)).await;
            std::thread::sleep(HOUR);
        });
        std::thread::spawn(|| {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                tokio::spawn(sleep(HOUR));
                sleep(HOUR).await;
            });
        });
    });
    _ = std::io::stdin().read(&mut [0]);
    // Its tasks do not end by themselves.
    std::process::exit(0);
}

/// Accepts without a descriptor left, and only repeats the call. Prints how often that failed in 300 ms.
pub(crate) fn lacking() {
    let runtime =
        Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let tcp = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
        let _client = StdStream::connect(tcp.local_addr().expect("an address")).expect("a client");
        let mut hoard = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            hoard.push(file);
        }
        let mut failures = 0;
        let begun = std::time::Instant::now();
        _ = timeout(Duration::from_millis(300), async {
            loop {
                tcp.accept().await.map(drop).expect_err("there is no descriptor");
                failures += 1;
            }
        })
        .await;
        println!("{failures} {}", begun.elapsed().as_millis());
    });
}

fn this(argument: &str) -> Command {
    let mut this = Command::new(env::current_exe().expect("this program has a path"));
    this.arg(argument);
    this
}

/// What its standard error says first.
fn first_line(program: &mut Child) -> String {
    let mut line = String::new();
    let said = program.stderr.as_mut().expect("a pipe");
    BufReader::new(said).read_line(&mut line).expect("a line");
    line
}

fn get(host: &str, token: &str, path: &str) -> String {
    let mut stream = StdStream::connect(host).expect("the page listens");
    let head =
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("it has a head");
    assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
    body.to_owned()
}

fn the_variable_shows_an_unmodified_program() {
    let mut program = this(SHOWN)
        .env(VARIABLE, "127.0.0.1:0")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this program can be started");
    let line = first_line(&mut program);
    let url =
        line.trim_end().strip_prefix("insight on http://").expect("it says where the page is");
    let (host, token) = url.split_once("/#").expect("it has a token");
    assert!(get(host, token, "/").starts_with("<!"));
    let json = loop {
        let json: serde_json::Value =
            serde_json::from_str(&get(host, token, "/json")).expect("it is JSON");
        if is_whole(&json) {
            break json;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    for runtime in list(&json["runtimes"]) {
        let places = list(&runtime["places"]).iter().chain(list(&runtime["task_list"]));
        for place in places.map(|place| text(&place["spawned_at"])) {
            assert!(place.contains("src/page.rs:"), "a task was spawned at {place}");
        }
        for socket in list(&runtime["sockets"]) {
            assert!(socket["descriptor"].is_u64() && socket["kind"].is_string(), "{socket}");
        }
    }
    let workers = &json["runtimes"][0];
    let finding = text(&workers["findings"][0]["text"]);
    assert!(finding.contains("src/page.rs:") && finding.contains("nanosleep"), "{finding}");
    let job = text(&workers["pool"]["jobs"][0]["spawned_at"]);
    assert!(job.contains("src/page.rs:"), "{job}");
    let mut kinds: Vec<_> =
        list(&workers["sockets"]).iter().map(|one| text(&one["kind"])).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["tcp", "tcp", "tcp", "udp", "unix", "unix", "unix"]);
    let states: Vec<_> = list(&workers["sockets"]).iter().map(|one| text(&one["state"])).collect();
    assert_eq!(states.iter().filter(|state| **state == "listens").count(), 2, "{states:?}");
    assert_eq!(states.iter().filter(|state| **state == "established").count(), 2, "{states:?}");
    drop(program.stdin.take());
    assert!(program.wait().expect("it ends").success());
}

/// All that the program has spawned is there, and the blocked worker has been seen.
fn is_whole(json: &serde_json::Value) -> bool {
    let [workers, local] = &list(&json["runtimes"])[..] else { return false };
    let counts = [workers, local].map(|runtime| runtime["tasks"]["alive"].as_u64());
    let kind = &workers["findings"][0]["kind"];
    counts == [Some(10), Some(1)]
        && kind == "blocked_worker"
        && list(&workers["task_list"]).len() == 10
        && !list(&workers["pool"]["jobs"]).is_empty()
        && list(&local["task_list"]).len() == 1
}

fn list(json: &serde_json::Value) -> &Vec<serde_json::Value> {
    json.as_array().unwrap_or_else(|| panic!("it is a list: {json}"))
}

fn text(json: &serde_json::Value) -> &str {
    json.as_str().unwrap_or_else(|| panic!("it is a text: {json}"))
}

fn a_variable_that_is_of_no_use_is_told_and_one_that_is_empty_is_none() {
    for (value, said) in [("yes", "no insight: LITEN_INSIGHT is \"yes\": "), ("", ""), (" ", "")] {
        let output =
            this("count-workers").env(VARIABLE, value).output().expect("it can be started");
        let stderr = String::from_utf8(output.stderr).expect("it is text");
        assert!(output.status.success() && stderr.starts_with(said), "{stderr}");
        assert_eq!(stderr.lines().count(), usize::from(!said.is_empty()), "{stderr}");
    }
}

fn a_loop_that_only_repeats_accept_does_not_turn() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 64 && exec \"$0\" \"$1\""]);
    shell.arg(env::current_exe().expect("this program has a path")).arg(LACKING);
    let output = shell.output().expect("it can be started");
    let printed = String::from_utf8(output.stdout).expect("it is text");
    let (failures, millis) = printed.trim().split_once(' ').unwrap_or_else(|| panic!("{printed}"));
    let [failures, millis] =
        [failures, millis].map(|number| number.parse::<u64>().expect("a number"));
    assert!(failures > 0 && failures <= millis / 10 + 1, "{failures} failures in {millis} ms");
}

/// Ends the program if the page keeps one of these waiting. Each takes a second.
fn bound() {
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(60));
        eprintln!("the page is not what it should be after a minute");
        std::process::exit(1);
    });
}

pub(crate) fn keep_all() {
    bound();
    the_variable_shows_an_unmodified_program();
    a_variable_that_is_of_no_use_is_told_and_one_that_is_empty_is_none();
    a_loop_that_only_repeats_accept_does_not_turn();
}
