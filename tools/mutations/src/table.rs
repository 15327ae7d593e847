//! What is broken, one row at a time.

mod broadcast;
mod cells;
mod clock;
mod decision;
mod driver;
mod hand_over;
mod insight;
mod notify;
mod oneshot;
mod permits;
mod scheduler;
mod sync;
mod task;
mod threads;

/// One step of a protocol, and the same step done wrong.
pub struct Mutation {
    /// The file, from the root of the workspace.
    pub file: &'static str,
    /// Part of the names of the models that have to notice.
    pub models: &'static str,
    /// Stands in the file exactly once.
    pub from: &'static str,
    /// What it is replaced with.
    pub to: &'static str,
    /// What is wrong then.
    pub breaks: &'static str,
}

/// All of them.
///
/// Not here, because the models cannot see it: that a cell is never freed (`tests/alloc.rs` counts the
/// blocks), or that its memory is used again before others are through with it (the models find poison there
/// until then; the rows of the count of references stand for the rest). A free thread
/// of the blocking pool that two jobs count on loses none of them, only time; `pool_state.rs`
/// has a plain test for it.
pub const TABLE: &[&[Mutation]] = &[
    task::ROWS,
    hand_over::ROWS,
    driver::ROWS,
    scheduler::ROWS,
    decision::ROWS,
    sync::ROWS,
    clock::ROWS,
    threads::ROWS,
    notify::ROWS,
    oneshot::ROWS,
    permits::ROWS,
    broadcast::ROWS,
    cells::ROWS,
    insight::ROWS,
];
