//! `spawn_local` in a `LocalRuntime` that has been entered, and does not run yet.

use crate::support::guard::guarded;
use crate::support::probe::{Count, OnDrop};
use liten::runtime::LocalRuntime;
use liten::task::{spawn_local, yield_now};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::thread;

#[test]
fn a_task_of_an_entered_runtime_runs_in_its_next_block_on() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        let _entered = runtime.handle().enter();
        let kept = Rc::new(5);
        let task = spawn_local(async move {
            yield_now().await;
            *kept
        });
        assert_eq!(runtime.block_on(task).unwrap(), 5);
    });
}

#[test]
fn the_runtime_that_runs_goes_before_the_one_that_was_entered() {
    guarded(|| {
        let (entered, runs) = (LocalRuntime::new().unwrap(), LocalRuntime::new().unwrap());
        let _entered = entered.enter();
        let alive = || (entered.metrics().num_alive_tasks(), runs.metrics().num_alive_tasks());
        runs.block_on(async { drop(spawn_local(pending::<()>())) });
        assert_eq!(alive(), (0, 1));
        drop(spawn_local(pending::<()>()));
        assert_eq!(alive(), (1, 1));
    });
}

#[test]
fn a_task_that_comes_after_the_end_is_cancelled() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        let handle = runtime.handle().clone();
        drop(runtime);
        let _entered = handle.enter();
        let drops = Count::default();
        let held = OnDrop(drops.clone());
        let task = spawn_local(async move { drop(held) });
        assert_eq!(drops.get(), 1);
        assert!(liten::block_on(task).unwrap_err().is_cancelled());
    });
}

#[test]
fn on_another_thread_it_is_refused() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        let handle = runtime.handle().clone();
        let refused = thread::spawn(move || {
            let _entered = handle.enter();
            catch_unwind(AssertUnwindSafe(|| drop(spawn_local(async {})))).unwrap_err()
        });
        let payload = refused.join().unwrap();
        let message = payload.downcast_ref::<&str>().copied().map(str::to_owned);
        let message = message.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap();
        assert!(message.contains("from the thread the runtime was created on"), "{message}");
        assert_eq!(runtime.metrics().num_alive_tasks(), 0);
    });
}
