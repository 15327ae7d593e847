//! `join!` and `try_join!`.
//!
//! Both keep all futures, and then their outputs, in one tuple of [`MaybeDone`] in the caller's frame, and
//! poll each that has not ended. [`Rotating`] or [`Declared`] says with which future a poll begins. If it
//! were always the first one, a future that uses up the task's budget in each poll would leave none for the
//! others.
//!
//! The macros first pair each future with its place in the tuple, because a repetition of a macro cannot
//! count. Each step takes one place from a list of 120. There are not more, because each step is a macro
//! within a macro, and the compiler allows 128 such levels by default.

use futures_util::future::MaybeDone;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Lets each poll begin one place further than the poll before.
#[derive(Debug, Default)]
pub struct Rotating(u32);

impl Rotating {
    /// The place at which this poll of `count` futures begins.
    #[inline]
    pub fn first(&mut self, count: usize) -> usize {
        let first = self.0;
        self.0 = if first as usize + 1 < count { first + 1 } else { 0 };
        first as usize
    }
}

/// Lets each poll begin with the first future.
#[derive(Debug, Default)]
pub struct Declared;

impl Declared {
    /// The place at which this poll of `count` futures begins.
    #[inline]
    pub fn first(&mut self, _count: usize) -> usize {
        0
    }
}

/// The future made of `future`, which keeps its output until [`output`] takes it.
pub fn kept<F: IntoFuture>(future: F) -> MaybeDone<F::IntoFuture> {
    futures_util::future::maybe_done(future.into_future())
}

/// Takes the output of a future that has ended.
pub fn output<F: Future>(future: Pin<&mut MaybeDone<F>>) -> F::Output {
    future.take_output().expect("every future has ended and no output has been taken")
}

/// Polls `future`; returns its error if it has ended with one.
pub fn poll_fallible<F, T, E>(
    mut future: Pin<&mut MaybeDone<F>>,
    cx: &mut Context<'_>,
) -> Poll<Result<(), E>>
where
    F: Future<Output = Result<T, E>>,
{
    ready!(future.as_mut().poll(cx));
    match future.as_mut().output_mut() {
        Some(Err(_)) => Poll::Ready(output(future).map(drop)),
        _ => Poll::Ready(Ok(())),
    }
}

/// Takes the value of a future that has ended without an error.
pub fn value<F, T, E>(future: Pin<&mut MaybeDone<F>>) -> T
where
    F: Future<Output = Result<T, E>>,
{
    output(future).ok().expect("an error has ended the whole `try_join!`")
}

/// Polls all futures in this task until each has ended; returns their outputs as a tuple.
///
/// `join!(first, second)` takes up to 120 futures, or values that can be made into one. Each poll of the task
/// polls all that have not ended. It begins each time with the next one, so that no future alone uses up the
/// task's [budget](crate::task::coop). After `biased;` each poll goes through them in the order
/// in which they are written: `join!(biased; first, second)`.
///
/// The futures share the thread as well as the task: while one computes or blocks, the others wait. For
/// futures that should run on several workers, [`spawn`](crate::spawn) them and join the handles. If the
/// number of futures is known at run time only, there are [`join_all`](crate::future::join_all),
/// [`FuturesUnordered`](crate::future::FuturesUnordered) and [`JoinSet`](crate::task::JoinSet).
///
/// # Cancel safety
///
/// Dropping the future of the macro drops all futures, and the outputs of those that have ended.
///
/// # Examples
///
/// ```
/// use liten::time::{Duration, sleep};
///
/// # liten::block_on(async {
/// let (number, word, ()) = liten::join!(
///     async { 7 },
///     async { "seven" },
///     sleep(Duration::from_millis(1)),
/// );
/// assert_eq!((number, word), (7, "seven"));
/// # });
/// ```
#[macro_export]
macro_rules! join {
    ($(biased;)?) => {
        async {}.await
    };
    (biased; $($future:expr),+ $(,)?) => {
        $crate::__join!(@first all Declared $($future,)+)
    };
    ($($future:expr),+ $(,)?) => {
        $crate::__join!(@first all Rotating $($future,)+)
    };
}

