//! What each operation does to the word, by the table at the head of `state.rs`.

use super::*;

/// A task that is marked is about to be polled: whether its wait ends so, and what there is to do.
fn start_marked(state: &State) -> (bool, Marked) {
    assert_eq!(state.start(), Start::Marked);
    (state.ends_wait(), state.start_marked())
}

#[test]
fn wakes_coalesce_and_one_during_the_poll_requeues() {
    let state = State::new();
    assert_eq!(state.wake(), Wake::Noted, "queued already");
    assert_eq!(state.start(), Start::Poll);
    assert_eq!(state.pending(), Pending::Cold, "a wake before the poll is answered by the poll");
    assert_eq!(state.wake(), Wake::Schedule);
    assert_eq!(state.wake(), Wake::Noted);
    assert_eq!(state.start(), Start::Poll);
    assert_eq!(state.wake(), Wake::Noted);
    assert_eq!(state.wake(), Wake::Noted);
    assert_eq!(state.pending(), Pending::Requeue);
    assert_eq!(state.start(), Start::Poll);
    assert_eq!(state.pending(), Pending::Cold);
}

#[test]
fn a_wake_or_abort_after_completion_is_a_no_op() {
    let state = State::new();
    assert_eq!(state.start(), Start::Poll);
    assert_eq!(state.complete(), Complete::Released(Released::Nothing));
    assert_eq!(state.wake(), Wake::Nothing);
    assert_eq!(state.abort(), Wake::Nothing);
    assert!(state.is_complete());
    assert_eq!(state.drop_join(), DropJoin::Complete { slot_is_ours: true });
    assert_eq!(state.release(), Released::Free, "the JoinHandle's was the last reference");
}

#[test]
fn abort_is_seen_cold_queued_and_running() {
    let cold = State::new();
    assert_eq!(cold.start(), Start::Poll);
    assert_eq!(cold.pending(), Pending::Cold);
    assert_eq!(cold.abort(), Wake::Schedule);
    assert_eq!(cold.abort(), Wake::Nothing);
    assert_eq!(start_marked(&cold), (false, Marked::Cancel));

    let queued = State::new();
    assert_eq!(queued.abort(), Wake::Nothing);
    assert_eq!(start_marked(&queued), (false, Marked::Cancel));

    let running = State::new();
    assert_eq!(running.start(), Start::Poll);
    assert_eq!(running.abort(), Wake::Nothing);
    assert_eq!(running.wake(), Wake::Noted);
    assert_eq!(running.pending(), Pending::Cancel);
}

#[test]
fn the_output_has_one_owner() {
    let detached = State::new();
    assert_eq!(detached.drop_join(), DropJoin::Released);
    assert_eq!(detached.start(), Start::Poll);
    assert_eq!(detached.complete(), Complete::OutputUnwanted);
    assert_eq!(detached.complete_detached(), Released::Free);

    let joined = State::new();
    assert_eq!(joined.flip_join_waker(), Poll::Pending);
    assert!(joined.has_join_waker());
    assert_eq!(joined.flip_join_waker(), Poll::Pending);
    assert!(!joined.has_join_waker());
    assert_eq!(joined.flip_join_waker(), Poll::Pending);
    assert_eq!(joined.start(), Start::Poll);
    assert_eq!(joined.complete(), Complete::WakeJoiner);
    assert_eq!(joined.flip_join_waker(), Poll::Ready(()));
    assert!(joined.has_join_waker());
    assert_eq!(joined.joiner_woken(), Some(Released::Nothing));
    assert_eq!(joined.flip_join_waker(), Poll::Ready(()));
    assert!(!joined.has_join_waker());
    assert_eq!(joined.drop_join(), DropJoin::Complete { slot_is_ours: true });
    assert_eq!(joined.release(), Released::Free);

    let crossed = State::new();
    assert_eq!(crossed.flip_join_waker(), Poll::Pending);
    assert_eq!(crossed.start(), Start::Poll);
    assert_eq!(crossed.complete(), Complete::WakeJoiner);
    assert_eq!(crossed.drop_join(), DropJoin::Complete { slot_is_ours: false });
    assert_eq!(crossed.release(), Released::Nothing);
    assert_eq!(crossed.joiner_woken(), None);
    assert_eq!(crossed.release(), Released::Free);

    let left = State::new();
    assert_eq!(left.flip_join_waker(), Poll::Pending);
    assert_eq!(left.drop_join(), DropJoin::DropWaker);
    assert_eq!(left.release(), Released::Nothing);
}

fn is_stuck(state: &State) -> bool {
    state.cold_wakers() == Some(0)
}

