//! `select!`.
//!
//! The macro takes its input apart branch by branch, and gives each branch a name and a place out of a list,
//! because a repetition of a macro can neither count nor make names. Then one rule writes the code: the
//! conditions, all futures in one tuple in the caller's frame, a loop that polls them, and a `match` over the
//! branch that was ready first.
//!
//! The futures are in a block of their own, so that they are dropped before a handler runs, and the handler
//! may use what they had borrowed.
//!
//! An output has to be compared with its pattern inside the loop. It must not be taken apart there, because
//! the handler that gets the parts runs outside. So it is matched twice. The first `match` has an arm with
//! the pattern and a guard that is never true: the compiler moves parts out of a value only after the guard
//! was true. Rejected: a `match` on a reference, for which `ref` and `mut` would have to be removed from the
//! pattern, as tokio does in a proc-macro.

use crate::engine::rng::Rng;
use crate::engine::sync_shim::thread_local;
use crate::engine::task::budget;
use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::task::{Context, Poll};

thread_local! {
    /// The generator of this thread; `None` until the first draw.
    ///
    /// Not a field of the runtime: `select!` would have to find its runtime first, and would need this all
    /// the same where there is none.
    static RANDOM: RefCell<Option<Rng>> = const { RefCell::new(None) };
}

/// The branch that a poll of `count` branches begins with, from this thread's generator.
///
/// That one starts from a seed of the operating system's, so that two programs do not make the same choices.
pub fn start_branch(count: usize) -> usize {
    RANDOM.with(|rng| {
        let mut rng = rng.borrow_mut();
        rng.get_or_insert_with(|| Rng::new(RandomState::new().hash_one(()))).below(count)
    })
}

/// The branch that a poll begins with after `biased;`.
#[inline]
pub fn first_branch(_count: usize) -> usize {
    0
}

/// Returns `Pending`, and asks for another poll, if the task has used up its budget. Uses none of it.
///
/// Some of the futures may charge the budget, and some do not: `select!` stops before it asks them.
pub fn poll_budget(cx: &mut Context<'_>) -> Poll<()> {
    // Where the leaves are asked where they are, this is none of them.
    if !budget::is_left() {
        return budget::poll_proceed(cx);
    }
    Poll::Ready(())
}

/// The bit that stands for a branch.
#[inline]
pub const fn bit(place: usize) -> u64 {
    1 << place
}

/// Polls several futures in this task until the first of them is ready, drops the others, and runs the code
/// that belongs to the first.
///
/// ```text
/// select! {
///     biased;                                        // optional
///     <pattern> = <future> => <handler>,
///     <pattern> = <future>, if <condition> => <handler>,
///     else => <expression>,                          // optional
/// }
/// ```
///
/// There may be up to 64 branches, and the value of `select!` is that of the handler. Futures need be neither
/// `Unpin` nor fused, and any value that implements `IntoFuture` may be given. `select!` does the following,
/// in this order:
///
/// 1. The conditions are evaluated. A branch whose condition is `false` is disabled.
/// 2. The expressions of all futures are evaluated, those of disabled branches too.
/// 3. The futures of branches that are not disabled are polled. Each poll begins with a random branch, so
///    that a branch that is always ready does not keep the others from running. After `biased;` each poll
///    begins with the first branch.
/// 4. When a future is ready, its output is compared with the pattern. If that does not match, the branch is
///    disabled, and the other futures are polled further.
/// 5. When it does match, all futures are dropped. Then the handler runs. It may use what the futures had
///    borrowed, and `?`, `break`, `continue`, `return` and `.await`, which mean what they mean around the
///    `select!`.
/// 6. When all branches are disabled, `else` runs.
///
/// All of this is one task: while one of the futures computes or blocks, the others wait.
///
/// # Biased
///
/// With `biased;` an earlier branch takes precedence over a later one. Put a request to stop first. Put a
/// future that is always ready last, because no branch after it is ever polled. `biased;` also saves the cost
/// of a random number.
///
/// # Yielding
///
/// In a task that has used up its [budget](crate::task::coop), `select!` polls nothing, and lets other tasks
/// run first. `select!` itself does not count against the budget. So a loop whose futures do not count
/// against it either never lets other tasks run.
///
/// # Cancel safety
///
/// The futures that are not ready first are dropped. In a loop that happens in every round. So a branch
/// should make its future by a method that is documented as cancel safe. A future that is not cancel safe, or
/// that should go on in the next round, is made before the loop, [pinned](crate::pin!), and given by
/// reference.
///
/// # Panics
///
/// Panics if all branches are disabled and there is no `else`.
///
/// # Examples
///
/// ```
/// use liten::time::{Duration, sleep};
///
/// # liten::block_on(async {
/// let (sender, receiver) = std::sync::mpsc::channel();
/// let mut job = liten::task::spawn_blocking(move || receiver.recv());
/// liten::pin! {
///     let patience = sleep(Duration::from_millis(5));
/// }
///
/// let mut is_told = false;
/// let answer = loop {
///     liten::select! {
///         Ok(answer) = &mut job => break answer,
///         () = &mut patience, if !is_told => {
///             is_told = true;
///             sender.send("go on").unwrap();
///         }
///         else => unreachable!("the job does not panic"),
///     }
/// };
/// assert_eq!(answer, Ok("go on"));
/// # });
/// ```
#[macro_export]
macro_rules! select {
    () => {
        ::core::compile_error!("`select!` needs at least one branch")
    };
    ($(biased;)? else => $else:expr $(,)?) => {
        $else
    };
    (biased; $($branches:tt)+) => {
        $crate::__select!(@first first_branch $($branches)+)
    };
    ($($branches:tt)+) => {
        $crate::__select!(@first start_branch $($branches)+)
    };
}

