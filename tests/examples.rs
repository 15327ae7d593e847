//! Runs the examples as their users do, and checks what they print, answer and return.

#[path = "examples/http.rs"]
mod http;
#[path = "examples/http_hello.rs"]
mod http_hello;
#[path = "examples/process.rs"]
mod process;
#[path = "examples/sick.rs"]
mod sick;
#[path = "examples/sick_cases.rs"]
mod sick_cases;

use http::connect;
use process::{Example, LIMIT};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

const ANY_PORT: &[&str] = &["127.0.0.1:0"];

fn start(name: &str, arguments: &[&str]) -> Example {
    Example::start(name, Command::new(process::path(name)).args(arguments))
}

/// The next line that it writes to its standard error.
#[track_caller]
fn error(example: &Example) -> String {
    example.errors.recv_timeout(LIMIT).expect("it reports an error")
}

/// Reads exactly `expected`.
#[track_caller]
fn expect(mut stream: &TcpStream, expected: &str) {
    let mut read = vec![0; expected.len()];
    stream.read_exact(&mut read).unwrap();
    assert_eq!(String::from_utf8_lossy(&read), expected);
}

/// Sends a short text and expects it back.
#[track_caller]
fn expect_echo(mut stream: &TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).unwrap();
    expect(stream, text);
}

/// The number at `prefix` NUMBER `suffix`.
#[track_caller]
fn number(line: &str, prefix: &str, suffix: &str) -> u64 {
    let middle = line.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
    let number = middle.and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| panic!("{line:?} is not {prefix:?} NUMBER {suffix:?}"))
}

#[test]
fn hello_greets_from_main_and_from_a_task() {
    let lines = start("hello", &[]).success();
    assert_eq!(lines, ["hello from main", "hello from a task"]);
}

#[test]
fn timers_run_at_the_same_time() {
    let lines = start("timers", &[]).success();
    assert_eq!(lines.len(), 10);
    // Which of two futures in a `join!` is polled first is not said.
    let (mut starts, mut ends) = (lines[..2].to_vec(), lines[2..4].to_vec());
    starts.sort();
    ends.sort();
    assert_eq!(starts, ["first: start", "second: start"]);
    assert_eq!(ends, ["first: done", "second: done"]);
    // Nor which of two workers is first: one that the system does not let run starts when the other is done.
    let tasks = &lines[5..9];
    for name in ["third", "fourth"] {
        let place = |what| tasks.iter().position(|line| *line == format!("{name}: {what}"));
        let (start, end) = (place("start").expect("it starts"), place("done").expect("it ends"));
        assert!(start < end, "{tasks:?}");
    }
    for (line, prefix) in [(&lines[4], "in one task: "), (&lines[9], "in two tasks: ")] {
        // Never early. How late is the machine's matter.
        let total = number(line, prefix, " ms");
        assert!(total >= 1000, "{total} ms");
    }
}

/// On Linux only: elsewhere the locks of std and the poller have memory of their own.
#[cfg(target_os = "linux")]
#[test]
fn no_allocation_counts_none_while_connections_stay() {
    let lines = start("no_allocation", &[]).success();
    assert_eq!(lines, ["8 connections, 8000 messages: 0 allocations"]);
}

/// Sends one datagram to `udp_reverse` and returns the answer.
fn reversed(datagram: &[u8]) -> Vec<u8> {
    let example = start("udp_reverse", ANY_PORT);
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.set_read_timeout(Some(LIMIT)).unwrap();
    client.send_to(datagram, example.address()).unwrap();
    let mut answer = [0; 64];
    let length = client.recv(&mut answer).unwrap();
    let client = client.local_addr().unwrap();
    assert_eq!(example.success(), [format!("answered {client} with {length} bytes")]);
    answer[..length].to_vec()
}

#[test]
fn udp_reverse_answers_one_datagram_reversed_and_ends() {
    assert_eq!(reversed(b"bar"), b"rab");
    assert_eq!(reversed(b""), b"");
}

/// Windows reports a datagram that is cut off as an error.
#[cfg(not(windows))]
#[test]
fn udp_reverse_has_room_for_ten_bytes() {
    assert_eq!(reversed(b"0123456789abcdefghij"), b"9876543210");
}

