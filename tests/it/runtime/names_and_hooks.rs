//! What a runtime and its threads are called, how they are told apart, and what is called around their
//! sleeps.

use crate::support::guard::{guarded, until};
use crate::support::probe::Bell;
use liten::runtime::{Builder, Handle, Runtime, is_rt_shutdown_err, worker_index};
use liten::task::{LocalSet, block_in_place, spawn_pinned};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

fn each_flavor() -> [Builder; 2] {
    let mut workers = Builder::new_multi_thread();
    workers.worker_threads(1).max_spare_workers(0);
    [workers, Builder::new_current_thread()]
}

#[test]
fn a_runtime_has_an_id_of_its_own_and_may_have_a_name() {
    guarded(|| {
        let mut ids = HashSet::new();
        for mut builder in each_flavor() {
            let nameless = builder.build().unwrap();
            assert_eq!(nameless.handle().name(), None);
            let named = builder.name("billing").build().unwrap();
            let handle = named.block_on(async { Handle::current() });
            assert_eq!((handle.id(), handle.name()), (named.handle().id(), Some("billing")));
            assert!(format!("{named:?}").contains("billing"));
            ids.extend([nameless.handle().id(), named.handle().id()]);
        }
        ids.insert(LocalSet::new().id());
        assert_eq!(ids.len(), 5, "all differ");
        assert_eq!(ids.iter().map(ToString::to_string).collect::<HashSet<_>>().len(), 5);
    });
}

#[test]
fn a_function_names_each_thread() {
    guarded(|| {
        let next = AtomicUsize::new(0);
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name_fn(move || match next.fetch_add(1, Ordering::Relaxed) {
                1 => "with\0zero".to_owned(),
                number => format!("made-{number}"),
            })
            .build()
            .unwrap();
        let name = || thread::current().name().unwrap().to_owned();
        let names: HashSet<_> = runtime.block_on(async {
            let worker = liten::spawn(async move { name() }).await.unwrap();
            let pool = liten::spawn_blocking(name).await.unwrap();
            let pinned = spawn_pinned(move || async move { name() }).await.unwrap();
            [worker, pool, pinned].into()
        });
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(names.iter().all(|name| name.starts_with("made-") || name == "withzero"));
    });
}

/// The thread is made all the same; the panic hook has told of it.
#[test]
fn a_function_that_panics_leaves_a_thread_without_a_name() {
    guarded(|| {
        let runtime = Builder::new_current_thread()
            .thread_name_fn(|| panic!("no name comes to mind"))
            .build()
            .unwrap();
        let name = runtime.spawn_blocking(|| thread::current().name().map(str::to_owned));
        assert_eq!(runtime.block_on(name).unwrap().as_deref(), Some(""));
    });
}

