//! The pause of a listener that has no descriptor for a connection.
//!
//! The connection stays in the system's queue, so that the next try fails just as soon. A program that takes
//! the error for one that passes by at once, and only repeats the call, would turn in circles and keep its
//! worker and a processor for as long as descriptors are lacking. So the error comes after a pause, and such
//! a program tries a hundred times a second. One that waits itself, as it should, waits for that much longer.
//!
//! Rejected: to return the error at once and have the next call wait. Each listener would have to remember
//! the time for that, and [`incoming`](super::TcpListener::incoming) has to anyway.

use crate::observe::spare_descriptors::is_lacking;
use crate::runtime::is_inside;
use crate::time::{Duration, Sleep, sleep};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

const PAUSE: Duration = Duration::from_millis(10);

/// Returns the error of an attempt to accept, after a pause if descriptors are lacking. Outside a runtime
/// there is nothing that could wake the caller.
pub(super) async fn after_pause(error: io::Error) -> io::Error {
    if is_lacking(&error) && is_inside() {
        Box::pin(sleep(PAUSE)).await;
    }
    error
}

/// The same for a function that polls: the pause that is under way, and its error.
#[derive(Default)]
pub(super) struct Pause(Option<(Pin<Box<Sleep>>, io::Error)>);

impl Pause {
    pub(super) fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        accept: impl FnOnce(&mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let (mut pause, error) = match self.0.take() {
            Some(under_way) => under_way,
            None => match ready!(accept(cx)) {
                Err(error) if is_lacking(&error) && is_inside() => (Box::pin(sleep(PAUSE)), error),
                accepted => return Poll::Ready(accepted),
            },
        };
        if pause.as_mut().poll(cx).is_pending() {
            self.0 = Some((pause, error));
            return Poll::Pending;
        }
        Poll::Ready(Err(error))
    }
}
