//! The page of a program that has used up its descriptors.
//!
//! The program is a process of its own. It does what the test says on its standard input, a word in each
//! line, and answers each with a line on its standard error. The test asks the page from outside, because a
//! client needs descriptors as well.

use super::super::requests::{Answer, connect, read};
use super::limits::page_with_a_clock;
use super::{block, page_of};
use crate::process::unix::refuse_with;
use crate::runtime::system_limits::{hoard, limit};
use crate::support::guard::{exactly, guarded, until};
use crate::support::process::{alone, child, is_child, threads};
use liten::io::AsyncReadExt;
use liten::net::TcpListener;
use nix::sys::resource::Resource;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often a client asks until it gives up.
const TRIES: usize = 3;

/// The most that a thread which waits may go to sleep in a second: it looks at the workers 50 times, and
/// tries to accept 50 times.
const SLEEPS: u64 = 400;

/// The name of the page's thread, as the system tells it.
const PAGE: &str = "liten-insight";

/// The program, as the test has it.
struct Program {
    process: Child,
    said: BufReader<ChildStderr>,
    page: SocketAddr,
    token: String,
    /// How many descriptors it has when nothing is under way.
    at_rest: usize,
}

impl Program {
    fn start(test: &str) -> Self {
        let mut command = child(&format!("insight::page::descriptors::{test}"), &[]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut said = BufReader::new(process.stderr.take().unwrap());
        let url = next_line(&mut said);
        let url = url.strip_prefix("insight on http://").unwrap_or_else(|| panic!("{url}"));
        let (page, token) = url.split_once("/#").unwrap();
        let (page, token) = (page.parse().unwrap(), token.to_owned());
        assert_eq!(next_line(&mut said), "ready");
        let mut program = Self { process, said, page, token, at_rest: 0 };
        for path in ["/text", "/json", "/metrics"] {
            program.answer(path);
        }
        let look = |_| {
            thread::sleep(Duration::from_millis(10));
            program.descriptors()
        };
        program.at_rest = (0..50).map(look).min().unwrap();
        program
    }

    /// Has the program do something; returns what it says of it.
    fn order(&mut self, word: &str) -> String {
        writeln!(self.process.stdin.as_mut().unwrap(), "{word}").unwrap();
        next_line(&mut self.said)
    }

    fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap().count()
    }