/// `@first`: hands out names and places. `@branch`: takes one branch off the input. `@code`: the code.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    (@first $start:ident $($branches:tt)+) => {
        $crate::__select! {
            @branch $start
            [
                B0 0 B1 1 B2 2 B3 3 B4 4 B5 5 B6 6 B7 7 B8 8 B9 9 B10 10 B11 11 B12 12
                B13 13 B14 14 B15 15 B16 16 B17 17 B18 18 B19 19 B20 20 B21 21 B22 22
                B23 23 B24 24 B25 25 B26 26 B27 27 B28 28 B29 29 B30 30 B31 31 B32 32
                B33 33 B34 34 B35 35 B36 36 B37 37 B38 38 B39 39 B40 40 B41 41 B42 42
                B43 43 B44 44 B45 45 B46 46 B47 47 B48 48 B49 49 B50 50 B51 51 B52 52
                B53 53 B54 54 B55 55 B56 56 B57 57 B58 58 B59 59 B60 60 B61 61 B62 62
                B63 63
            ]
            [] $($branches)+
        }
    };
    (@branch $start:ident [$($names:tt)*] [$($taken:tt)*]) => {
        $crate::__select! {
            @code $start [$($taken)*]
            ::core::panic!("all branches of `select!` are disabled, and it has no `else`")
        }
    };
    (@branch $start:ident [$($names:tt)*] [$($taken:tt)*] else => $else:expr $(,)?) => {
        $crate::__select!(@code $start [$($taken)*] $else)
    };
    (@branch $start:ident [] [$($taken:tt)*] $($rest:tt)+) => {
        ::core::compile_error!("`select!` takes up to 64 branches")
    };
    // A handler that is a block, with a comma behind it or without; another one, with a comma or at the end.
    (@branch $start:ident [$name:ident $place:tt $($names:tt)*] [$($taken:tt)*]
        $output:pat = $future:expr $(, if $condition:expr)? => $handler:block, $($rest:tt)*
    ) => {
        $crate::__select! {
            @branch $start [$($names)*]
            [$($taken)* ($name $place [$output] [$future] [$($condition)?] [$handler])] $($rest)*
        }
    };
    (@branch $start:ident [$name:ident $place:tt $($names:tt)*] [$($taken:tt)*]
        $output:pat = $future:expr $(, if $condition:expr)? => $handler:block $($rest:tt)*
    ) => {
        $crate::__select! {
            @branch $start [$($names)*]
            [$($taken)* ($name $place [$output] [$future] [$($condition)?] [$handler])] $($rest)*
        }
    };
    (@branch $start:ident [$name:ident $place:tt $($names:tt)*] [$($taken:tt)*]
        $output:pat = $future:expr $(, if $condition:expr)? => $handler:expr, $($rest:tt)*
    ) => {
        $crate::__select! {
            @branch $start [$($names)*]
            [$($taken)* ($name $place [$output] [$future] [$($condition)?] [$handler])] $($rest)*
        }
    };
    (@branch $start:ident [$name:ident $place:tt $($names:tt)*] [$($taken:tt)*]
        $output:pat = $future:expr $(, if $condition:expr)? => $handler:expr
    ) => {
        $crate::__select! {
            @branch $start [$($names)*]
            [$($taken)* ($name $place [$output] [$future] [$($condition)?] [$handler])]
        }
    };
    (@code $start:ident
        [$((
            $name:ident $place:tt [$output:pat] [$future:expr] [$($condition:expr)?] [$handler:expr]
        ))+]
        $else:expr
    ) => {{
        // Handlers see this name, because items have no hygiene.
        #[doc(hidden)]
        enum __LitenFirst<$($name),+> {
            $($name($name),)+
            Disabled,
        }

        let mut disabled = 0_u64;
        $(
            if !(true $(&& $condition)?) {
                disabled |= $crate::combinators::bit($place);
            }
        )+
        #[allow(unused_mut)]
        let mut first = {
            // First the expressions alone: temporary values that they borrow then live as long as the block,
            // as in any `let`.
            let unmade = ($($future,)+);
            let mut futures = ($(::core::future::IntoFuture::into_future(unmade.$place),)+);
            // The closure below has a reference to the futures, so that moving the closure does not move
            // them.
            let futures = &mut futures;
            ::core::future::poll_fn(move |cx| {
                if $crate::combinators::poll_budget(cx).is_pending() {
                    return ::core::task::Poll::Pending;
                }
                let count = $crate::combinators::count([$($place),+]);
                let mut is_pending = false;
                for place in
                    $crate::combinators::places($crate::combinators::$start(count), count)
                {
                    if disabled & $crate::combinators::bit(place) != 0 {
                        continue;
                    }
                    match place {
                        // If a type of output has no values, nothing after its poll is ever reached.
                        $(#[allow(unreachable_code)] $place => {
                            // SAFETY: nothing but this closure reaches the tuple, which lies in the frame of
                            // the block around it; nothing is moved out of it before the frame is dropped.
                            let future =
                                unsafe { ::core::pin::Pin::new_unchecked(&mut futures.$place) };
                            // The form of this `match`, in which one arm gives the output and the other one
                            // goes elsewhere, settles the type of an output that nothing else settles.
                            let mut output = match ::core::future::Future::poll(future, cx) {
                                ::core::task::Poll::Ready(output) => output,
                                ::core::task::Poll::Pending => {
                                    is_pending = true;
                                    continue;
                                }
                            };
                            disabled |= $crate::combinators::bit($place);
                            let mut fits = false;
                            #[allow(unreachable_patterns, unused_variables, unused_mut)]
                            match output {
                                $output if { fits = true; false } => ::core::unreachable!(),
                                _ => {}
                            }
                            if fits {
                                return ::core::task::Poll::Ready(__LitenFirst::$name(output));
                            }
                        })+
                        _ => {}
                    }
                }
                if is_pending {
                    ::core::task::Poll::Pending
                } else {
                    ::core::task::Poll::Ready(__LitenFirst::Disabled)
                }
            })
            .await
        };
        match first {
            $(__LitenFirst::$name($output) => $handler,)+
            __LitenFirst::Disabled => $else,
            #[allow(unreachable_patterns)]
            _ => ::core::unreachable!("the output has matched once"),
        }
    }};
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::{RANDOM, poll_budget, start_branch};
    use crate::engine::rng::Rng;
    use crate::engine::task::budget;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn the_generator_of_a_thread_can_be_seeded() {
        let take = |seed| {
            RANDOM.with(|rng| rng.replace(Some(Rng::new(seed))));
            (0..16).map(|_| start_branch(1 << 30)).collect::<Vec<_>>()
        };
        assert_eq!(take(1), take(1));
        assert_ne!(take(1), take(2));
    }

    #[test]
    fn two_threads_draw_different_numbers() {
        let take = || (0..16).map(|_| start_branch(1 << 30)).collect::<Vec<_>>();
        let other = std::thread::spawn(take).join().unwrap();
        assert_ne!(take(), other);
    }

    #[test]
    fn where_leaves_say_where_they_are_this_is_none() {
        let mut cx = Context::from_waker(Waker::noop());
        budget::traced(
            |_| Poll::Pending,
            || {
                assert!(budget::poll_proceed(&mut cx).is_pending());
                assert!(poll_budget(&mut cx).is_ready());
            },
        );
    }
}
