//! A task that serves messages until none has come for too long: what a connection with an idle timeout does.

use crate::clock::Clock;
use crate::families::{Channels, Family, Native};
use crate::runtimes::{Liten, Spawner, Tokio};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Puts off what no message comes near to.
const PATIENCE: Duration = Duration::from_secs(30);
const CAPACITY: usize = 64;

type Receiver<R> = <<R as Native>::Channels as Channels>::Receiver;
type Notify<R> = <<R as Native>::Channels as Family>::Notify;

/// The runtimes whose `select!` and `Sleep::reset` the task can use.
pub(crate) trait Idle: Clock + Native<Channels: Family> {
    /// Takes messages, and sets the deadline anew with each of them, until the senders are gone. Returns how
    /// many there were.
    fn serve(
        messages: Receiver<Self>,
        stop: Arc<Notify<Self>>,
    ) -> impl Future<Output = usize> + Send + 'static;
}

/// Implements it for `$runtime` with the timers and the `select!` of that crate.
macro_rules! idle {
    ($runtime:ident, $($crate_name:ident)::+) => {
        impl Idle for $runtime {
            async fn serve(mut messages: Receiver<Self>, stop: Arc<Notify<Self>>) -> usize {
                let mut idle = pin!($($crate_name)::+::time::sleep(PATIENCE));
                let mut served = 0;
                loop {
                    $($crate_name)::+::select! {
                        message = messages.recv() => match message {
                            Some(_) => {
                                served += 1;
                                idle.as_mut().reset((Instant::now() + PATIENCE).into());
                            }
                            None => return served,
                        },
                        () = stop.notified() => unreachable!("no one stops it"),
                        () = &mut idle => unreachable!("there is always a message"),
                    }
                }
            }
        }
    };
}

idle!(Liten, liten);
idle!(Tokio, tokio);

/// One task sends so many messages, another one serves them.
pub(crate) async fn exchange<R: Idle>(spawner: R::Spawner, messages: usize) {
    let (sender, receiver) = R::Channels::bounded(CAPACITY);
    let server = spawner.spawn(R::serve(receiver, Arc::new(R::Channels::notify())));
    let client = spawner.spawn(async move {
        for message in 0..messages {
            R::Channels::send(&sender, message).await;
        }
    });
    client.await;
    assert_eq!(server.await, messages);
}
