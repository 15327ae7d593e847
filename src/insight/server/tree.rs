//! The await tree of one task, and those of all tasks summed up. One at a time: each may last, on a thread of
//! its own.

use super::answer::{Answer, Status, TEXT};
use super::made::made;
use crate::engine::sync_shim::StaticMutex;
use crate::engine::task::TaskId;
use crate::insight::AwaitTreeError;
use crate::observe::spare_descriptors::with_one_free;
use crate::runtime::Handle;
use crate::task::CancellationToken;
use std::time::Duration;

/// How long to wait until the task is polled.
const LIMIT: Duration = Duration::from_secs(5);

static ONE: StaticMutex<()> = StaticMutex::new(());

/// What `task=…` says.
pub(super) fn task(query: Option<&str>) -> Option<TaskId> {
    TaskId::from_bits(query?.strip_prefix("task=")?.parse().ok()?)
}

/// The answer, when it is known: the tree, or in a sentence why there is none. When the page has ended, no
/// thread waits for it any more.
pub(super) async fn answer(runtimes: Vec<Handle>, task: TaskId, end: CancellationToken) -> Answer {
    one_at_a_time(move || tree(&runtimes, task, &end)).await
}

/// The answer, when it is known: where the tasks of each runtime wait.
pub(super) async fn profile(runtimes: Vec<Handle>, end: CancellationToken) -> Answer {
    one_at_a_time(move || {
        let profile = |runtime: &Handle| {
            let profile = runtime.await_profile_unless(LIMIT, || end.is_cancelled());
            format!("runtime {}: {profile}", runtime.id())
        };
        Answer::ok(TEXT, runtimes.iter().map(profile).collect::<Vec<_>>().join("\n"))
    })
    .await
}

/// What `make` returns, unless another answer is being made. The thread that serves the page does not wait
/// for tasks, nor for the symbols to be read.
async fn one_at_a_time(make: impl FnOnce() -> Answer + Send + 'static) -> Answer {
    made(move || match ONE.try_lock() {
        Some(_one) => with_one_free(make),
        None => Answer::refusal(Status::OtherTree),
    })
    .await
}

fn tree(runtimes: &[Handle], task: TaskId, end: &CancellationToken) -> Answer {
    let tree = |runtime: &Handle| runtime.await_tree_unless(task, LIMIT, || end.is_cancelled());
    let mut trees = runtimes.iter().map(tree);
    let found = trees.find(|tree| !matches!(tree, Err(AwaitTreeError::NotFound)));
    Answer::ok(
        TEXT,
        match found.unwrap_or(Err(AwaitTreeError::NotFound)) {
            Ok(tree) => tree.to_string(),
            Err(error) => format!("{error}\n"),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::task;

    #[test]
    fn a_task_is_named_by_its_number() {
        assert_eq!(task(Some("task=17")).map(|task| task.to_string()).as_deref(), Some("17"));
        for query in [None, Some(""), Some("task="), Some("task=0"), Some("task=-1"), Some("id=1")]
        {
            assert_eq!(task(query), None, "{query:?}");
        }
    }
}
