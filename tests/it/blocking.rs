//! The pool for work that blocks: bounded, named, out of the way of tasks.

mod block_in_place;
mod scope;

use crate::support::guard::{guarded, named, until, workers};
use crate::support::pool::{occupy, pool};
use crate::support::probe::{Bell, Count};
use liten::runtime::{Builder, Handle, LocalRuntime, Runtime};
use liten::task::JoinHandle;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fs;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

#[test]
fn a_job_gives_its_value_and_its_panic_back() {
    guarded(|| {
        let runtime = pool(4);
        runtime.block_on(async {
            assert_eq!(liten::spawn_blocking(|| 6 * 7).await.unwrap(), 42);
            let error = liten::spawn_blocking(|| panic!("in a job")).await.unwrap_err();
            assert_eq!(error.into_panic().downcast_ref(), Some(&"in a job"));
            // The pool has not suffered.
            for i in 0..100 {
                let job = liten::spawn_blocking(move || {
                    if i % 2 == 0 {
                        std::panic::resume_unwind(Box::new(()));
                    }
                });
                assert_eq!(job.await.is_err(), i % 2 == 0);
            }
        });
        assert!(runtime.metrics().num_blocking_threads() <= 4);
    });
}

#[test]
fn there_are_as_many_threads_as_needed_and_no_more_than_allowed() {
    guarded(|| {
        let runtime = pool(4);
        assert_eq!(runtime.metrics().num_blocking_threads(), 0, "none before the first job");
        // Four at a time: all of them have to be there at once.
        let barrier = Arc::new(Barrier::new(4));
        let jobs: Vec<_> = (0..20)
            .map(|_| {
                let barrier = Arc::clone(&barrier);
                runtime.spawn_blocking(move || {
                    barrier.wait();
                    thread::current().name().unwrap().to_owned()
                })
            })
            .collect();
        let names = runtime.block_on(async {
            let mut names = HashSet::new();
            for job in jobs {
                names.insert(job.await.unwrap());
            }
            names
        });
        let expected: HashSet<_> = (0..4).map(|i| format!("pools-blocking-{i}")).collect();
        assert_eq!(names, expected);
        assert_eq!(runtime.metrics().num_blocking_threads(), 4);
    });
}

#[test]
fn more_jobs_than_threads_wait_in_order() {
    guarded(|| {
        let runtime = pool(1);
        let release = occupy(&runtime);
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let jobs: Vec<_> = (0..100)
            .map(|i| {
                let order = Arc::clone(&order);
                runtime.spawn_blocking(move || order.lock().unwrap().push(i))
            })
            .collect();
        assert_eq!(runtime.metrics().blocking_queue_depth(), 100);
        drop(release);
        runtime.block_on(async {
            for job in jobs {
                job.await.unwrap();
            }
        });
        assert_eq!(*order.lock().unwrap(), (0..100).collect::<Vec<_>>());
        assert_eq!(runtime.metrics().blocking_queue_depth(), 0);
    });
}

#[test]
fn a_thread_without_work_goes_after_a_while() {
    guarded(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("keeps").thread_keep_alive(Duration::from_millis(30));
        let runtime = builder.build().unwrap();
        for _ in 0..3 {
            let jobs: Vec<_> = (0..8).map(|_| occupy(&runtime)).collect();
            assert_eq!(runtime.metrics().num_blocking_threads(), 8);
            drop(jobs);
            until(|| runtime.metrics().num_blocking_threads() == 0);
            #[cfg(target_os = "linux")]
            crate::support::process::until_threads_are("keeps", 1);
        }
    });
}

#[test]
fn any_idle_time_and_any_number_of_threads_will_do() {
    guarded(|| {
        for keep_alive in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
            let mut builder = Builder::new_multi_thread();
            builder
                .worker_threads(1)
                .max_blocking_threads(usize::MAX)
                .thread_keep_alive(keep_alive);
            let runtime = builder.build().unwrap();
            let jobs: Vec<_> = (0..20).map(|i| runtime.spawn_blocking(move || i)).collect();
            for (i, job) in jobs.into_iter().enumerate() {
                assert_eq!(runtime.block_on(job).unwrap(), i);
            }
            if keep_alive < Duration::MAX {
                until(|| runtime.metrics().num_blocking_threads() == 0);
            }
            assert_eq!(runtime.block_on(runtime.spawn_blocking(|| 42)).unwrap(), 42);
        }
    });
}

#[test]
fn a_thread_is_kept_for_the_next_job() {
    guarded(|| {
        let runtime = pool(8);
        let ids: HashSet<_> = runtime.block_on(async {
            let mut ids = HashSet::new();
            for _ in 0..100 {
                ids.insert(liten::spawn_blocking(|| thread::current().id()).await.unwrap());
                // The thread tells of the result before it is free again.
                while Handle::current().metrics().num_idle_blocking_threads() == 0 {
                    liten::task::yield_now().await;
                }
            }
            ids
        });
        assert_eq!(ids.len(), 1);
    });
}

#[test]
fn blocked_jobs_delay_neither_tasks_nor_timers_nor_sockets() {
    guarded(|| {
        let runtime = pool(4);
        let releases: Vec<_> = (0..4).map(|_| occupy(&runtime)).collect();
        runtime.block_on(async {
            for _ in 0..10 {
                liten::spawn(async { liten::time::sleep(Duration::from_millis(1)).await })
                    .await
                    .unwrap();
                let (client, server) = crate::support::loopback::tcp_pair().await;
                client.writable().await.unwrap();
                client.try_write(b"x").unwrap();
                server.readable().await.unwrap();
            }
        });
        drop(releases);
    });
}

