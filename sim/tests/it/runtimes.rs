//! liten and tokio, unmodified, on hosts of their own.

use std::env;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use liten_sim::{Check, check};

/// The same two programs on one runtime: a server that echoes, and a client with ten connections.
macro_rules! echo_on {
    ($runtime:ident, $module:ident) => {
        mod $module {
            use $runtime::io::{AsyncReadExt, AsyncWriteExt, copy};
            use $runtime::net::{TcpListener, TcpStream};

            #[$runtime::main]
            pub async fn server() {
                let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    $runtime::spawn(async move {
                        let (mut read, mut write) = stream.into_split();
                        let _ = copy(&mut read, &mut write).await;
                    });
                }
            }

            #[$runtime::main]
            pub async fn client() {
                let mut tasks = Vec::new();
                for i in 0..10 {
                    tasks.push($runtime::spawn(async move {
                        let mut stream = TcpStream::connect("server:80").await.unwrap();
                        for _ in 0..20 {
                            let sent = vec![i; 100];
                            stream.write_all(&sent).await.unwrap();
                            let mut got = vec![0; 100];
                            stream.read_exact(&mut got).await.unwrap();
                            assert_eq!(got, sent);
                        }
                    }));
                }
                for task in tasks {
                    task.await.unwrap();
                }
            }
        }
    };
}

echo_on!(liten, on_liten);
echo_on!(tokio, on_tokio);

#[test]
fn connections_echo_on_liten() {
    check(50, |sim| {
        sim.host("server", on_liten::server);
        std::thread::sleep(Duration::from_millis(50));
        sim.client("client", on_liten::client);
    });
}

#[test]
fn connections_echo_on_tokio() {
    check(50, |sim| {
        sim.host("server", on_tokio::server);
        std::thread::sleep(Duration::from_millis(50));
        sim.client("client", on_tokio::client);
    });
}

/// A main function that looks again and again for what a worker does, and only yields in between.
#[liten::main(worker_threads = 1)]
async fn yields_until_a_task_has_run() {
    let has_run = Arc::new(AtomicBool::new(false));
    let flag = has_run.clone();
    liten::spawn(async move { flag.store(true, Ordering::Relaxed) });
    while !has_run.load(Ordering::Relaxed) {
        liten::task::yield_now().await;
    }
}

#[test]
fn a_root_that_yields_gives_its_turn_back() {
    check(20, |sim| sim.client("program", yields_until_a_task_has_run));
}

/// Tasks that take turns on few workers, timers and blocking jobs: every thread of the runtime
/// takes part.
#[liten::main]
async fn mixed() {
    let mut tasks = Vec::new();
    for i in 0..20_u64 {
        tasks.push(liten::spawn(async move {
            for _ in 0..5 {
                liten::task::yield_now().await;
                liten::time::sleep(Duration::from_millis(i % 3)).await;
            }
            liten::task::spawn_blocking(move || i).await.unwrap()
        }));
    }
    let mut sum = 0;
    for task in tasks {
        sum += task.await.unwrap();
    }
    assert_eq!(sum, 190);
}

#[test]
fn every_thread_of_a_runtime_takes_part() {
    Check::new().seeds(100).run(|sim| sim.client("program", mixed));
}

/// Two tasks that make no call to the system. The later one is to be polled later.
#[liten::main(worker_threads = 2)]
async fn two_in_order() {
    let count = Arc::new(AtomicU64::new(0));
    // Relaxed: it is the only thing that the tasks share.
    let next = |count: &Arc<AtomicU64>| {
        let count = count.clone();
        async move { count.fetch_add(1, Ordering::Relaxed) }
    };
    let first = liten::spawn(next(&count));
    let second = liten::spawn(next(&count));
    assert_eq!((first.await.unwrap(), second.await.unwrap()), (0, 1));
}

#[test]
#[should_panic(expected = "left: (1, 0)")]
fn a_poll_may_begin_later_than_that_of_a_later_task() {
    check(64, |sim| sim.client("program", two_in_order));
}

/// Twenty tasks that yield, of which some are left behind.
#[liten::main(worker_threads = 3)]
async fn many_that_yield() {
    let mut tasks = Vec::new();
    for i in 0..20 {
        tasks.push(liten::spawn(async move {
            for _ in 0..20 {
                liten::task::yield_now().await;
            }
            i
        }));
    }
    for (i, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), i);
    }
}

#[test]
fn slow_tasks_come_to_their_ends() {
    Check::new()
        .seeds(64)
        .limit(Duration::from_secs(60))
        .run(|sim| sim.client("program", many_that_yield));
}

/// Threads are born and end, hosts crash, and both runtimes run. It fails at its end, so that the
/// report has the hash.
#[test]
#[should_panic(expected = "the end")]
fn fails_at_its_end() {
    check(1, |sim| {
        sim.host("server", on_liten::server);
        std::thread::sleep(Duration::from_millis(50));
        sim.client("client", on_tokio::client);
        sim.client("program", mixed);
        std::thread::sleep(Duration::from_millis(sim.random_below(20)));
        sim.crash("program");
        sim.restart("program");
        sim.settle(Duration::from_secs(60));
        sim.fail("the end");
    });
}

/// The hash of the run above.
fn hash(seed: u64, baton: &str) -> String {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "runtimes::fails_at_its_end", "--nocapture"]);
    command.env("LITEN_SIM_SEED", seed.to_string()).env("LITEN_SIM_BATON", baton);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    let found = text.split_once("reproducible: hash ").and_then(|(_, rest)| rest.get(..16));
    found.unwrap_or_else(|| panic!("no hash:\n{text}")).to_owned()
}

#[test]
fn a_seed_means_the_same_whether_turns_go_through_the_kernel_or_not() {
    for seed in 0..5 {
        assert_eq!(hash(seed, "kernel"), hash(seed, ""), "seed {seed}");
    }
}
