//! Runtimes inside of others, liten's in tokio's and the other way round: the innermost counts.

use crate::guard::{guarded, workers};
use crate::{assert_tokio_works, helper, here};
use liten::runtime::LocalRuntime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn tokios(threads: usize) -> tokio::runtime::Runtime {
    let mut builder = match threads {
        0 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    builder.worker_threads(threads.max(1)).enable_all().build().unwrap()
}

/// More turns of an always ready socket than a task of tokio has budget for.
async fn many_turns() {
    let (mut left, mut right) = tokio::io::duplex(64);
    for _ in 0..1_000 {
        left.write_all(b"x").await.unwrap();
        right.read_exact(&mut [0]).await.unwrap();
    }
    assert_tokio_works().await;
}

#[test]
fn a_root_runs_on_a_thread_of_tokios() {
    guarded(|| {
        let (helper, local) = (helper(), LocalRuntime::new().unwrap());
        for threads in [0, 1, 2] {
            let outer = tokios(threads);
            outer.block_on(async {
                let own = here();
                assert_ne!(own, Some(helper));
                assert_eq!(liten::block_on(async { here() }), Some(helper));
                assert_eq!(here(), own, "it is as it was");
                // Not even the driver of the outer runtime turns meanwhile.
                liten::block_on(many_turns());
                local.block_on(many_turns());
                assert_eq!(here(), own);
                assert_tokio_works().await;
            });
            if threads != 0 {
                // On a worker, whose budget is that of a task.
                let inner = outer.spawn(async { liten::block_on(many_turns()) });
                outer.block_on(inner).unwrap();
            }
            let pool = outer.spawn_blocking(|| liten::block_on(many_turns()));
            outer.block_on(pool).unwrap();
        }
    });
}

/// The helper has one thread for all sockets and timers of tokio: a root that waited for them in one of its
/// tasks would wait for ever.
#[test]
fn a_task_of_the_helper_must_not_block() {
    guarded(|| {
        let runtime = std::sync::Arc::new(workers(1));
        let blocks = |runtime: &liten::runtime::Runtime| runtime.block_on(assert_tokio_works());
        let (task, local) = (runtime.clone(), LocalRuntime::new().unwrap());
        local.block_on(async {
            let task = tokio::spawn(async move { blocks(&task) });
            let panic = task.await.unwrap_err().into_panic();
            let message = panic.downcast_ref::<&str>().copied().map(str::to_owned);
            let message = message.or(panic.downcast_ref::<String>().cloned()).unwrap();
            assert!(message.contains("used to drive asynchronous tasks"), "{message}");
            let anywhere = tokio::spawn(async { liten::block_on(async {}) });
            assert!(anywhere.await.unwrap_err().is_panic());

            // Where tokio itself may be blocked.
            let inner = runtime.clone();
            tokio::task::spawn_blocking(move || blocks(&inner)).await.unwrap();
            let in_place = async move { tokio::task::block_in_place(|| blocks(&runtime)) };
            tokio::spawn(in_place).await.unwrap();
        });
    });
}

#[test]
fn a_runtime_of_the_users_own_counts_inside() {
    guarded(|| {
        let (helper, runtime) = (Some(helper()), workers(2));
        let body = move || {
            for threads in [0, 1] {
                let own = tokios(threads);
                let id = Some(own.handle().id());
                assert_eq!(own.block_on(async { here() }), id);
                own.block_on(assert_tokio_works());
                let entered = own.enter();
                assert_eq!(here(), id);
                drop(entered);
                assert_eq!(here(), helper);
            }
        };
        runtime.block_on(runtime.spawn(async move { body() })).unwrap();
        runtime.block_on(runtime.spawn_blocking(body)).unwrap();
        runtime.block_on(async { body() });
        runtime.block_on(runtime.spawn(assert_tokio_works())).unwrap();
    });
}

/// liten does not mind, and so tokio must not.
#[test]
fn guards_may_go_in_the_order_of_their_making() {
    guarded(|| {
        let (first, second) = (workers(1), LocalRuntime::new().unwrap());
        let (one, two, three) = (first.enter(), second.enter(), first.enter());
        assert_eq!(here(), Some(helper()));
        drop((one, two, three));
        assert_eq!(here(), None);
        first.block_on(assert_tokio_works());
    });
}

#[test]
fn a_runtime_may_be_used_inside_of_another() {
    guarded(|| {
        let (outer, inner) = (workers(1), std::sync::Arc::new(workers(1)));
        let helper = Some(helper());
        let job = outer.spawn_blocking({
            let inner = inner.clone();
            move || {
                inner.block_on(assert_tokio_works());
                assert_eq!(here(), helper);
                let _entered = inner.enter();
                assert_eq!(here(), helper);
            }
        });
        outer.block_on(job).unwrap();
    });
}
