use super::*;
use std::task::{Context, Waker};

/// A thread that waits for nothing leaves no waker behind: no code would take it out.
#[test]
fn a_look_at_a_quiet_runtime_leaves_no_waker() {
    let runtime = CurrentThread::new(Driver::new(1).expect("a selector"));
    let look = pin!(runtime.wait_until_quiet());
    assert!(look.poll(&mut Context::from_waker(Waker::noop())).is_ready());
    assert!(runtime.quiet.lock().is_empty());
}
