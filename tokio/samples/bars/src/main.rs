//! Obeys commands on stdin, one per line, and answers each with one line on stdout:
//!
//! | command | does | answers |
//! |---|---|---|
//! | `work NAME COUNT` | so many operations, in a task | the nanoseconds that they took |
//! | `serve NAME` | starts a server | its address |
//! | `polls NAME OPERATIONS` | so many operations that are ready at once | two numbers of polls |
//!
//! The two numbers say how often the future that does the operations was polled in a task, and in `block_on`.
//! The end of stdin ends the program.

mod channels;
mod locks;
mod polls;
mod servers;
mod tasks;

use std::error::Error;
use std::io;
use std::time::Instant;
use tokio::runtime::{Builder, Runtime};

type Answer = Result<String, Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    for line in io::stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words[..] {
            ["work", name, count] => work(&runtime, name, count.parse()?),
            ["serve", name] => serve(&runtime, name),
            ["polls", name, operations] => polls(&runtime, name, operations.parse()?),
            _ => Err(format!("`{line}` is no command").into()),
        };
        println!("{}", answer?);
    }
    Ok(())
}

fn work(runtime: &Runtime, name: &str, count: usize) -> Answer {
    let name = name.to_owned();
    let task = runtime.spawn(async move {
        let start = Instant::now();
        match &*name {
            "spawn" => tasks::spawn(count).await,
            "spawn_100" => tasks::spawn_hundred(count).await,
            "yield" => tasks::yield_one(count).await,
            "yield_100" => tasks::yield_hundred(count).await,
            "timeout" => tasks::timeout(count).await,
            "connect" => servers::connect(count).await,
            "mpsc_1_to_1" => channels::mpsc(count, 1).await,
            "mpsc_16_to_1" => channels::mpsc(count, 16).await,
            "oneshot" => channels::oneshot(count).await,
            "watch" => channels::watch(count).await,
            "mutex" => locks::mutex(count).await,
            "mutex_rivals" => locks::mutex_rivals(count).await,
            "semaphore" => locks::semaphore(count).await,
            "notify" => locks::notify(count).await,
            _ => panic!("there is no work named {name}"),
        }
        start.elapsed()
    });
    Ok(runtime.block_on(task)?.as_nanos().to_string())
}

fn serve(runtime: &Runtime, name: &str) -> Answer {
    let address = match name {
        "echo" => runtime.block_on(servers::echo()),
        "http" => runtime.block_on(servers::http()),
        _ => return Err(format!("there is no server named {name}").into()),
    };
    Ok(address?.to_string())
}

fn polls(runtime: &Runtime, name: &str, operations: usize) -> Answer {
    let task = runtime.spawn(polls::count(name.to_owned(), operations));
    let in_task = runtime.block_on(task)?;
    let in_root = runtime.block_on(polls::count(name.to_owned(), operations));
    Ok(format!("{in_task} {in_root}"))
}
