//! What may go to another thread, and what may not: decided when this file compiles.

use liten::runtime::{
    Builder, EnterGuard, Handle, LocalExecutor, LocalRuntime, Runtime, RuntimeFlavor,
    RuntimeMetrics,
};
use liten::task::{AbortHandle, JoinError, JoinHandle, JoinSet, TaskId};
use std::cell::Cell;
use std::rc::Rc;

fn send<T: Send>() {}
fn send_and_sync<T: Send + Sync>() {}
fn owned<T: 'static>() {}
fn unpin<T: Unpin>() {}
fn unwind_safe<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}

/// Compiles only if `T` is not `Send`: otherwise there are two ways to call `ambiguous`.
macro_rules! not_send {
    ($($type:ty),*) => {$({
        trait Ambiguous<A> {
            fn ambiguous() {}
        }
        impl<T: ?Sized> Ambiguous<()> for T {}
        #[allow(dead_code)]
        struct IsSend;
        impl<T: ?Sized + Send> Ambiguous<IsSend> for T {}
        <$type as Ambiguous<_>>::ambiguous();
    })*};
}

#[test]
fn handles_go_anywhere_if_their_output_may() {
    send_and_sync::<(Runtime, Handle, Builder, RuntimeMetrics, RuntimeFlavor)>();
    send_and_sync::<(AbortHandle, TaskId, JoinError)>();
    owned::<JoinError>();
    unwind_safe::<(Runtime, Handle, JoinHandle<()>)>();
    // An output may be Send without being Sync; the handle is both all the same.
    send_and_sync::<(JoinHandle<Cell<u8>>, JoinHandle<()>)>();
    send::<JoinSet<Cell<u8>>>();
    unpin::<(JoinHandle<std::marker::PhantomPinned>, JoinSet<()>)>();
    not_send!(JoinHandle<Rc<u8>>, JoinSet<Rc<u8>>);
}

#[test]
fn what_belongs_to_a_thread_stays_there() {
    not_send!(LocalRuntime, LocalExecutor<'static>, EnterGuard<'static>);
}

#[test]
fn futures_of_the_library_may_be_spawned() {
    fn check<F: Future + Send + 'static>(_: impl FnOnce() -> F) {}
    check(|| liten::time::sleep(liten::time::Duration::ZERO));
    check(|| liten::time::timeout(liten::time::Duration::ZERO, liten::task::yield_now()));
    check(liten::task::yield_now);
    check(liten::task::consume_budget);
    check(|| liten::task::unconstrained(liten::task::yield_now()));
    check(|| liten::net::TcpStream::connect("127.0.0.1:1"));
    check(|| liten::net::UdpSocket::bind("127.0.0.1:0"));
    check(|| liten::net::lookup_host("localhost:1"));
    check(|| async {
        let listener = liten::net::TcpListener::bind("127.0.0.1:0").await?;
        let (stream, _) = listener.accept().await?;
        stream.readable().await
    });
}
