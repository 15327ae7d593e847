//! The command beside a program that serves its page.

use std::process::{Command, Output};
use std::time::Duration;

fn top(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_liten-top")).args(arguments).output().expect("it starts")
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it is text")
}

#[liten::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_picture_has_workers_and_places_and_the_program_goes_on() {
    let server = liten::insight::serve("127.0.0.1:0").expect("a page");
    let address = server.url().to_string();
    let (place, _stuck) = (line!(), liten::spawn(std::future::pending::<()>()));
    let shown = liten::task::spawn_blocking(move || top(&["--once", &address]));
    let shown = liten::time::timeout(Duration::from_secs(60), shown).await.expect("in time");
    let shown = shown.expect("no panic");
    assert!(shown.status.success(), "{}", said(&shown.stderr));
    let text = said(&shown.stdout);
    let stuck = format!("! 1 task spawned at tools/top/tests/top.rs:{place}");
    for part in [&*stuck, "is stuck, proven", "worker  busy", "parked"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains('\x1b'), "no terminal: {text}");
}

#[liten::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_wrong_token_is_told_with_the_way_to_the_right_one() {
    let server = liten::insight::serve("127.0.0.1:0").expect("a page");
    let url = server.url().to_string();
    let (page, _) = url.split_once('#').expect("it has a token");
    let wrong = format!("{page}#wrong");
    let refused = liten::task::spawn_blocking(move || top(&["--once", &wrong])).await;
    let refused = refused.expect("no panic");
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused.stderr).contains("the token is missing or wrong"));
}

#[test]
fn no_program_and_no_address_are_told() {
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/#token", listener.local_addr().expect("its address"));
    drop(listener);
    let refused = top(&[&address]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused.stderr).contains("does the program still run?"));
    for arguments in [&[][..], &["http://127.0.0.1:1/"], &["--twice", "a", "b"]] {
        let refused = top(arguments);
        assert_eq!(refused.status.code(), Some(2));
        assert!(said(&refused.stderr).contains("usage: liten-top"), "{arguments:?}");
    }
}
