use super::Exit;
use crate::process::system::Process;
use std::future::poll_fn;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Ends when its input does.
fn started(script: &str) -> Child {
    Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap()
}

/// Has ended, and the standard library knows how.
fn ended() -> Child {
    let mut ended = started("exit 0");
    assert!(ended.wait().unwrap().success());
    ended
}

/// A process with the descriptor of the one child and the id of the other: so the two look if the id was
/// given to the other child after code of the program had waited for the first one.
///
/// `None`: the system has no such descriptors.
fn mixed(child: &Child) -> Option<Process> {
    let exit = Exit::of(child).unwrap();
    matches!(exit, Exit::Descriptor(_)).then(|| Process { child: ended(), exit, status: None })
}

async fn wait(process: &mut Process) -> ExitStatus {
    poll_fn(|cx| process.poll_wait(cx)).await.unwrap()
}

#[test]
#[allow(clippy::zombie_processes, reason = "the process with the descriptor reaps the child")]
fn the_end_is_that_of_the_descriptor_and_not_of_the_id() {
    crate::block_on(async {
        let mut child = started("read line; exit 3");
        let Some(mut process) = mixed(&child) else { return };
        assert_eq!(process.try_wait().unwrap(), None, "the child lives");
        drop(child.stdin.take());
        assert_eq!(wait(&mut process).await.code(), Some(3));
        // The child is reaped: the system has told its end once, and the process remembers it.
        let status = process.try_wait().unwrap().expect("it has ended");
        assert_eq!(status.code(), Some(3));
        assert_eq!(wait(&mut process).await, status);
        process.kill().unwrap();

        let mut child = started("read line");
        let Some(mut process) = mixed(&child) else { return };
        child.kill().unwrap();
        let status = wait(&mut process).await;
        assert_eq!((status.code(), status.signal()), (None, Some(9)));
    });
}
