use super::*;

const HOME: usize = 7;

type Row = (&'static [Origin], [(Queue<(), ()>, Notice<()>); 5]);

/// The table at the head of origin.rs, for a task with a home.
const TABLE: &[Row] = &{
    use Notice::{Again, Home, Nothing, Outside, Peer, Regular};
    use Origin::*;
    use Queue::{Chain, Channel, Injector, Left, Next, Ready};
    const CHANNEL: (Queue<(), ()>, Notice<()>) = (Channel(HOME), Home(HOME));
    const CHAIN: (Queue<(), ()>, Notice<()>) = (Chain((), HOME), Nothing);
    const SHARED: (Queue<(), ()>, Notice<()>) = (Injector, Outside);
    const LEFT: (Queue<(), ()>, Notice<()>) = (Left, Regular);
    let (spawned, woken, first) =
        ((Ready(()), Peer(())), (Next(()), Peer(())), (Next(()), Nothing));
    let (requeued, moved) = ((Ready(()), Again(())), (Ready(()), Nothing));
    let yielded = (Queue::Yielded(()), Again(()));
    [
        (&[Spawned] as &[_], [spawned, spawned, (Ready(()), Outside), SHARED, SHARED]),
        (&[Woken], [woken, woken, CHANNEL, CHAIN, CHANNEL]),
        (&[Crowd(0)], [first, first, CHANNEL, CHAIN, CHANNEL]),
        (&[Crowd(1), Crowd(2), Crowd(999)], [moved, moved, CHANNEL, CHAIN, CHANNEL]),
        (&[Requeued], [requeued, requeued, SHARED, SHARED, SHARED]),
        (&[Origin::Yielded], [yielded, LEFT, LEFT, LEFT, LEFT]),
        (&[Deferred, Received, Rescued], [moved, moved, SHARED, SHARED, SHARED]),
        (&[Abandoned], [(Injector, Nothing); 5]),
        (&[AbandonedYielded], [(Left, Nothing); 5]),
    ]
};

const PUSHERS: [Pusher<(), ()>; 5] = [
    Pusher::Worker(()),
    Pusher::Helper(()),
    Pusher::Guest(()),
    Pusher::Dispatcher(()),
    Pusher::Other,
];

#[test]
fn each_origin_has_its_queue_on_each_thread() {
    for (origins, places) in TABLE {
        for &origin in *origins {
            for (by, expected) in PUSHERS.into_iter().zip(places) {
                assert_eq!(place(origin, by, || Some(HOME)), *expected, "{origin:?} by {by:?}");
            }
        }
    }
}

/// Without a home the queue that all workers share is told of at once, and the other cells stay as they are.
#[test]
fn a_task_without_a_home_goes_to_the_injector() {
    for (origins, places) in TABLE {
        for &origin in *origins {
            for (by, &expected) in PUSHERS.into_iter().zip(places) {
                let expected = match expected.0 {
                    Queue::Channel(_) | Queue::Chain(..) => (Queue::Injector, Notice::Outside),
                    _ => expected,
                };
                assert_eq!(place(origin, by, || None), expected, "{origin:?} by {by:?}");
            }
        }
    }
}
