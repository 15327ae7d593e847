//! Messages between tasks.

use tokio::sync::{mpsc, oneshot, watch};

const CAPACITY: usize = 64;

/// The senders share the messages.
pub(crate) async fn mpsc(count: usize, senders: usize) {
    let each = count.div_ceil(senders);
    let (sender, mut receiver) = mpsc::channel(CAPACITY);
    for _ in 0..senders {
        let sender = sender.clone();
        tokio::spawn(async move {
            for message in 0..each {
                sender.send(message).await.expect("the receiver waits for all of them");
            }
        });
    }
    drop(sender);
    let mut sum = 0;
    while let Some(message) = receiver.recv().await {
        sum += message;
    }
    assert_eq!(sum, senders * (each * (each - 1) / 2));
}

/// A task asks another one, which answers each question over a channel of its own.
pub(crate) async fn oneshot(count: usize) {
    let (ask, mut questions) = mpsc::channel::<(usize, oneshot::Sender<usize>)>(CAPACITY);
    let answers = tokio::spawn(async move {
        while let Some((question, answer)) = questions.recv().await {
            answer.send(question).expect("the other task waits for it");
        }
    });
    for question in 0..count {
        let (answer, answered) = oneshot::channel();
        ask.send((question, answer)).await.expect("the other task waits for questions");
        assert_eq!(answered.await.expect("each question is answered"), question);
    }
    drop(ask);
    answers.await.expect("it does not panic");
}

/// Two tasks show each other their progress.
pub(crate) async fn watch(count: usize) {
    let (ours, mut seen_by_other) = watch::channel(0);
    let (theirs, mut seen_by_us) = watch::channel(0);
    let other = tokio::spawn(async move {
        while seen_by_other.changed().await.is_ok() {
            let seen = *seen_by_other.borrow_and_update();
            theirs.send(seen).expect("the first task waits for it");
        }
    });
    for number in 1..=count {
        ours.send(number).expect("the other task waits for it");
        seen_by_us.changed().await.expect("each number is answered");
        assert_eq!(*seen_by_us.borrow_and_update(), number);
    }
    drop(ours);
    other.await.expect("it does not panic");
}
