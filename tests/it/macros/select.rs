//! `select!`: which branch, in which order, and what becomes of the others.

use crate::support::cases::cases;
use crate::support::guard::{guarded, until, workers};
use crate::support::loopback::poll_once;
use crate::support::probe::{Bell, Calls, Count, OnDrop, Polls, poll_with};
use liten::select;
use liten::task::{consume_budget, yield_now};
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::Poll;

/// Pushes `name` when it is dropped.
struct Told<'a>(&'a RefCell<Vec<&'static str>>, &'static str);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.0.borrow_mut().push(self.1);
    }
}

#[test]
fn conditions_come_first_and_disabled_futures_are_made_but_not_polled() {
    let log = RefCell::new(Vec::new());
    let say = |what| {
        log.borrow_mut().push(what);
        what
    };
    let made = |name: &'static str| {
        let log = &log;
        say(name);
        poll_fn(move |_| {
            log.borrow_mut().push("poll");
            Poll::Ready(name)
        })
    };
    let won = liten::block_on(async {
        select! {
            biased;
            name = made("one"), if say("first?") != "first?" => name,
            name = made("two"), if say("second?") == "second?" => name,
            name = made("three"), if say("third?") == "third?" => name,
        }
    });
    assert_eq!(won, "two");
    assert_eq!(log.take(), ["first?", "second?", "third?", "one", "two", "three", "poll"]);
}

#[test]
fn every_future_is_dropped_before_the_handler_runs() {
    let log = RefCell::new(Vec::new());
    let wait = |name| {
        let told = Told(&log, name);
        async move {
            let _told = told;
            pending::<()>().await;
        }
    };
    liten::block_on(async {
        select! {
            biased;
            () = wait("first") => {}
            () = async { let _told = Told(&log, "ready"); } => log.borrow_mut().push("handler"),
            () = wait("last") => {}
        }
    });
    assert_eq!(log.take(), ["ready", "first", "last", "handler"]);
}

#[test]
fn a_handler_may_use_what_the_futures_had_borrowed() {
    async fn add(to: &mut Vec<u8>) {
        to.push(1);
        pending().await
    }
    let mut values = Vec::new();
    liten::block_on(async {
        select! {
            biased;
            () = add(&mut values) => {}
            () = yield_now() => values.push(2),
        }
    });
    assert_eq!(values, [1, 2]);
}

#[test]
fn handlers_break_continue_return_await_and_fail_as_the_code_around() {
    async fn rounds(fail: bool) -> Result<u32, &'static str> {
        let mut round = 0;
        let broken = loop {
            round += 1;
            let number = select! {
                biased;
                number = ready(round), if round < 3 => number,
                number = ready(round), if round == 3 => {
                    yield_now().await;
                    if number == 3 { continue } else { return Err("not reached") }
                }
                result = ready(if fail { Err("failed") } else { Ok(round) }) => {
                    break result?;
                }
            };
            assert_eq!(number, round);
        };
        select! {
            number = async { broken } => if number == 4 {
                return Ok(number);
            },
        }
        Err("not reached")
    }
    assert_eq!(liten::block_on(rounds(false)), Ok(3 + 1));
    assert_eq!(liten::block_on(rounds(true)), Err("failed"));
}

#[test]
fn an_output_that_does_not_match_disables_its_branch_and_the_others_go_on() {
    let (mut select, polls) = Polls::of(async {
        select! {
            Some(never) = ready(None::<&str>) => never,
            Ok(0 | 1) | Err("one") = async { Err("two") } => "wrong",
            () = async { yield_now().await; yield_now().await } => "waited",
            else => "else",
        }
    });
    let (calls, waker) = Calls::new();
    while poll_with(&mut select, &waker).is_pending() {}
    assert_eq!((polls.get(), calls.get()), (3, 2));
}

#[test]
fn patterns_bind_as_in_a_match() {
    liten::block_on(async {
        let moved = select! { Some(text) = async { Some(String::from("moved")) } => text };
        assert_eq!(moved, "moved");
        let length = select! { Some(ref mut text) = async { Some(moved) } => {
            text.push('!');
            text.len()
        } };
        assert_eq!(length, 6);
        let rest = select! { [first, rest @ ..] = async { [1, 2, 3] } => (first, rest) };
        assert_eq!(rest, (1, [2, 3]));
        let whole = select! { mut all @ 1..=9 = async { 5 } => { all += 1; all }, else => 0 };
        assert_eq!(whole, 6);
        // What may not be copied is behind the reference.
        let text = String::from("borrowed");
        let pair = (text, 1);
        let both = select! { &(ref text, number) = async { &pair } => (text.as_str(), number) };
        assert_eq!(both, ("borrowed", 1));
    });
}

