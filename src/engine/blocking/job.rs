//! What the pool asks of the work that it is given.

/// Work for one thread. Exactly one of the two methods is called, once.
///
/// Neither should panic: something waits for its outcome, which only the job knows. If one
/// does, the panic is caught and its payload lost, and the pool goes on.
pub(crate) trait Job: Send + 'static {
    /// Does the work, on a thread of the pool.
    fn run(self);

    /// Says that the work will never be done: on a thread of the pool, or on that of a caller whose job was
    /// not taken.
    fn cancel(self);

    /// Whether the job, once queued, is run even if the pool is closed before a thread takes it.
    fn must_run(&self) -> bool {
        false
    }

    /// Whether waiting for a thread that has another job would be waiting for ever.
    fn needs_a_thread(&self) -> bool {
        false
    }
}
