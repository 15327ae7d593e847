//! `join!`, `try_join!` and `pin!`.

use crate::support::guard::{guarded, workers};
use crate::support::loopback::poll_once;
use crate::support::probe::{Calls, Count, OnDrop, Polls, poll_with};
use liten::task::{consume_budget, yield_now};
use liten::{join, try_join};
use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn, ready};
use std::task::Poll;

/// A future that is polled `times` times and tells its name each time.
async fn steps(name: char, times: usize, order: &RefCell<String>) -> char {
    for step in 1.. {
        order.borrow_mut().push(name);
        if step == times {
            break;
        }
        yield_now().await;
    }
    name
}

#[test]
fn outputs_come_as_a_tuple_in_the_order_of_the_futures() {
    liten::block_on(async {
        let text = String::from("by reference");
        let (number, word, ()) = join!(async { 1 }, async { text.as_str() }, yield_now());
        assert_eq!((number, word), (1, "by reference"));
        assert_eq!(join!(ready(1),), (1,));
        assert_eq!(join!(biased; ready(1), ready('a')), (1, 'a'));
        let () = join!();
        let () = join!(biased;);
        assert_eq!(try_join!(async { Ok::<_, ()>(1) }, ready(Ok('a')),), Ok((1, 'a')));
        assert_eq!(try_join!(biased; ready(Ok::<_, ()>(1))), Ok((1,)));
        assert_eq!(try_join!() as Result<(), ()>, Ok(()));
        assert_eq!(try_join!(biased;) as Result<(), ()>, Ok(()));
    });
}

#[test]
fn each_poll_begins_with_the_next_future_and_skips_those_that_have_ended() {
    let order = RefCell::new(String::new());
    let all = liten::block_on(async {
        join!(steps('a', 5, &order), steps('b', 2, &order), steps('c', 4, &order))
    });
    assert_eq!(all, ('a', 'b', 'c'));
    // The polls: abc, bca, ca, ac, a.
    assert_eq!(order.take(), "abcbcacaaca");
    let all = liten::block_on(async {
        let fallible = async { Ok::<_, ()>(steps('b', 2, &order).await) };
        try_join!(async { Ok(steps('a', 3, &order).await) }, fallible)
    });
    assert_eq!(all, Ok(('a', 'b')));
    assert_eq!(order.take(), "abbaa");
}

#[test]
fn biased_begins_with_the_first_future_each_time() {
    let order = RefCell::new(String::new());
    liten::block_on(async { join!(biased; steps('a', 3, &order), steps('b', 3, &order)) });
    assert_eq!(order.take(), "ababab");
    let fallible = async |name| Ok::<_, ()>(steps(name, 3, &order).await);
    liten::block_on(async { try_join!(biased; fallible('a'), fallible('b')) }).unwrap();
    assert_eq!(order.take(), "ababab");
}

/// What two futures with an endless supply of work get done until the second has done 1,000 operations.
fn shares(is_biased: bool) -> (usize, usize) {
    let runtime = workers(1);
    let work = async move {
        let (first, second) = (Count::default(), Count::default());
        let greedy = async {
            while second.get() < 1_000 && first.get() < 100_000 {
                consume_budget().await;
                first.add();
            }
        };
        let modest = async {
            while second.get() < 1_000 {
                consume_budget().await;
                second.add();
            }
        };
        if is_biased {
            join!(biased; greedy, modest);
        } else {
            join!(greedy, modest);
        }
        (first.get(), second.get())
    };
    runtime.block_on(runtime.spawn(work)).unwrap()
}

#[test]
fn one_future_does_not_use_up_the_budget_of_all() {
    guarded(|| {
        let (greedy, modest) = shares(false);
        assert_eq!(modest, 1_000);
        // Both have the whole budget in every other poll.
        assert!(greedy < 2_000, "{greedy}");
        // The order of `biased` is what makes the difference: there the second one waits for the first.
        assert_eq!(shares(true).0, 100_000);
    });
}