    /// A connection to the page on which a whole request has been sent.
    fn ask(&self, path: &str) -> TcpStream {
        let Self { page, token, .. } = self;
        let mut stream = connect(*page);
        let head =
            format!("GET {path} HTTP/1.1\r\nHost: {page}\r\nAuthorization: Bearer {token}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// The answer to one of some requests.
    #[track_caller]
    fn answer(&self, path: &str) -> String {
        let answers = (0..TRIES).filter_map(|_| {
            let stream = self.ask(path);
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            read(stream).ok()
        });
        let answer: Option<Answer> = answers.into_iter().next();
        let answer = answer.unwrap_or_else(|| panic!("{path} is not answered"));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }

    /// How often the page's thread has gone to sleep in a second, and how long a processor has had it, in
    /// nanoseconds.
    fn page_in_a_second(&self) -> (u64, u64) {
        let (begun, before) = (Instant::now(), self.page_thread());
        thread::sleep(Duration::from_secs(1));
        let (after, seconds) = (self.page_thread(), begun.elapsed().as_secs_f64());
        let per_second = |after: u64, before: u64| ((after - before) as f64 / seconds) as u64;
        (per_second(after.0, before.0), per_second(after.1, before.1))
    }

    fn page_thread(&self) -> (u64, u64) {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap();
        let is_page = |path: &std::path::PathBuf| {
            fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim_end() == PAGE)
        };
        let path = tasks.map(|task| task.unwrap().path()).find(is_page).unwrap();
        let status = fs::read_to_string(path.join("status")).unwrap();
        let sleeps = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        let times = fs::read_to_string(path.join("schedstat")).unwrap();
        let processor = times.split(' ').next().unwrap();
        (sleeps.unwrap().trim().parse().unwrap(), processor.parse().unwrap())
    }

    /// It has as many descriptors as before, and the page answers.
    #[track_caller]
    fn assert_recovers(&self) {
        until(|| self.descriptors() <= self.at_rest);
        assert!(
            self.answer("/text").contains("2 sockets") || self.answer("/text").contains("runtime")
        );
        until(|| self.descriptors() <= self.at_rest);
    }

    fn end(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }
}

fn next_line(said: &mut BufReader<ChildStderr>) -> String {
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// The program: a page, a worker that is blocked, and what `fill` and `free` do.
fn run<T>(mut fill: impl FnMut() -> T) {
    limit(Resource::RLIMIT_NOFILE, 256);
    let runtime = exactly(2).build().unwrap();
    let page = page_with_a_clock(&runtime);
    let (release, _) = block(&runtime);
    until(|| !runtime.handle().dump().findings().is_empty());
    eprintln!("ready");
    let mut filled = Vec::new();
    for word in std::io::stdin().lines() {
        match &*word.unwrap() {
            "fill" => filled.push(fill()),
            "free" => filled.clear(),
            word => panic!("{word}"),
        }
        eprintln!("done");
    }
    drop((filled, release, page));
}

#[test]
fn a_program_without_a_descriptor_left_is_shown_with_all_that_is_known_of_it() {
    if is_child() {
        return run(|| hoard(0));
    }
    guarded(|| {
        let mut program = Program::start(
            "a_program_without_a_descriptor_left_is_shown_with_all_that_is_known_of_it",
        );
        for _ in 0..3 {
            // The runtime may have closed a file that it was reading.
            until(|| {
                program.order("fill");
                program.descriptors() == 256
            });
            for _ in 0..3 {
                let text = program.answer("/text");
                // Both are read from files under /proc.
                assert!(
                    text.contains("page.rs:") && text.contains("in the system call futex"),
                    "{text}"
                );
                let json: serde_json::Value =
                    serde_json::from_str(&program.answer("/json")).unwrap();
                let seen = &json["runtimes"][0];
                assert!(seen["sockets_trouble"].is_null(), "{seen}");
                assert!(!json["cost"]["processor_us"].is_null(), "{json}");
                let findings = seen["findings"].as_array().unwrap();
                let is_found = |kind| findings.iter().any(|finding| finding["kind"] == kind);
                assert!(is_found("blocked_worker"), "{seen}");
                assert!(program.answer("/metrics").contains("liten_insight_cpu_seconds_total"));
                assert!(program.answer("/").starts_with("<!"));
            }
            assert!(program.answer("/tree?task=1").lines().count() == 1);
            program.order("free");
            program.assert_recovers();
        }
        program.end();
    });
}

/// Those that were there before, and those that came when there was no descriptor left.
#[test]
fn connections_that_stand_still_keep_no_other_out_while_descriptors_are_lacking() {
    if is_child() {
        return run(|| hoard(0));
    }
    guarded(|| {
        let mut program = Program::start(
            "connections_that_stand_still_keep_no_other_out_while_descriptors_are_lacking",
        );
        let before = connect(program.page);
        // It has been accepted, and it stands still while descriptors run out.
        program.answer("/text");
        program.order("fill");
        program.answer("/text");
        // The page tells its client so, if the descriptor is not wanted at once.
        if let Ok(answer) = read(before) {
            assert_eq!(answer.status, 408);
        }
        program.answer("/text");
        // Those that the page had for the connection until then.
        program.order("fill");
        let mut open: Vec<_> = (0..20).map(|_| connect(program.page)).collect();
        program.answer("/text");
        open.extend((0..4).map(|_| {
            let mut stream = connect(program.page);
            stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
            stream
        }));
        program.answer("/text");
        let (sleeps, _) = program.page_in_a_second();
        assert!(sleeps < SLEEPS, "{sleeps} sleeps in a second");
        program.answer("/text");
        program.order("free");
        drop(open);
        program.assert_recovers();
        program.end();
    });
}

/// Takes each descriptor that there is, again and again, until it is dropped.
struct Thief(&'static AtomicBool, Option<thread::JoinHandle<()>>);

impl Thief {
    fn start() -> Self {
        static STEALS: AtomicBool = AtomicBool::new(false);
        STEALS.store(true, Ordering::SeqCst);
        let thread = thread::spawn(|| {
            let mut stolen = Vec::new();
            while STEALS.load(Ordering::SeqCst) {
                match File::open("/dev/null") {
                    Ok(file) => stolen.push(file),
                    Err(_) => thread::yield_now(),
                }
            }
        });
        Self(&STEALS, Some(thread))
    }
}

impl Drop for Thief {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
        self.1.take().unwrap().join().unwrap();
    }
}

#[test]
fn a_thread_that_steals_what_the_page_frees_leaves_it_waiting_and_not_turning() {
    if is_child() {
        return run(Thief::start);
    }
    guarded(|| {
        let mut program = Program::start(
            "a_thread_that_steals_what_the_page_frees_leaves_it_waiting_and_not_turning",
        );
        for _ in 0..3 {
            program.order("fill");
            let asked: Vec<_> = (0..20).map(|_| program.ask("/text")).collect();
            let (sleeps, _) = program.page_in_a_second();
            assert!(sleeps < SLEEPS, "{sleeps} sleeps in a second");
            program.order("free");
            // What waited is answered, or was given up; and then all is as before.
            for stream in asked {
                _ = read(stream);
            }
            program.assert_recovers();
        }
        program.end();
    });
}

/// A server that takes a failure to accept for something that passes by at once, and whose sessions wait for
/// clients that say no more.
fn careless_server() -> Vec<TcpStream> {
    let runtime: &'static _ = Box::leak(Box::new(exactly(2).build().unwrap()));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let clients = (0..150).map_while(|_| TcpStream::connect(address).ok());
    let clients = clients.collect();
    drop(runtime.spawn(async move {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else { continue };
            drop(liten::spawn(async move {
                let mut byte = [0];
                while stream.read(&mut byte).await.is_ok_and(|count| count != 0) {}
            }));
        }
    }));
    clients
}

#[test]
fn a_server_that_leaks_its_connections_is_shown() {
    if is_child() {
        return run(careless_server);
    }
    guarded(|| {
        let mut program = Program::start("a_server_that_leaks_its_connections_is_shown");
        program.order("fill");
        until(|| program.descriptors() == 256);
        for _ in 0..10 {
            assert!(program.answer("/text").contains("page.rs:"));
            assert!(program.answer("/json").starts_with('{'));
            assert!(program.answer("/metrics").starts_with("# HELP"));
        }
        program.end();
    });
}

/// The system has no connection for anyone, as when its table of open files is full.
#[test]
fn a_page_that_can_accept_nothing_waits_and_does_not_turn() {
    let test = "insight::page::descriptors::a_page_that_can_accept_nothing_waits_and_does_not_turn";
    guarded(|| {
        alone(test, || {
            refuse_with(libc::SYS_accept4, libc::ENFILE);
            let runtime = exactly(1).build().unwrap();
            let page = page_of(&runtime);
            let clients: Vec<_> = (0..20).map(|_| connect(page.local_addr())).collect();
            let sleeps = || threads(PAGE)[0].sleeps;
            let (begun, before) = (Instant::now(), sleeps());
            thread::sleep(Duration::from_secs(1));
            let count = sleeps() - before;
            let most = (SLEEPS as f64 * begun.elapsed().as_secs_f64()) as u64;
            assert!(count < most, "{count} sleeps");
            drop((clients, page));
        });
    });
}
