use super::*;

const HOME: usize = 7;

type Row = (&'static [Reason], [(Queue<(), ()>, Notice<()>); 3]);

/// The table at the head of reason.rs, for a task with a home.
const TABLE: &[Row] = &{
    use Notice::{Again, Home, Nothing, Outside, Peer, Regular};
    use Queue::{Chain, Channel, Injector, Next, Ready, SharedYielded};
    use Reason::*;
    const CHANNEL: (Queue<(), ()>, Notice<()>) = (Channel(HOME), Home(HOME));
    const CHAIN: (Queue<(), ()>, Notice<()>) = (Chain((), HOME), Nothing);
    const SHARED: (Queue<(), ()>, Notice<()>) = (Injector, Outside);
    const SHARED_YIELDED: (Queue<(), ()>, Notice<()>) = (SharedYielded, Regular);
    let (spawned, woken, first) =
        ((Ready(()), Peer(())), (Next(()), Peer(())), (Next(()), Nothing));
    let (requeued, moved) = ((Ready(()), Again(())), (Ready(()), Nothing));
    let yielded = (Queue::Yielded(()), Again(()));
    [
        (&[Spawned] as &[_], [spawned, SHARED, SHARED]),
        (&[Woken], [woken, CHAIN, CHANNEL]),
        (&[FirstOfBatch], [first, CHAIN, CHANNEL]),
        (&[InBatch], [moved, CHAIN, CHANNEL]),
        (&[Requeued], [requeued, SHARED, SHARED]),
        (&[Reason::Yielded], [yielded, SHARED_YIELDED, SHARED_YIELDED]),
        (&[YieldedToOthers], [SHARED_YIELDED; 3]),
        (&[Deferred, Received, Rescued], [moved, SHARED, SHARED]),
        (&[Abandoned], [(Injector, Nothing); 3]),
        (&[AbandonedYielded], [(SharedYielded, Nothing); 3]),
    ]
};

const PUSHERS: [Pusher<(), ()>; 3] = [Pusher::Worker(()), Pusher::Dispatcher(()), Pusher::Other];

#[test]
fn each_reason_has_its_queue_on_each_thread() {
    for (reasons, places) in TABLE {
        for &reason in *reasons {
            for (by, expected) in PUSHERS.into_iter().zip(places) {
                assert_eq!(place(reason, by, || Some(HOME)), *expected, "{reason:?} by {by:?}");
            }
        }
    }
}

/// Without a home the queue that all workers share is told of at once, and the other cells stay as they are.
#[test]
fn a_task_without_a_home_goes_to_the_injector() {
    for (reasons, places) in TABLE {
        for &reason in *reasons {
            for (by, &expected) in PUSHERS.into_iter().zip(places) {
                let expected = match expected.0 {
                    Queue::Channel(_) | Queue::Chain(..) => (Queue::Injector, Notice::Outside),
                    _ => expected,
                };
                assert_eq!(place(reason, by, || None), expected, "{reason:?} by {by:?}");
            }
        }
    }
}
