//! How a runtime without workers ends: when all tasks have, when it is dropped, in a bounded time.

use super::{HOUR, MS, current_thread};
use crate::support::guard::{guarded, until};
use crate::support::probe::{Count, OnDrop};
use futures_io::AsyncWrite;
use liten::runtime::{LocalRuntime, Runtime};
use liten::task::yield_now;
use liten::time::sleep;
use std::future::pending;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;

#[test]
fn dropping_it_drops_its_tasks_on_that_thread_and_ends_its_threads() {
    guarded(|| {
        for driven in [false, true] {
            let (runtime, dropped) = (current_thread(), Count::default());
            let (waits, spawned) = (OnDrop(dropped.clone()), OnDrop(dropped.clone()));
            let task = runtime.spawn(async move {
                let _waits = waits;
                pending::<()>().await;
            });
            let never_run = runtime.spawn(async move { drop(spawned) });
            never_run.abort();
            let (started, start) = mpsc::channel();
            let ended = Count::default();
            let job = runtime.spawn_blocking({
                let ended = ended.clone();
                move || {
                    started.send(()).unwrap();
                    thread::sleep(MS * 10);
                    ended.add();
                }
            });
            start.recv().unwrap();
            if driven {
                runtime.block_on(yield_now());
            }
            // Neither the thread that made it nor one that drove.
            let handle = runtime.handle().clone();
            thread::spawn(move || drop(runtime)).join().unwrap();
            assert_eq!((dropped.get(), ended.get()), (2, 1));
            assert!(smol::block_on(task).unwrap_err().is_cancelled());
            assert!(smol::block_on(never_run).unwrap_err().is_cancelled());
            smol::block_on(job).unwrap();
            let late = handle.spawn(async {});
            assert!(smol::block_on(late).unwrap_err().is_cancelled(), "spawned after the end");
            assert!(smol::block_on(handle.spawn_blocking(|| ())).unwrap_err().is_cancelled());
        }
    });
}

/// As on tokio: the pool ends after the tasks.
#[test]
fn blocking_work_that_a_destructor_gives_at_the_end_runs() {
    struct GivesWork(Count);

    impl Drop for GivesWork {
        fn drop(&mut self) {
            let ended = self.0.clone();
            drop(liten::spawn_blocking(move || ended.add()));
        }
    }

    guarded(|| {
        for local in [false, true] {
            let ended = Count::default();
            let (waits, never_run) = (GivesWork(ended.clone()), GivesWork(ended.clone()));
            let task = async move {
                let _waits = waits;
                pending::<()>().await;
            };
            let unpolled = async move { drop(never_run) };
            if local {
                let runtime = LocalRuntime::new().unwrap();
                drop(runtime.spawn_local(task));
                runtime.block_on(yield_now());
                drop(runtime.spawn_local(unpolled));
            } else {
                let runtime = current_thread();
                drop(runtime.spawn(task));
                runtime.block_on(yield_now());
                drop(runtime.spawn(unpolled));
            }
            assert_eq!(ended.get(), 2);
        }
    });
}

/// Blocking work that goes on until it is told to end.
fn stuck(runtime: &Runtime) -> mpsc::Sender<()> {
    let (end, ends) = mpsc::channel::<()>();
    let (started, start) = mpsc::channel();
    drop(runtime.spawn_blocking(move || {
        started.send(()).unwrap();
        let _ = ends.recv();
    }));
    start.recv().unwrap();
    end
}

#[test]
fn a_bounded_shutdown_says_what_it_leaves_behind() {
    guarded(|| {
        let (runtime, dropped) = (current_thread(), Count::default());
        let kept = OnDrop(dropped.clone());
        drop(runtime.spawn(async move { drop(kept) }));
        let end = stuck(&runtime);
        assert_eq!(runtime.shutdown_timeout(MS).len(), 1);
        assert_eq!(dropped.get(), 1);
        drop(end);

        let runtime = current_thread();
        drop(runtime.spawn(pending::<()>()));
        assert_eq!(runtime.shutdown_timeout(HOUR).len(), 0);
    });
}

