//! Many senders and one receiver over tokio's channel, which works on any runtime.

use super::hosts::Host;
use crate::contest::Lane;
use crate::network::cpu::process_time;
use crate::network::lane::cpu_since;
use crate::runtimes::Join;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

const SENDERS: usize = 16;
const CAPACITY: usize = 64;
const MESSAGES: usize = 20_000;
const MESSAGES_IN_TESTS: usize = 10;

/// The senders and the receiver, in such a runtime.
pub(crate) struct Channel<R>(R);

impl<R: Host> Channel<R> {
    pub(crate) fn start(workers: usize) -> Self {
        Self(R::start(workers))
    }
}

impl<R: Host> Lane for Channel<R> {
    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        let each = if slice.is_zero() { MESSAGES_IN_TESTS } else { MESSAGES };
        let (before, start) = (process_time(), Instant::now());
        let (sender, mut receiver) = mpsc::channel(CAPACITY);
        let receiver = self.0.spawn(async move {
            let mut received = 0;
            while let Some(message) = receiver.recv().await {
                black_box(message);
                received += 1;
            }
            received
        });
        for _ in 0..SENDERS {
            let sender = sender.clone();
            let task = self.0.spawn(async move {
                for message in 0..each {
                    sender.send(message).await.expect("the receiver lives");
                }
            });
            task.detach();
        }
        drop(sender);
        let received = self.0.block_on(receiver);
        let elapsed = start.elapsed();
        assert_eq!(received, SENDERS * each);
        let cpu = cpu_since(before);
        let per_message = |nanos: f64| nanos / received as f64;
        vec![per_message(elapsed.as_nanos() as f64), per_message(cpu)]
    }
}
