//! The page's sentences name the cause and its place.

use super::requests::body;
use crate::support::guard::{guarded, until, workers};
use liten::insight::{Builder, Server};
use liten::net::TcpStream;
use liten::runtime::{Handle, LocalRuntime, Runtime};
use liten::sync::{Mutex, RwLock, Semaphore, oneshot};
use liten::task::{LocalSet, block_in_place, spawn_local};
use liten::time::{Duration, sleep, timeout};
use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread;

pub(super) fn page_of(handle: &Handle) -> Server {
    Builder::new().observe(handle).serve("127.0.0.1:0").unwrap()
}

/// The sentences that say what is wrong.
fn said(page: &Server) -> Vec<String> {
    let text = body(page, "/text");
    let sentences = text.lines().filter_map(|line| line.strip_prefix("! "));
    sentences.map(str::to_owned).collect()
}

/// Waits for a sentence that has all of these parts.
pub(super) fn until_said(page: &Server, parts: &[&str]) {
    until(|| said(page).iter().any(|said| parts.iter().all(|part| said.contains(part))));
}

/// A place in this file.
fn at(line: u32) -> String {
    format!("{}:{line}:", file!())
}

#[test]
fn the_future_of_block_on_that_blocks_is_named_by_its_call() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(runtime.handle());
        let (release, held) = mpsc::channel::<()>();
        let line = line!() + 1;
        let thread = thread::spawn(move || runtime.block_on(async move { _ = held.recv() }));
        until_said(&page, &["the future of block_on at ", &at(line), " has been in one poll for "]);
        drop(release);
        thread.join().unwrap();
    });
}

#[test]
fn a_task_that_blocks_a_local_runtime_is_named_and_not_its_root() {
    guarded(|| {
        let (release, held) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let line = line!() + 5;
        let thread = thread::spawn(move || {
            let runtime = LocalRuntime::new().unwrap();
            tell.send(runtime.handle().clone()).unwrap();
            let task = async move { _ = held.recv() };
            runtime.block_on(async { spawn_local(task).await.unwrap() });
        });
        let page = page_of(&told.recv().unwrap());
        until_said(&page, &[&at(line), ", has kept the thread of its executor in one poll for "]);
        assert!(said(&page).iter().all(|said| !said.contains("block_on")), "{:?}", said(&page));
        drop(release);
        thread.join().unwrap();
    });
}

/// Its thread is known, also beside workers: so what it does is told, too.
#[test]
#[cfg(target_os = "linux")]
fn a_task_that_blocks_the_thread_of_a_local_set_is_named_with_what_the_thread_does() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(runtime.handle());
        let (release, held) = mpsc::channel::<()>();
        let handle = runtime.handle().clone();
        let line = line!() + 3;
        let thread = thread::spawn(move || {
            let set = LocalSet::new();
            let blocks = set.spawn_local(async move { _ = held.recv() });
            handle.block_on(set.run_until(blocks)).unwrap();
        });
        until_said(&page, &[&at(line), ", has kept the thread of its executor ", "call futex"]);
        drop(release);
        thread.join().unwrap();
    });
}

/// One request is enough, also the first.
#[test]
fn the_first_answer_names_a_future_of_block_on_that_computes() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(runtime.handle());
        let ((release, held), (tell, told)) = (mpsc::channel::<()>(), mpsc::channel());
        let handle = runtime.handle().clone();
        let line = line!() + 2;
        let thread = thread::spawn(move || {
            handle.block_on(async {
                tell.send(()).unwrap();
                _ = held.recv();
            });
        });
        told.recv().unwrap();
        let said = said(&page);
        let is_told =
            |said: &String| said.contains("the future of block_on at ") && said.contains(&at(line));
        assert!(said.iter().any(is_told), "{said:?}");
        drop(release);
        thread.join().unwrap();
    });
}

#[test]
fn tasks_that_panic_are_counted_by_place_and_no_slow_poll_advises_on_them() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(runtime.handle());
        let line = line!() + 1;
        let spawn = || runtime.spawn(async { panic!("for a test") });
        for _ in 0..2 {
            assert!(runtime.block_on(spawn()).unwrap_err().is_panic());
        }
        let parts = ["2 tasks spawned at ", &at(line), " panicked, the last one, task "];
        until_said(&page, &parts);
        drop(page);
        let dump = runtime.handle().dump();
        assert!(dump.findings().iter().any(|found| found.to_string().contains(parts[1])));
    });
}

#[test]
fn tasks_of_a_local_set_are_listed() {
    guarded(|| {
        let runtime = workers(1);
        let _page = page_of(runtime.handle());
        runtime.block_on(async {
            let set = LocalSet::new();
            let task = set.spawn_local(pending::<()>());
            set.run_until(liten::task::yield_now()).await;
            let listed = |handle: &Handle| handle.tasks().any(|seen| seen.id() == task.id());
            assert!(listed(&Handle::current()));
            assert_eq!(Handle::current().dump().alive_tasks(), 1);
            drop(set);
            assert!(!listed(&Handle::current()));
        });
    });
}

