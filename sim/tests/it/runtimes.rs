//! liten and tokio, unmodified, on hosts of their own.

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
