//! Child processes without any I/O trait.

use liten::process::Command;

#[test]
fn a_child_says_something_and_ends() {
    liten::block_on(async {
        let output = Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]).output();
        let output = output.await.unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
    });
}

#[test]
fn a_child_is_killed() {
    liten::block_on(async {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        child.kill().await.unwrap();
        assert!(!child.wait().await.unwrap().success());
    });
}