#[test]
fn a_task_is_stuck_while_it_is_cold_and_without_a_waker() {
    let state = State::new();
    assert!(!is_stuck(&state), "queued");
    assert_eq!(state.start(), Start::Poll);
    assert!(!is_stuck(&state), "running");
    state.add_ref();
    assert_eq!(state.pending(), Pending::Cold);
    assert!(!is_stuck(&state), "a waker exists");
    assert_eq!(state.release(), Released::Nothing);
    assert!(is_stuck(&state));
    assert_eq!(state.flip_join_waker(), Poll::Pending);
    assert!(is_stuck(&state), "the waker in the slot is another task's");
    assert_eq!(state.drop_join(), DropJoin::DropWaker);
    assert!(!is_stuck(&state), "not proven until the handle is gone");
    assert_eq!(state.release(), Released::Nothing);
    assert!(is_stuck(&state), "detached");
    assert_eq!(state.abort(), Wake::Schedule);
    assert!(!is_stuck(&state), "it will end");
    assert_eq!(start_marked(&state), (false, Marked::Cancel));
    assert_eq!(state.complete(), Complete::OutputUnwanted);
    assert_eq!(state.complete_detached(), Released::Free);
    assert!(!is_stuck(&state), "complete");
}

#[test]
fn a_mark_stays_until_the_task_goes_cold_again() {
    let state = State::new();
    assert_eq!([state.mark(), state.seen()], [Mark::Hot; 2], "queued");
    assert_eq!(state.start(), Start::Poll);
    assert_eq!([state.mark(), state.seen()], [Mark::Hot; 2], "running");
    assert_eq!(state.pending(), Pending::Cold);
    assert_eq!([state.seen(), state.seen()], [Mark::New; 2], "a look alone leaves no mark");
    assert_eq!(state.mark(), Mark::New);
    assert_eq!([state.mark(), state.seen()], [Mark::Old; 2]);
    assert_eq!(state.wake(), Wake::Schedule);
    assert_eq!(state.seen(), Mark::Hot);
    assert_eq!(state.start(), Start::Poll);
    assert_eq!(state.pending(), Pending::Cold);
    assert_eq!(state.seen(), Mark::New, "it has run since");
}

#[test]
fn references_are_counted_beside_the_bits() {
    let state = State::new();
    state.add_ref();
    assert_eq!(state.release(), Released::Nothing);
    assert_eq!(state.drop_join(), DropJoin::Released);
    assert_eq!(state.start(), Start::Poll);
    state.add_ref();
    assert_eq!(state.complete(), Complete::OutputUnwanted);
    assert_eq!(state.complete_detached(), Released::Nothing, "a waker is still out");
    assert_eq!(state.wake(), Wake::Nothing);
    assert_eq!(state.release(), Released::Free);
}

#[test]
fn a_followed_task_is_one_whose_wake_and_start_say_so() {
    let state = State::new();
    assert_eq!([state.follow(Some(2)), state.followed()], [None, Some(2)]);
    assert_eq!(start_marked(&state), (true, Marked::Poll));
    assert_eq!(state.follow(Some(6)), Some(2));
    assert_eq!(state.pending(), Pending::Cold);
    assert_eq!(state.wake(), Wake::ScheduleFollowed);
    assert_eq!(state.wake(), Wake::Noted);
    assert_eq!(start_marked(&state), (true, Marked::Poll));
    assert_eq!(state.wake(), Wake::Noted, "while it runs");
    assert_eq!(state.pending(), Pending::RequeueFollowed);
    assert_eq!((state.start(), state.ends_wait()), (Start::Marked, true));
    assert_eq!(state.follow(None), Some(6));
    assert_eq!(state.start_marked(), Marked::Poll);
    assert_eq!(state.pending(), Pending::Cold);
    state.add_ref();
    assert_eq!(state.wake_owned(), Some(Wake::Schedule), "not any more");
}

#[test]
fn a_followed_task_is_cancelled_and_traced_as_any_other() {
    let followed = || {
        let state = State::new();
        assert_eq!(state.follow(Some(0)), None);
        assert_eq!(start_marked(&state), (true, Marked::Poll));
        assert_eq!(state.pending(), Pending::Cold);
        state
    };
    let cancelled = followed();
    assert_eq!(cancelled.wake(), Wake::ScheduleFollowed);
    assert_eq!(cancelled.abort(), Wake::Nothing);
    assert_eq!(start_marked(&cancelled), (false, Marked::Cancel), "its wait ends in no poll");
    assert!(cancelled.is_marked());

    let traced = followed();
    assert_eq!(traced.trace(), Wake::ScheduleFollowed);
    assert_eq!(start_marked(&traced), (true, Marked::Trace));
    assert_eq!(traced.pending(), Pending::Cold);

    let late = followed();
    assert_eq!(late.wake(), Wake::ScheduleFollowed);
    assert_eq!((late.start(), late.ends_wait()), (Start::Marked, true));
    assert_eq!(late.abort(), Wake::Nothing);
    assert_eq!(late.start_marked(), Marked::Cancel);
}