#[test]
fn tasks_of_a_local_set_that_was_made_outside_are_listed_when_it_runs() {
    guarded(|| {
        let runtime = workers(1);
        let _page = page_of(runtime.handle());
        for runs_to_its_end in [false, true] {
            let mut set = LocalSet::new();
            let task = set.spawn_local(pending::<()>());
            let listed = || runtime.handle().tasks().filter(|seen| seen.id() == task.id()).count();
            assert_eq!(listed(), 0);
            if runs_to_its_end {
                let few = timeout(Duration::from_millis(1), &mut set);
                assert!(runtime.block_on(few).is_err());
            } else {
                runtime.block_on(set.run_until(liten::task::yield_now()));
            }
            assert_eq!(listed(), 1);
            drop(set);
            assert_eq!(listed(), 0);
        }
    });
}

/// Holds a lock and waits for a timer, while two tasks want it.
fn hold_for_an_hour(runtime: &Runtime) -> u32 {
    let lock = Arc::new(Mutex::new(()));
    let theirs = lock.clone();
    let place = line!() + 1;
    let held = runtime.spawn(async move {
        let _held = theirs.lock().await;
        sleep(Duration::from_secs(3600)).await;
    });
    until(|| lock.try_lock().is_err());
    for _ in 0..2 {
        let lock = lock.clone();
        drop(runtime.spawn(async move { drop(lock.lock().await) }));
    }
    drop(held);
    place
}

/// Reads, and wants to read again behind one that wants to write.
fn read_twice(runtime: &Runtime) {
    let lock = Arc::new(RwLock::new(()));
    let (theirs, (go, went)) = (lock.clone(), oneshot::channel::<()>());
    drop(runtime.spawn(async move {
        let _outer = theirs.read().await;
        went.await.unwrap();
        drop(theirs.read().await);
    }));
    until(|| lock.try_write().is_err());
    let theirs = lock.clone();
    drop(runtime.spawn(async move { drop(theirs.write().await) }));
    until(|| lock.try_read().is_err());
    go.send(()).unwrap();
}

fn forget_permits(runtime: &Runtime) {
    let limit = Arc::new(Semaphore::new(2));
    limit.try_acquire_many(2).unwrap().forget();
    drop(runtime.spawn(async move { drop(limit.acquire().await) }));
}

/// Connects again and again to a port on which nothing listens. Returns the line of the spawn.
fn connect_in_vain(runtime: &Runtime) -> u32 {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    drop(socket);
    let place = line!() + 1;
    drop(runtime.spawn(async move {
        while TcpStream::connect(address).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    }));
    place
}

/// What is told after ten seconds, at once for all.
#[test]
fn what_tasks_have_waited_for_long_is_told_with_its_end() {
    guarded(|| {
        let runtime = workers(2);
        let page = page_of(runtime.handle());
        let (holder, connects) = (hold_for_an_hour(&runtime), connect_in_vain(&runtime));
        read_twice(&runtime);
        forget_permits(&runtime);
        let (release, held) = mpsc::channel::<()>();
        drop(runtime.spawn(async move { block_in_place(|| _ = held.recv()) }));
        let thread = {
            let (handle, (leave, left)) = (runtime.handle().clone(), mpsc::channel::<()>());
            let thread = thread::spawn(move || {
                let _inside = handle.enter();
                let set = LocalSet::new();
                let (wake, woken) = oneshot::channel::<()>();
                let polled = Rc::new(Cell::new(false));
                let by_task = polled.clone();
                drop(set.spawn_local(async move {
                    by_task.set(true);
                    woken.await
                }));
                handle.block_on(set.run_until(async {
                    while !polled.get() {
                        liten::task::yield_now().await;
                    }
                }));
                wake.send(()).unwrap();
                _ = left.recv();
            });
            (leave, thread)
        };
        let first = [
            "2 tasks wait for a Mutex (#",
            &at(holder),
            ", waits for a timer in 35",
            "; waiting: 2 spawned at ",
        ];
        until_said(&page, &first);
        until_said(&page, &["reads it and waits to read it again, behind those that wait"]);
        until_said(
            &page,
            &["1 task waits for a Semaphore (#", "2 permits are out, 2 of them forg"],
        );
        until_said(&page, &[&at(connects), " have failed to connect ", "refused"]);
        until_said(&page, &[", has blocked worker ", " in place for "]);
        until_said(
            &page,
            &["1 task of a LocalSet or LocalExecutor is ready, and nothing has polled"],
        );
        drop((release, thread.0));
        thread.1.join().unwrap();
    });
}

#[test]
fn a_runtime_with_findings_comes_before_those_without() {
    guarded(|| {
        let (well, sick) = (workers(1), workers(1));
        let page = Builder::new()
            .observe(well.handle())
            .observe(sick.handle())
            .serve("127.0.0.1:0")
            .unwrap();
        drop(sick.spawn(pending::<()>()));
        until(|| body(&page, "/text").starts_with("! 1 task spawned at "));
    });
}