/// Polls all futures in this task until each has returned `Ok`, or until the first of them returns an error;
/// returns the values as a tuple in `Ok`, or that error.
///
/// Takes what [`join!`](crate::join!) takes, `biased;` included. The outputs are results with one type of
/// error. After the first error the other futures are not polled again, and are dropped.
///
/// # Cancel safety
///
/// Dropping the future of the macro drops all futures, and the outputs of those that have ended.
///
/// # Examples
///
/// ```
/// # liten::block_on(async {
/// let both = liten::try_join!(async { "1".parse::<u8>() }, async { "2".parse::<u8>() });
/// assert_eq!(both, Ok((1, 2)));
///
/// let failed = liten::try_join!(async { "x".parse::<u8>() }, std::future::pending());
/// assert_eq!(failed.map(|(number, ())| number), "x".parse());
/// # });
/// ```
#[macro_export]
macro_rules! try_join {
    ($(biased;)?) => {
        async { ::core::result::Result::Ok(()) }.await
    };
    (biased; $($future:expr),+ $(,)?) => {
        $crate::__join!(@first fallible Declared $($future,)+)
    };
    ($($future:expr),+ $(,)?) => {
        $crate::__join!(@first fallible Rotating $($future,)+)
    };
}

/// `@first`: hands out the places. `@pair`: pairs one future with its place. `@all`, `@fallible`: the code.
///
/// Written once for both: `@poll` and `@output` say what they do with one future.
#[doc(hidden)]
#[macro_export]
macro_rules! __join {
    (@first $kind:ident $start:ident $($future:expr,)+) => {
        $crate::__join! {
            @pair $kind $start
            [
                0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26
                27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49
                50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72
                73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95
                96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113
                114 115 116 117 118 119
            ]
            [] $($future,)+
        }
    };
    (@pair $kind:ident $start:ident [$place:tt $($places:tt)*] [$($paired:tt)*]
        $future:expr, $($rest:expr,)*
    ) => {
        $crate::__join! {
            @pair $kind $start [$($places)*] [$($paired)* ($place $future)] $($rest,)*
        }
    };
    (@pair $kind:ident $start:ident [] [$($paired:tt)*] $($rest:expr,)+) => {
        ::core::compile_error!("`join!` and `try_join!` take up to 120 futures")
    };
    (@pair $kind:ident $start:ident [$($places:tt)*] [$(($place:tt $future:expr))+]) => {{
        let mut futures = ($($crate::combinators::kept($future),)+);
        // The closure below has a reference to the futures, so that moving the closure does not move them.
        let futures = &mut futures;
        let mut start = $crate::combinators::$start::default();
        ::core::future::poll_fn(move |cx| {
            let count = $crate::combinators::count([$($place),+]);
            let mut is_pending = false;
            for place in $crate::combinators::places(start.first(count), count) {
                match place {
                    $($place => {
                        // SAFETY: nothing but this closure reaches the tuple, which lies in the frame of the
                        // block around it; no future is moved out of it before the frame is dropped.
                        let future =
                            unsafe { ::core::pin::Pin::new_unchecked(&mut futures.$place) };
                        $crate::__join!(@poll $kind future, cx, is_pending);
                    })+
                    _ => {}
                }
            }
            if is_pending {
                return ::core::task::Poll::Pending;
            }
            // If a type of output has no values, as `Infallible`, the compiler sees that this is never
            // reached.
            #[allow(unreachable_code)]
            {
                let outputs = ($({
                    // SAFETY: as above; what is taken is an output.
                    let future = unsafe { ::core::pin::Pin::new_unchecked(&mut futures.$place) };
                    $crate::__join!(@output $kind future)
                },)+);
                ::core::task::Poll::Ready($crate::__join!(@outputs $kind outputs))
            }
        })
        .await
    }};
    (@poll all $future:ident, $cx:ident, $is_pending:ident) => {
        if ::core::future::Future::poll($future, $cx).is_pending() {
            $is_pending = true;
        }
    };
    (@poll fallible $future:ident, $cx:ident, $is_pending:ident) => {
        match $crate::combinators::poll_fallible($future, $cx) {
            ::core::task::Poll::Pending => $is_pending = true,
            ::core::task::Poll::Ready(::core::result::Result::Ok(())) => {}
            ::core::task::Poll::Ready(::core::result::Result::Err(error)) => {
                return ::core::task::Poll::Ready(::core::result::Result::Err(error));
            }
        }
    };
    (@output all $future:ident) => {
        $crate::combinators::output($future)
    };
    (@output fallible $future:ident) => {
        $crate::combinators::value($future)
    };
    (@outputs all $outputs:ident) => {
        $outputs
    };
    (@outputs fallible $outputs:ident) => {
        ::core::result::Result::Ok($outputs)
    };
}