#[test]
fn a_shutdown_in_the_background_waits_for_nothing() {
    guarded(|| {
        let (runtime, dropped) = (current_thread(), Count::default());
        let kept = OnDrop(dropped.clone());
        drop(runtime.spawn(async move { drop(kept) }));
        let end = stuck(&runtime);
        runtime.shutdown_background();
        assert_eq!(dropped.get(), 1);
        drop(end);
    });
}

/// Another thread goes on writing to files while the runtime is dropped: what has been accepted has been
/// written when the drop returns, with one thread for all of it.
#[cfg(unix)]
#[test]
fn accepted_writes_are_done_when_a_drop_returns() {
    use liten::runtime::Builder;
    use std::io::{Read, Write, pipe};
    use std::os::fd::OwnedFd;
    use std::sync::Barrier;

    guarded(|| {
        for round in 0..200 {
            let runtime = Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
            let (metrics, handle) = (runtime.metrics(), runtime.handle().clone());
            let (free, start) = (stuck(&runtime), &Barrier::new(2));
            let (mut readers, writers): (Vec<_>, Vec<_>) = (0..50).map(|_| pipe().unwrap()).unzip();
            let std_files =
                writers.into_iter().map(|writer| std::fs::File::from(OwnedFd::from(writer)));
            let std_files: Vec<_> = std_files.collect();
            let files = std_files.iter().map(|file| file.try_clone().unwrap());
            let mut files: Vec<_> = files.map(liten::fs::File::from_std).collect();
            thread::scope(|scope| {
                let writes = scope.spawn(move || {
                    let _entered = handle.enter();
                    start.wait();
                    let refused = files.iter_mut().position(|file| !is_accepted(file));
                    let accepted = refused.unwrap_or(files.len());
                    (files, accepted)
                });
                let end = scope.spawn(move || {
                    start.wait();
                    (0..round * 10).for_each(|_| std::hint::spin_loop());
                    drop(runtime);
                });
                let (_files, accepted) = writes.join().unwrap();
                let last = accepted.checked_sub(1);
                // The last write waits until the test reads.
                last.inspect(|last| (&std_files[*last]).write_all(&[0; 65_536]).unwrap());
                drop(free);
                if let Some(last) = last {
                    until(|| metrics.blocking_queue_depth() == 0);
                    assert!(!end.is_finished(), "before the last of {accepted} writes");
                    readers[last].read_exact(&mut [0; 65_536]).unwrap();
                }
                end.join().unwrap();
                for reader in &mut readers[..accepted] {
                    reader.read_exact(&mut [0]).unwrap();
                }
            });
        }
    });
}

/// Whether the runtime takes a write, which it does in the background.
#[cfg(unix)]
fn is_accepted(file: &mut liten::fs::File) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    matches!(Pin::new(file).poll_write(&mut cx, b"x"), Poll::Ready(Ok(1)))
}

#[test]
fn it_runs_until_no_task_is_alive() {
    guarded(|| {
        let (runtime, ended) = (current_thread(), Count::default());
        runtime.block_until_completion();
        let child = ended.clone();
        drop(runtime.spawn(async move {
            sleep(MS).await;
            drop(liten::spawn(async move {
                sleep(MS).await;
                child.add();
            }));
        }));
        runtime.block_until_completion();
        assert_eq!(ended.get(), 1);
        // A pinned task has a thread of its own, and a timer that needs one that drives.
        let pinned = ended.clone();
        drop(runtime.spawn_pinned(move || async move {
            sleep(MS).await;
            let task = liten::spawn(async move {
                sleep(MS).await;
                pinned.add();
            });
            drop(task);
        }));
        runtime.block_until_completion();
        assert_eq!(ended.get(), 2);
    });
}