#[test]
fn the_first_error_ends_all() {
    liten::block_on(async {
        let dropped = Count::default();
        let guard = OnDrop(dropped.clone());
        let endless = async move {
            let _guard = guard;
            pending::<Result<(), &str>>().await
        };
        let failing = async {
            yield_now().await;
            Err::<u8, _>("failed")
        };
        let (endless, polls) = Polls::of(endless);
        let failed = try_join!(biased; failing, endless, async { Ok(OnDrop(dropped.clone())) });
        assert_eq!(failed.err(), Some("failed"));
        // It was not polled any more once the error was there; it and the value are dropped.
        assert_eq!((polls.get(), dropped.get()), (1, 2));
    });
}

#[test]
fn dropped_in_the_middle_they_drop_futures_and_outputs() {
    let dropped = Count::default();
    let guards = [OnDrop(dropped.clone()), OnDrop(dropped.clone())];
    liten::block_on(async {
        let [output, kept] = guards;
        let endless = async move {
            let _guard = kept;
            pending::<()>().await;
        };
        let mut join = Box::pin(async { join!(ready(output), endless) });
        assert!(poll_once(&mut join).await.is_none());
        assert_eq!(dropped.get(), 0);
        drop(join);
        assert_eq!(dropped.get(), 2);
    });
}

#[test]
fn a_hundred_and_twenty_futures_are_joined() {
    macro_rules! each_of {
        ($($name:ident)+) => {{
            let number = Cell::new(0);
            let next = || ready(number.replace(number.get() + 1));
            let ($($name,)+) = liten::block_on(async { join!($({ stringify!($name); next() }),+) });
            [$($name),+]
        }};
    }
    let outputs = each_of! {
        n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 n12 n13 n14 n15 n16 n17 n18 n19 n20 n21
        n22 n23 n24 n25 n26 n27 n28 n29 n30 n31 n32 n33 n34 n35 n36 n37 n38 n39 n40 n41
        n42 n43 n44 n45 n46 n47 n48 n49 n50 n51 n52 n53 n54 n55 n56 n57 n58 n59 n60 n61
        n62 n63 n64 n65 n66 n67 n68 n69 n70 n71 n72 n73 n74 n75 n76 n77 n78 n79 n80 n81
        n82 n83 n84 n85 n86 n87 n88 n89 n90 n91 n92 n93 n94 n95 n96 n97 n98 n99 n100
        n101 n102 n103 n104 n105 n106 n107 n108 n109 n110 n111 n112 n113 n114 n115 n116
        n117 n118 n119
    };
    assert!(outputs.into_iter().eq(0..120));
}

/// Outputs and errors without values: the compiler warns of nothing.
#[test]
#[deny(unreachable_code, unused_variables)]
fn what_never_ends_is_no_warning() {
    use std::convert::Infallible;

    let (_calls, waker) = Calls::new();
    let mut join = Box::pin(async { join!(pending::<Infallible>(), ready(1)) });
    assert!(poll_with(&mut join, &waker).is_pending());
    let mut join = Box::pin(async { try_join!(ready(Err::<Infallible, _>(1)), ready(Ok(2))) });
    assert_eq!(poll_with(&mut join, &waker), Poll::Ready(Err(1)));
    let mut join = Box::pin(async { try_join!(ready(Ok::<_, Infallible>(1)), ready(Ok(2))) });
    assert_eq!(poll_with(&mut join, &waker), Poll::Ready(Ok((1, 2))));
}

#[test]
fn pinned_values_keep_their_names_and_are_dropped_at_the_end_of_the_block() {
    let dropped = Count::default();
    liten::block_on(async {
        let mut polls = 0;
        {
            let guard = OnDrop(dropped.clone());
            let first = async move {
                let _guard = guard;
                yield_now().await;
                1
            };
            let second = poll_fn(|_| {
                polls += 1;
                Poll::Ready(polls)
            });
            liten::pin!(first, second);
            liten::pin! {
                let third = async { 3 };
                let fourth = ready(third.await);
            }
            assert_eq!(fourth.as_mut().await, 3);
            assert_eq!(first.as_mut().await, 1);
            assert_eq!((second.as_mut().await, second.as_mut().await), (1, 2));
        }
        assert_eq!((polls, dropped.get()), (2, 1));
    });
}