#[test]
fn an_output_is_dropped_once_whether_it_matches_or_not() {
    let dropped = Count::default();
    let some = || Some(OnDrop(dropped.clone()));
    liten::block_on(async {
        let kept = select! {
            biased;
            (Some(_), false) = async { (some(), true) } => None,
            guard = async { some() } => {
                assert_eq!(dropped.get(), 1);
                guard
            }
        };
        assert_eq!(dropped.get(), 1);
        drop(kept);
        assert_eq!(dropped.get(), 2);
    });
}

#[test]
fn without_an_else_all_branches_disabled_are_a_panic_that_says_so() {
    let disabled = || {
        liten::block_on(async {
            select! {
                () = pending(), if false => {}
                Some(()) = ready(None) => {}
            }
        })
    };
    let panic = catch_unwind(AssertUnwindSafe(disabled)).expect_err("it panics");
    let message = panic.downcast_ref::<&str>().expect("it has a message");
    assert_eq!(*message, "all branches of `select!` are disabled, and it has no `else`");
    assert_eq!(
        liten::block_on(async {
            select! { () = pending(), if false => 0, else => 1 }
        }),
        1
    );
    assert_eq!(
        liten::block_on(async {
            select! { biased; else => 1 }
        }),
        1
    );
}

#[test]
fn a_panic_in_a_future_drops_the_others_and_goes_on() {
    let dropped = Count::default();
    let guard = OnDrop(dropped.clone());
    let bursting = || {
        liten::block_on(async {
            select! {
                biased;
                () = async move { let _guard = guard; pending().await } => {}
                () = async { panic!("burst") } => {}
            }
        });
    };
    assert!(catch_unwind(AssertUnwindSafe(bursting)).is_err());
    assert_eq!(dropped.get(), 1);
}

/// Neither a `FusedFuture` nor `Unpin`, and made on the spot from something that is no future.
#[test]
fn futures_need_nothing_but_to_be_made() {
    struct Six;
    impl IntoFuture for Six {
        type Output = i32;
        type IntoFuture = std::future::Ready<i32>;
        fn into_future(self) -> Self::IntoFuture {
            ready(6)
        }
    }
    assert_eq!(
        liten::block_on(async {
            select! { six = Six => six }
        }),
        6
    );
    // What the expression makes without a name lives as long as the branch.
    assert_eq!(
        liten::block_on(async {
            select! { six = &mut ready(6) => six }
        }),
        6
    );
}

#[test]
fn sixty_four_branches_are_possible_and_each_is_reached() {
    macro_rules! one_of {
        ($($number:literal)+) => {
            liten::block_on(async { select! { $(number = async { $number } => number,)+ } })
        };
    }
    let mut seen = [false; 64];
    // The chance that one of them is missed is below 64 × (63/64)^10,000.
    for _ in 0..10_000 {
        let number: usize = one_of! {
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60
            61 62 63
        };
        seen[number] = true;
    }
    assert_eq!(seen, [true; 64]);
}

/// How often each of five branches is first in `rounds` rounds, of those that `enabled` allows.
fn firsts(enabled: [bool; 5], rounds: u32) -> [u32; 5] {
    let mut firsts = [0; 5];
    for _ in 0..rounds {
        let first: usize = liten::block_on(async {
            select! {
                first = ready(0), if enabled[0] => first,
                first = ready(1), if enabled[1] => first,
                first = ready(2), if enabled[2] => first,
                first = ready(3), if enabled[3] => first,
                first = ready(4), if enabled[4] => first,
            }
        });
        firsts[first] += 1;
    }
    firsts
}

#[test]
fn each_branch_begins_equally_often() {
    // 2,000 each are expected, with a deviation of 40: twelve of those are no chance.
    let firsts = firsts([true; 5], 10_000);
    assert!(firsts.iter().all(|count| (1_500..2_500).contains(count)), "{firsts:?}");
}

proptest! {
    #![proptest_config(cases(32))]

    /// Whichever branches are disabled: the others are reached, and no other one is.
    #[test]
    fn exactly_those_that_are_not_disabled_are_reached(
        enabled in any::<[bool; 5]>().prop_filter("one at least", |all| all.contains(&true)),
    ) {
        let firsts = firsts(enabled, 500);
        prop_assert_eq!(firsts.map(|count| count > 0), enabled);
    }
}

#[test]
fn biased_begins_with_the_first_each_time() {
    let order = RefCell::new(Vec::new());
    let step = |name| {
        let order = &order;
        async move {
            loop {
                order.borrow_mut().push(name);
                yield_now().await;
            }
        }
    };
    liten::block_on(async {
        let mut rounds = 0;
        select! {
            biased;
            () = step("a") => {}
            () = step("b") => {}
            () = poll_fn(|_| { rounds += 1; if rounds == 4 { Poll::Ready(()) } else { Poll::Pending } }) => {}
        }
    });
    assert_eq!(order.take(), ["a", "b"].repeat(4));
}