#[test]
fn a_worker_knows_its_index() {
    guarded(|| {
        assert_eq!(worker_index(), None);
        let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
        runtime.block_on(async {
            assert_eq!(worker_index(), None, "a root is no worker");
            let tasks: Vec<_> = (0..100)
                .map(|_| {
                    liten::spawn(async {
                        let name = thread::current().name().unwrap().to_owned();
                        let index = worker_index().unwrap();
                        assert!(name.ends_with(&format!("-{index}")), "{name}, but {index}");
                        block_in_place(|| assert_eq!(worker_index(), None));
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(liten::spawn_blocking(worker_index).await.unwrap(), None);
            assert_eq!(spawn_pinned(|| async { worker_index() }).await.unwrap(), None);
        });
    });
}

#[test]
fn without_workers_the_thread_that_drives_has_the_index_0() {
    guarded(|| {
        let local = Builder::new_current_thread().build_local().unwrap();
        assert_eq!(local.block_on(async { worker_index() }), Some(0));
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            assert_eq!(worker_index(), Some(0));
            assert_eq!(liten::spawn(async { worker_index() }).await.unwrap(), Some(0));
            thread::scope(|scope| {
                let others = scope.spawn(|| {
                    let in_line = runtime.block_on(async { worker_index() });
                    (in_line, runtime.handle().block_on(async { worker_index() }))
                });
                assert_eq!(others.join().unwrap(), (None, None), "they only poll their roots");
            });
        });
        assert_eq!(worker_index(), None);
    });
}

/// Counts calls of the two hooks.
fn counted(builder: &mut Builder) -> (Runtime, Arc<[AtomicUsize; 2]>) {
    let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let (parks, unparks) = (counts.clone(), counts.clone());
    builder
        .on_thread_park(move || {
            parks[0].fetch_add(1, Ordering::SeqCst);
        })
        .on_thread_unpark(move || {
            unparks[1].fetch_add(1, Ordering::SeqCst);
        });
    (builder.build().unwrap(), counts)
}

#[test]
fn hooks_are_called_around_each_sleep() {
    guarded(|| {
        for mut builder in each_flavor() {
            let (runtime, counts) = counted(&mut builder);
            let read = |hook: usize| counts[hook].load(Ordering::SeqCst);
            let metrics = runtime.metrics();
            for _ in 0..3 {
                let before = read(1);
                runtime.block_on(async {
                    // Several times: a worker that is late finds that the time has passed, and does not sleep
                    // for this task.
                    while read(1) == before {
                        let task = liten::spawn(liten::time::sleep(Duration::from_millis(1)));
                        task.await.unwrap();
                    }
                });
            }
            // The number of parks first: the worker may be about to park.
            let parks = metrics.worker_park_count(0);
            assert!(read(0) as u64 >= parks);
            assert!(read(1) <= read(0));
            drop(runtime);
            assert_eq!(read(0), read(1), "each sleep has ended");
        }
    });
}

/// Its worker has looked for work in vain, and looks for none until the hook returns.
#[test]
fn a_hook_that_takes_long_keeps_no_task_from_the_other_workers() {
    guarded(|| {
        let (armed, called, released) =
            (Arc::new(AtomicBool::new(false)), Bell::default(), Bell::default());
        let runtime = {
            let (armed, called, released) = (armed.clone(), called.clone(), released.clone());
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(2).on_thread_park(move || {
                if armed.swap(false, Ordering::SeqCst) {
                    called.ring();
                    until(|| released.is_rung());
                }
            });
            builder.build().unwrap()
        };
        let metrics = runtime.metrics();
        let are_asleep = || (0..2).all(|worker| metrics.worker_park_unpark_count(worker) % 2 == 1);
        until(are_asleep);
        armed.store(true, Ordering::SeqCst);
        runtime.block_on(runtime.spawn(async {})).unwrap();
        until(|| called.is_rung());
        let task = runtime.spawn(async {});
        until(|| task.is_finished());
        released.ring();
    });
}

/// In the runtime's context, and before the thread sleeps: nothing else would wake it.
#[test]
fn what_a_hook_spawns_is_run() {
    guarded(|| {
        for mut builder in each_flavor() {
            let (bell, left) = (Bell::default(), AtomicUsize::new(3));
            let rings = bell.clone();
            let runtime = builder
                .on_thread_park(move || {
                    let one_less = |left: usize| left.checked_sub(1);
                    let left = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
                    let rings = (left == Ok(1)).then(|| rings.clone());
                    if left.is_ok() {
                        drop(liten::spawn(async move {
                            assert_eq!(worker_index(), Some(0));
                            rings.inspect(Bell::ring);
                        }));
                    }
                })
                .build()
                .unwrap();
            runtime.block_on(bell.wait());
        }
    });
}

#[test]
fn a_hook_that_panics_costs_no_thread() {
    guarded(|| {
        for mut builder in each_flavor() {
            let runtime = builder
                .on_thread_park(|| panic!("before a sleep"))
                .on_thread_unpark(|| panic!("after a sleep"))
                .build()
                .unwrap();
            let task = runtime.spawn(async {
                liten::time::sleep(Duration::from_millis(1)).await;
                liten::spawn(async { 1 }).await.unwrap()
            });
            assert_eq!(runtime.block_on(task).unwrap(), 1);
            until(|| runtime.metrics().num_alive_tasks() == 0);
        }
    });
}

/// A thread-local of the program may ask when that of the runtime is gone.
#[cfg(target_os = "linux")]
#[test]
fn a_thread_that_ends_has_forgotten_its_runtime() {
    struct Asks(std::sync::mpsc::Sender<(bool, bool)>);
    impl Drop for Asks {
        fn drop(&mut self) {
            let error = Handle::try_current().unwrap_err();
            let answers = (error.is_missing_context(), error.is_thread_local_destroyed());
            self.0.send(answers).unwrap();
        }
    }
    thread_local! {
        static ASKS: std::cell::RefCell<Option<Asks>> = const { std::cell::RefCell::new(None) };
    }
    guarded(|| {
        let error = Handle::try_current().unwrap_err();
        assert!(error.is_missing_context() && !error.is_thread_local_destroyed());
        let (told, hear) = std::sync::mpsc::channel();
        let thread = thread::spawn(|| {
            // The first to be made is the last to go.
            ASKS.set(Some(Asks(told)));
            assert!(Handle::try_current().is_err());
        });
        thread.join().unwrap();
        assert_eq!(hear.recv().unwrap(), (false, true));
    });
}

/// Whatever noticed it: the driver, the pool for blocking work, the workers.
#[test]
fn what_the_end_of_a_runtime_prevents_can_be_told_from_other_errors() {
    guarded(|| {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let socket = runtime.block_on(liten::net::UdpSocket::bind("127.0.0.1:0")).unwrap();
        let handle = runtime.handle().clone();
        drop(runtime);
        let _entered = handle.enter();
        let waiting = smol::block_on(socket.readable()).unwrap_err();
        let resized = handle.set_worker_threads(2).unwrap_err();
        let file = smol::block_on(liten::fs::read("Cargo.toml")).unwrap_err();
        for error in [waiting, resized, file] {
            assert!(is_rt_shutdown_err(&error), "{error}");
        }
        for error in [
            std::io::Error::other("the runtime that drives this source has been shut down"),
            handle.set_worker_threads(0).unwrap_err(),
            std::io::ErrorKind::Other.into(),
        ] {
            assert!(!is_rt_shutdown_err(&error), "{error}");
        }
    });
}
