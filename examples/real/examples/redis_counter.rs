//! A counter in Redis: many tasks count over one connection, and hear of it by a subscription on another one.
//!
//! ```sh
//! cargo run --release -p real --example redis_counter -- 127.0.0.1:6379 1000
//! ```
//!
//! Address and how far each of the ten tasks counts. It prints what the counter has become, and fails if that
//! is not the number of increments.
//!
//! redis-rs is given a stream instead of an address: its constructors take any stream with tokio's I/O traits
//! and hand back the future that drives the connection, which is spawned on liten. The one for a subscription
//! spawns its driver itself, on tokio: for that one line the example needs the feature `tokio-context`.

use liten::future::StreamExt;
use liten::net::TcpStream;
use liten::task::JoinSet;
use liten::time::{Duration, timeout};
use redis::aio::{MultiplexedConnection, PubSub};
use redis::{AsyncCommands, AsyncConnectionConfig, RedisConnectionInfo};
use std::error::Error;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const TASKS: u64 = 10;
const PATIENCE: Duration = Duration::from_secs(10);
const KEY: &str = "liten:counter";
const NEWS: &str = "liten:news";

async fn stream(address: &str) -> Result<TcpStream> {
    let stream = timeout(PATIENCE, TcpStream::connect(address)).await??;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn connect(address: &str) -> Result<MultiplexedConnection> {
    let stream = stream(address).await?;
    let info = RedisConnectionInfo::default();
    // The other constructor's driver borrows the information, and could not be spawned.
    // Its own limit for an answer is half a second.
    let config = AsyncConnectionConfig::default().set_response_timeout(Some(PATIENCE));
    let opened = MultiplexedConnection::new_with_config(&info, stream, config);
    let (connection, driver) = timeout(PATIENCE, opened).await??;
    liten::spawn(driver);
    Ok(connection)
}

#[liten::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:6379".to_owned());
    let count: u64 = arguments.next().map_or(Ok(100), |text| text.parse())?;

    let mut listener =
        PubSub::new(&RedisConnectionInfo::default(), stream(&address).await?).await?;
    listener.subscribe(NEWS).await?;
    let mut connection = connect(&address).await?;
    let _: () = connection.del(KEY).await?;

    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        // A clone is another sender into the same connection.
        let mut connection = connection.clone();
        tasks.spawn(async move {
            for _ in 0..count {
                let _: u64 = connection.incr(KEY, 1).await?;
            }
            redis::RedisResult::Ok(())
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    let total: u64 = connection.get(KEY).await?;
    let _: () = connection.publish(NEWS, total).await?;
    let news = timeout(PATIENCE, listener.on_message().next()).await?.ok_or("no news")?;
    println!("counted to {total}, and heard of {}", news.get_payload::<u64>()?);
    if total == TASKS * count { Ok(()) } else { Err("some increments are missing".into()) }
}
