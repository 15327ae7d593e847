//! Turns of the reactor per second, of liten and of wstd by turns, with ten pollables each.
//!
//! `ready`: ten pollables that are ready and stay so; a turn waits for all of them once. `fresh`: the same,
//! but each turn gets ten new pollables from the host first and gives them back, as waiting for streams does.
//! `busy`: ten waits that do not end while the root wakes itself; a turn is what it takes to poll it again,
//! with a look at the ten. `host`: what the host takes for one call with ten ready pollables, without any
//! runtime.

use futures_util::future::join_all;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

const POLLABLES: usize = 10;
const TURNS: u32 = 200;
const ROUNDS: usize = 201;
const FAR: Duration = Duration::from_secs(3600);

fn main() {
    println!(
        "turns per second, {POLLABLES} pollables; medians of {ROUNDS} rounds of {TURNS} turns, in turns"
    );
    println!("| row | liten | wstd | liten / wstd |\n|---|---|---|---|");
    row("ready", with_liten::ready, with_wstd::ready);
    row("fresh", with_liten::fresh, with_wstd::fresh);
    row("busy", with_liten::busy, with_wstd::busy);
    let mut host: Vec<f64> = (0..ROUNDS).map(|_| per_second(host_alone())).collect();
    println!("| host | {:.0} | | |", median(&mut host));
}

/// Measures both in turns, so that what disturbs the machine disturbs both.
fn row(name: &str, liten: fn() -> Duration, wstd: fn() -> Duration) {
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (our, their) = (per_second(liten()), per_second(wstd()));
        ours.push(our);
        theirs.push(their);
        ratios.push(our / their);
    }
    let ratio = median(&mut ratios);
    let (low, high) = (ratios[0], ratios[ROUNDS - 1]);
    println!(
        "| {name} | {:.0} | {:.0} | {ratio:.2} [{low:.2}–{high:.2}] |",
        median(&mut ours),
        median(&mut theirs),
    );
}

fn per_second(elapsed: Duration) -> f64 {
    f64::from(TURNS) / elapsed.as_secs_f64()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// How long it takes until `turn` has been waited for `TURNS` times.
async fn measured(mut turn: impl AsyncFnMut()) -> Duration {
    let begun = Instant::now();
    for _ in 0..TURNS {
        turn().await;
    }
    begun.elapsed()
}

/// As `measured`, for a root that wakes itself while `waits` are under way.
async fn measured_beside(waits: impl Future) -> Duration {
    let mut waits = pin!(waits);
    let mut begun = None;
    let mut left = TURNS;
    poll_fn(|context| {
        let Some(begun) = begun else {
            // Once only: what they are woken by is remembered.
            assert!(waits.as_mut().poll(context).is_pending());
            begun = Some(Instant::now());
            context.waker().wake_by_ref();
            return Poll::Pending;
        };
        left -= 1;
        if left == 0 {
            return Poll::Ready(begun.elapsed());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

fn host_alone() -> Duration {
    use wasip2::clocks::monotonic_clock::subscribe_duration;
    use wasip2::io::poll::poll;
    let pollables: Vec<_> = (0..POLLABLES).map(|_| subscribe_duration(0)).collect();
    let list: Vec<_> = pollables.iter().collect();
    let begun = Instant::now();
    for _ in 0..TURNS {
        assert_eq!(poll(&list).len(), POLLABLES);
    }
    begun.elapsed()
}

mod with_liten {
    use super::*;
    use liten::wasi::{Host, Reactor, Registration, block_on};

    fn pollables(reactor: &Reactor, after: Duration) -> Vec<Registration> {
        (0..POLLABLES).map(|_| reactor.register(reactor.host().clock(after))).collect()
    }

    async fn wait(pollables: &[Registration]) {
        join_all(pollables.iter().map(Registration::wait)).await;
    }

    pub(super) fn ready() -> Duration {
        block_on(async |reactor: Reactor| {
            let pollables = pollables(&reactor, Duration::ZERO);
            measured(async || wait(&pollables).await).await
        })
    }

    pub(super) fn fresh() -> Duration {
        block_on(async |reactor: Reactor| {
            measured(async || wait(&pollables(&reactor, Duration::ZERO)).await).await
        })
    }

    pub(super) fn busy() -> Duration {
        block_on(async |reactor: Reactor| {
            let pollables = pollables(&reactor, FAR);
            measured_beside(wait(&pollables)).await
        })
    }
}

mod with_wstd {
    use super::*;
    use wasip2::clocks::monotonic_clock::subscribe_duration;
    use wstd::runtime::{AsyncPollable, block_on};

    fn pollables(after: Duration) -> Vec<AsyncPollable> {
        let one = || AsyncPollable::new(subscribe_duration(after.as_nanos() as u64));
        (0..POLLABLES).map(|_| one()).collect()
    }

    async fn wait(pollables: &[AsyncPollable]) {
        join_all(pollables.iter().map(AsyncPollable::wait_for)).await;
    }

    pub(super) fn ready() -> Duration {
        block_on(async {
            let pollables = pollables(Duration::ZERO);
            measured(async || wait(&pollables).await).await
        })
    }

    pub(super) fn fresh() -> Duration {
        block_on(measured(async || wait(&pollables(Duration::ZERO)).await))
    }

    pub(super) fn busy() -> Duration {
        block_on(async {
            let pollables = pollables(FAR);
            measured_beside(wait(&pollables)).await
        })
    }
}