#[test]
fn chat_greets_prompts_and_quotes_many_clients() {
    const GREETING: &str = "Welcome! Say something, and I will quote you.\n> ";
    let server = start("chat", ANY_PORT);
    let address = server.address();

    let mut first = connect(address);
    let first_address = first.local_addr().unwrap();
    expect(&first, GREETING);
    assert_eq!(server.line(), format!("{first_address} came"));
    // In the middle of its line, the first client does not hold up the second.
    first.write_all(b"I am sl").unwrap();

    let mut second = connect(address);
    let second_address = second.local_addr().unwrap();
    expect(&second, GREETING);
    assert_eq!(server.line(), format!("{second_address} came"));
    second.write_all("naïve\r\ntwo\n".as_bytes()).unwrap();
    expect(&second, "You said: \"naïve\"\n> You said: \"two\"\n> ");
    drop(second);
    assert_eq!(server.line(), format!("{second_address} left after 2 lines"));

    first.write_all(b"ow\n").unwrap();
    expect(&first, "You said: \"I am slow\"\n> ");
    // A line without end comes back in pieces of 1024 bytes.
    first.write_all(&[b'x'; 2500]).unwrap();
    first.shutdown(std::net::Shutdown::Write).unwrap();
    for piece in [1024, 1024, 452] {
        expect(&first, &format!("You said: \"{}\"\n> ", "x".repeat(piece)));
    }
    assert_eq!(server.line(), format!("{first_address} left after 4 lines"));
    assert_eq!(first.read(&mut [0]).unwrap(), 0);
}

#[test]
fn chat_survives_clients_that_break_off() {
    let server = start("chat", ANY_PORT);
    let address = server.address();
    for _ in 0..20 {
        let mut client = connect(address);
        let client_address = client.local_addr().unwrap();
        assert_eq!(server.line(), format!("{client_address} came"));
        // With answers unread, this resets the connection instead of closing it.
        client.write_all(&b"gone\n".repeat(100)).unwrap();
        drop(client);
        let line = server.line();
        let reported = ["left after ", "was lost: "].map(|what| format!("{client_address} {what}"));
        assert!(reported.iter().any(|start| line.starts_with(start)), "{line}");
    }
    expect(&connect(address), "Welcome!");
}

#[test]
fn echo_server_gives_every_byte_back_and_keeps_nothing() {
    let server = start("echo_server", ANY_PORT);
    let address = server.address();
    expect_echo(&connect(address), "to begin with");
    #[cfg(target_os = "linux")]
    let before = server.descriptors();

    let lines = start("echo_load", &[&address.to_string(), "200", "10"]).success();
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("200 connections, 2000 messages, "), "{}", lines[0]);

    #[cfg(target_os = "linux")]
    process::eventually("the server has closed its sockets", || server.descriptors() <= before);
    expect_echo(&connect(address), "and at the end");
}

/// Two processes, as in the article.
#[test]
fn start_signal_brings_messages_from_one_process_to_the_other() {
    let receiver = start("start_signal", &["receive", "127.0.0.1:0"]);
    let address = receiver.address().to_string();
    let sender = start("start_signal", &["send", &address, "3"]);
    assert_eq!(receiver.success(), ["message 1", "message 2", "message 3"]);
    assert_eq!(sender.success(), ["waiting for the start signal", "sent 3 messages"]);
}

/// The receiver is the test: it gives the signal in two parts, and nothing comes before it is complete.
#[test]
fn start_signal_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let sender = start("start_signal", &["send", &address, "1"]);
    let (mut stream, _) = listener.accept().unwrap();
    assert_eq!(sender.line(), "waiting for the start signal");
    for part in ["G", "O\n"] {
        // A sender that does not wait has plenty of time to show it.
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let early = stream.read(&mut [0; 64]).expect_err("a message before the signal");
        assert!(matches!(early.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{early}");
        stream.write_all(part.as_bytes()).unwrap();
    }
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut messages = String::new();
    stream.read_to_string(&mut messages).unwrap();
    assert_eq!(messages, "message 1\n");
    assert_eq!(sender.success(), ["sent 1 messages"]);
}

#[test]
fn start_signal_refuses_another_signal() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut sender = start("start_signal", &["send", &address, "1"]);
    let (mut stream, _) = listener.accept().unwrap();
    stream.write_all(b"NO\n").unwrap();
    assert_eq!(sender.end(), (false, vec!["waiting for the start signal".to_owned()]));
    assert!(error(&sender).contains("not the start signal"));
}

#[test]
fn echo_server_reports_an_address_that_is_taken() {
    let first = start("echo_server", ANY_PORT);
    let address = first.address();
    let mut second = start("echo_server", &[&address.to_string()]);
    let (success, lines) = second.end();
    assert!(!success && lines.is_empty(), "{lines:?}");
    let error = error(&second);
    assert!(error.contains("AddrInUse"), "{error}");
    expect_echo(&connect(address), "the first one is unharmed");
}

/// A shell lowers the number of descriptors that the server may have.
#[cfg(unix)]
#[test]
fn echo_server_outlives_a_lack_of_descriptors() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 40 && exec \"$0\" \"$@\""]).arg(process::path("echo_server"));
    let server = Example::start("echo_server", shell.args(ANY_PORT));
    let address = server.address();

    // Those that are not accepted wait in the listener's queue.
    let mut clients: Vec<TcpStream> = (0..60).map(|_| connect(address)).collect();
    let error = error(&server);
    assert!(error.starts_with("accept: ") && error.contains("open files"), "{error}");
    expect_echo(&clients[0], "still served");
    let last = clients.split_off(59).remove(0);
    drop(clients);
    expect_echo(&last, "served as soon as others have left");
}

