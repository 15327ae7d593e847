use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use liten_sim::{Check, check};

#[test]
fn threads_meet() {
    check(50, |sim| {
        sim.client("a", || {
            let begun = Instant::now();
            let (sender, receiver) = mpsc::channel();
            let threads: Vec<_> = (0..4)
                .map(|i| {
                    let sender = sender.clone();
                    thread::spawn(move || {
                        thread::sleep(Duration::from_secs(i));
                        sender.send(i).unwrap();
                    })
                })
                .collect();
            threads.into_iter().for_each(|t| t.join().unwrap());
            let got: Vec<u64> = receiver.try_iter().collect();
            assert_eq!(got, [0, 1, 2, 3]);
            assert!(begun.elapsed() >= Duration::from_secs(3));
            assert!(begun.elapsed() < Duration::from_secs(4));
        });
    });
}

#[test]
fn std_sockets() {
    check(50, |sim| {
        sim.host("server", || {
            let listener = TcpListener::bind("0.0.0.0:80").unwrap();
            for stream in listener.incoming() {
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let mut bytes = Vec::new();
                    stream.read_to_end(&mut bytes).unwrap();
                    stream.write_all(&bytes).unwrap();
                });
            }
        });
        sim.client("client", || {
            thread::sleep(Duration::from_millis(100));
            for i in 1..10 {
                let mut stream = TcpStream::connect("server:80").unwrap();
                let sent = vec![i as u8; i * 10_000];
                stream.write_all(&sent).unwrap();
                stream.shutdown(std::net::Shutdown::Write).unwrap();
                let mut got = Vec::new();
                stream.read_to_end(&mut got).unwrap();
                assert_eq!(got, sent);
            }
        });
    });
}

fn counter(body: impl Future<Output = u32>) -> impl Future<Output = u32> {
    body
}

async fn flaky() -> u32 {
    let counter = Arc::new(liten::sync::Mutex::new(0u32));
    let tasks: Vec<_> = (0..2)
        .map(|i| {
            let counter = counter.clone();
            liten::spawn(async move {
                let mut guard = counter.lock().await;
                if *guard == i {
                    *guard += 1;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let value = *counter.lock().await;
    value
}

#[test]
fn tokio_7888() {
    check(200, |sim| {
        sim.client("a", || {
            let runtime =
                liten::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
            assert_eq!(runtime.block_on(flaky()), 2);
        });
    });
}

#[test]
fn liten_echo() {
    check(50, |sim| {
        sim.host("server", || {
            liten::runtime::Builder::new_multi_thread().build().unwrap().block_on(async {
                let listener = liten::net::TcpListener::bind("0.0.0.0:80").await.unwrap();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    liten::spawn(async move {
                        let (mut read, mut write) = stream.into_split();
                        let _ = liten::io::copy(&mut read, &mut write).await;
                    });
                }
            })
        });
        sim.client("client", || {
            liten::runtime::Builder::new_multi_thread().build().unwrap().block_on(async {
                use liten::io::{AsyncReadExt, AsyncWriteExt};
                liten::time::sleep(Duration::from_millis(100)).await;
                let tasks: Vec<_> = (0..10)
                    .map(|i| {
                        liten::spawn(async move {
                            let mut stream =
                                liten::net::TcpStream::connect("server:80").await.unwrap();
                            for _ in 0..20 {
                                let sent = vec![i as u8; 100];
                                stream.write_all(&sent).await.unwrap();
                                let mut got = vec![0; 100];
                                stream.read_exact(&mut got).await.unwrap();
                                assert_eq!(got, sent);
                            }
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await.unwrap();
                }
            })
        });
    });
}

#[test]
fn tokio_echo() {
    check(50, |sim| {
        sim.host("server", || {
            tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(
                async {
                    let listener = tokio::net::TcpListener::bind("0.0.0.0:80").await.unwrap();
                    loop {
                        let (stream, _) = listener.accept().await.unwrap();
                        tokio::spawn(async move {
                            let (mut read, mut write) = stream.into_split();
                            let _ = tokio::io::copy(&mut read, &mut write).await;
                        });
                    }
                },
            )
        });
        sim.client("client", || {
            tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(
                async {
                    use tokio::io::{AsyncReadExt, AsyncWriteExt};
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    let tasks: Vec<_> = (0..10)
                        .map(|i| {
                            tokio::spawn(async move {
                                let mut stream =
                                    tokio::net::TcpStream::connect("server:80").await.unwrap();
                                for _ in 0..20 {
                                    let sent = vec![i as u8; 100];
                                    stream.write_all(&sent).await.unwrap();
                                    let mut got = vec![0; 100];
                                    stream.read_exact(&mut got).await.unwrap();
                                    assert_eq!(got, sent);
                                }
                            })
                        })
                        .collect();
                    for task in tasks {
                        task.await.unwrap();
                    }
                },
            )
        });
    });
}