/// All of them are polled in each poll, whichever was first: none is forgotten, and none polled twice.
#[test]
fn each_poll_polls_each_branch_once() {
    let counts = [const { Cell::new(0) }; 3];
    let waiting = |at: usize| {
        let count = &counts[at];
        poll_fn(move |_| {
            count.set(count.get() + 1);
            Poll::<()>::Pending
        })
    };
    let mut select = Box::pin(async {
        select! {
            () = waiting(0) => {}
            () = waiting(1) => {}
            () = waiting(2) => {}
        }
    });
    let (_calls, waker) = Calls::new();
    for polls in 1..=100 {
        assert!(poll_with(&mut select, &waker).is_pending());
        assert_eq!(counts.each_ref().map(Cell::get), [polls; 3]);
    }
}

#[test]
fn a_loop_of_ready_branches_yields_when_one_of_them_takes_from_the_budget() {
    guarded(|| {
        let runtime = workers(1);
        let (work, polls) = Polls::of(async {
            for _ in 0..1_000 {
                select! {
                    biased;
                    () = consume_budget() => {}
                    // Ready too: without a look at the budget it would win as soon as that is used up.
                    () = ready(()) => panic!("the budget was not looked at"),
                }
            }
        });
        runtime.block_on(runtime.spawn(work)).unwrap();
        assert_eq!(polls.get(), 1_000_usize.div_ceil(128));
    });
}

/// The look at the budget takes nothing of it: else a task that selects often would yield twice as often.
#[test]
fn a_select_costs_no_budget_itself() {
    guarded(|| {
        let runtime = workers(1);
        let (work, polls) = Polls::of(async {
            for _ in 0..10_000 {
                select! { () = ready(()) => {}, () = pending() => {} }
            }
        });
        runtime.block_on(runtime.spawn(work)).unwrap();
        assert_eq!(polls.get(), 1);
    });
}

#[test]
fn it_moves_between_workers_and_keeps_what_lost_by_reference() {
    fn sent<F: Future + Send + 'static>(future: F) -> F {
        future
    }
    guarded(|| {
        let (runtime, bell, others) = (workers(2), Bell::default(), Count::default());
        let (waits, counts) = (bell.clone(), others.clone());
        let task = runtime.spawn(sent(async move {
            liten::pin! {
                let rung = waits.wait();
            }
            loop {
                select! {
                    () = &mut rung => break,
                    () = yield_now() => counts.add(),
                };
            }
        }));
        // It has lost, and waits on.
        until(|| bell.waiting() > 0 && others.get() > 0);
        bell.ring();
        runtime.block_on(task).unwrap();
    });
}

#[test]
fn it_works_on_one_thread_with_what_is_not_send_and_without_a_runtime() {
    let shared = Rc::new(Cell::new(1));
    let again = Rc::clone(&shared);
    let work = async move {
        select! {
            () = async { shared.set(2); yield_now().await } => shared.get(),
            () = pending() => 0,
        }
    };
    let runtime = liten::runtime::LocalRuntime::new().unwrap();
    assert_eq!(runtime.block_on(async { liten::task::spawn_local(work).await.unwrap() }), 2);
    drop(runtime);
    let (_calls, waker) = Calls::new();
    let mut alone = Box::pin(async {
        select! { () = pending() => 0, _ = ready(()) => again.get() }
    });
    assert_eq!(poll_with(&mut alone, &waker), Poll::Ready(2));
}

/// An output without values: the branch is there, and the compiler warns of nothing.
#[test]
#[deny(unreachable_code, unused_variables, unreachable_patterns)]
fn a_branch_that_never_ends_is_no_warning() {
    async fn for_ever() -> std::convert::Infallible {
        pending().await
    }
    let one = liten::block_on(async {
        select! {
            never = for_ever() => match never {},
            number = async { 1 } => number,
        }
    });
    assert_eq!(one, 1);
}

#[test]
fn names_around_it_are_not_taken_for_its_own() {
    const COUNT: usize = 7;
    let (disabled, futures, output, start, place) = (1, 2, 3, 4, 5);
    let sum = liten::block_on(async {
        select! {
            biased;
            first = async { disabled + futures + output }, if start < place => first + COUNT,
            future = async { place } => future,
        }
    });
    assert_eq!(sum, 6 + COUNT);
}

#[test]
fn dropped_in_the_middle_it_drops_its_futures() {
    let dropped = Count::default();
    let guards = [OnDrop(dropped.clone()), OnDrop(dropped.clone())];
    liten::block_on(async {
        let [one, other] = guards;
        let mut select = Box::pin(async move {
            select! {
                () = async move { let _guard = one; pending().await } => {}
                () = async move { let _guard = other; pending().await } => {}
            }
        });
        assert!(poll_once(&mut select).await.is_none());
        assert_eq!(dropped.get(), 0);
        drop(select);
        assert_eq!(dropped.get(), 2);
    });
}