/// Answers each connection with `answer` of what it reads, as long as the test runs.
fn serve(answer: fn(&mut [u8])) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                // An error means that the client has gone, having seen what it wanted to see.
                while let Ok(length @ 1..) = stream.read(&mut buffer) {
                    answer(&mut buffer[..length]);
                    if stream.write_all(&buffer[..length]).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[test]
fn echo_load_checks_every_byte() {
    let honest = serve(|_| ()).to_string();
    let lines = start("echo_load", &[&honest, "3", "5"]).success();
    assert!(lines[0].starts_with("3 connections, 15 messages, "), "{}", lines[0]);

    let wrong = serve(|bytes| bytes[0] ^= 1).to_string();
    let mut load = start("echo_load", &[&wrong, "3", "5"]);
    let (success, lines) = load.end();
    assert!(!success && lines.is_empty(), "{lines:?}");
    let error = error(&load);
    assert!(error.contains("other bytes came back"), "{error}");
}

#[test]
fn echo_load_says_how_it_is_called() {
    for arguments in [&["127.0.0.1:1"][..], &["nowhere", "1", "1"], &["127.0.0.1:1", "0", "1"]] {
        let mut load = start("echo_load", arguments);
        let (success, _) = load.end();
        assert!(!success, "{arguments:?}");
        let error = error(&load);
        assert!(error.contains("usage: echo_load ADDR CONNECTIONS MESSAGES"), "{error}");
    }
}

#[test]
fn ten_sockets_shows_which_way_polls_how_many() {
    let lines = start("ten_sockets", &[]).success();
    assert_eq!(
        lines,
        [
            "polls per packet with join_all: 10",
            "polls per packet with spawn: 1",
            "polls per packet with FuturesUnordered: 1",
        ]
    );
}

#[test]
fn blocked_workers_shows_delays_and_culprits() {
    let lines = start("blocked_workers", &[]).success();
    let (tables, culprits): (Vec<_>, Vec<_>) =
        lines.into_iter().partition(|line| line.contains(" workers free, worst of "));
    assert_eq!(tables.len(), 2, "{tables:?}");
    for (free, line) in ["1 of 4", "0 of 4"].into_iter().zip(tables) {
        assert!(line.starts_with(free) && line.contains("socket "), "{line}");
    }
    // Three workers, then four; each of them by one of the two spawns in the source.
    assert_eq!(culprits.len(), 7, "{culprits:?}");
    let place = "spawned at examples/blocked_workers.rs:";
    assert!(culprits.iter().all(|line| line.replace('\\', "/").contains(place)), "{culprits:?}");
}

#[test]
fn stress_balances_its_books() {
    let lines = start("stress", &["1", "7"]).success();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("seed 7: ") && lines[0].contains(" tasks = "), "{}", lines[0]);
}

/// The order is the proof: the calls that block return after all of the rest. Had one of them held up another
/// call, a file, a job or a tick, the example would not get so far.
#[test]
fn blocking_files_reads_and_ticks_while_calls_block() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let lines = start("blocking_files", &[file, "no such file"]).success();
    assert_eq!(lines.len(), 6, "{lines:?}");
    assert_eq!(lines[0], "4 calls block");
    let length = number(&lines[1], &format!("{file}: "), " bytes");
    assert_eq!(length, std::fs::metadata(file).unwrap().len());
    assert!(lines[2].starts_with("no such file: "), "{}", lines[2]);
    assert!(lines[3].starts_with("a panicking job: task "), "{}", lines[3]);
    assert!(lines[3].ends_with(" panicked: a bug in the job"), "{}", lines[3]);
    // How late a tick is, is the machine's matter.
    number(&lines[4], "10 ticks of 50 ms, the latest ", " ms late");
    assert_eq!(lines[5], "4 calls have returned");
}

/// Writes to its standard input from a thread of its own, and returns what it wrote to the two others.
fn shout(input: &'static [u8], keep_open: bool) -> (Vec<u8>, String) {
    let mut command = Command::new(process::path("shout"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = thread::spawn(move || {
        stdin.write_all(input).unwrap();
        keep_open.then_some(stdin)
    });
    let (mut output, mut errors) = (Vec::new(), String::new());
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert!(child.wait().unwrap().success());
    drop(writer.join().unwrap());
    (output, errors)
}

#[test]
fn shout_passes_on_every_line_and_loses_none_at_the_end() {
    let input: &'static str = "a line of some length, over and over\n".repeat(20_000).leak();
    let (output, errors) = shout(input.as_bytes(), false);
    assert_eq!(errors, "20000 lines\n");
    assert!(output == input.to_uppercase().as_bytes(), "{} bytes differ", output.len());
}

#[test]
fn shout_ends_while_a_read_of_its_input_is_pending() {
    let (output, errors) = shout(b"hello\nbye\n", true);
    assert_eq!((&output[..], &errors[..]), (&b"HELLO\n"[..], "1 lines\n"));
}