#[test]
fn a_job_is_aborted_before_it_starts_and_not_afterwards() {
    guarded(|| {
        let runtime = pool(1);
        let release = occupy(&runtime);
        let ran = Count::default();
        let counted = ran.clone();
        let queued = runtime.spawn_blocking(move || counted.add());
        queued.abort();
        drop(release);
        assert!(runtime.block_on(queued).unwrap_err().is_cancelled());
        assert_eq!(ran.get(), 0);

        let bell = Bell::default();
        let begins = bell.clone();
        let (release, released) = mpsc::channel::<()>();
        let running = runtime.spawn_blocking(move || {
            begins.ring();
            let _ = released.recv();
            42
        });
        runtime.block_on(bell.wait());
        running.abort();
        drop(release);
        assert_eq!(runtime.block_on(running).unwrap(), 42);
    });
}

#[test]
fn files_are_read_and_written_on_the_pool() {
    guarded(|| {
        let runtime = workers(1);
        let path = std::env::temp_dir().join(format!("liten-test-{}", std::process::id()));
        let (writes, reads) = (path.clone(), path.clone());
        let text = runtime.block_on(async {
            let contents = "line\n".repeat(10_000);
            liten::spawn_blocking(move || fs::write(writes, contents)).await.unwrap().unwrap();
            liten::spawn_blocking(move || fs::read_to_string(reads)).await.unwrap().unwrap()
        });
        fs::remove_file(&path).unwrap();
        assert_eq!(text.lines().count(), 10_000);
        let missing = runtime.spawn_blocking(move || fs::read(path));
        let error = runtime.block_on(missing).unwrap().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    });
}

#[test]
fn jobs_are_inside_the_runtime_and_no_tasks() {
    guarded(|| {
        let runtime = named(1, "jobsw");
        let job = runtime.spawn_blocking(|| {
            let name = liten::spawn(async { thread::current().name().unwrap().to_owned() });
            let inner = liten::spawn_blocking(|| 1);
            (name, inner)
        });
        runtime.block_on(async {
            let (name, inner) = job.await.unwrap();
            assert_eq!(name.await.unwrap(), "jobsw-0");
            assert_eq!(inner.await.unwrap(), 1);
        });
    });
}

/// The thread that ends the runtime is the only one that could cancel what is queued behind it.
#[test]
fn a_job_that_ends_its_runtime_finds_queued_work_cancelled() {
    guarded(|| {
        let runtime = pool(1);
        let handle = runtime.handle().clone();
        let (send, queued) = mpsc::channel::<JoinHandle<()>>();
        let first = handle.spawn_blocking(move || {
            let second = queued.recv().unwrap();
            drop(runtime);
            smol::block_on(second).unwrap_err().is_cancelled()
        });
        send.send(handle.spawn_blocking(|| ())).unwrap();
        assert!(smol::block_on(first).unwrap());
    });
}

/// Its caller may have said how long it waits, or be a task that must not block.
#[test]
fn destructors_of_queued_work_do_not_run_on_the_thread_that_ends_the_runtime() {
    struct Waits(mpsc::Receiver<()>, mpsc::Sender<()>);
    impl Drop for Waits {
        fn drop(&mut self) {
            let _ = self.0.recv();
            self.1.send(()).unwrap();
        }
    }
    let ends: [fn(Runtime); 2] = [Runtime::shutdown_background, |runtime| {
        drop(runtime.shutdown_timeout(Duration::from_millis(1)))
    }];
    guarded(|| {
        for end in ends {
            let runtime = pool(1);
            let release = occupy(&runtime);
            let ((go_on, wait), (send, over)) = (mpsc::channel(), mpsc::channel());
            let waits = Waits(wait, send);
            let job = runtime.spawn_blocking(move || drop(waits));
            end(runtime);
            drop(release);
            drop(go_on);
            over.recv().unwrap();
            assert!(smol::block_on(job).unwrap_err().is_cancelled());
        }
    });
}

/// A runtime in a thread-local of a thread of its own pool ends with that thread, while another one ends.
#[test]
fn a_runtime_may_end_with_a_thread_of_its_own_pool() {
    thread_local!(static KEPT: RefCell<Option<Keeper>> = const { RefCell::new(None) });
    struct Keeper(Option<Runtime>, mpsc::Sender<()>);
    impl Drop for Keeper {
        fn drop(&mut self) {
            let runtime = self.0.take().unwrap();
            until(|| runtime.metrics().num_blocking_threads() == 0);
            drop(runtime);
            self.1.send(()).unwrap();
        }
    }
    guarded(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).thread_keep_alive(Duration::from_millis(1));
        let runtime = builder.build().unwrap();
        let (other, (over, ended)) = (occupy(&runtime), mpsc::channel());
        let (give, given) = mpsc::channel::<Runtime>();
        drop(runtime.spawn_blocking(move || {
            let keeper = Keeper(Some(given.recv().unwrap()), over);
            KEPT.with(|kept| *kept.borrow_mut() = Some(keeper));
        }));
        give.send(runtime).unwrap();
        drop(other);
        ended.recv().unwrap();
    });
}

#[test]
fn a_local_runtime_has_a_pool_too() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        runtime.block_on(async {
            for i in 0..50 {
                assert_eq!(liten::spawn_blocking(move || i).await.unwrap(), i);
            }
        });
    });
}
