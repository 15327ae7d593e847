//! Permits that tasks take, wait for and give back.

mod permit;

pub use self::permit::{OwnedSemaphorePermit, SemaphorePermit};

use super::await_place::awaited_here;
use super::permits::{Closed, Owner, Permits, Refusal};
use crate::engine::sync_shim::const_fn;
use crate::engine::tokio_note::{NOTE, noted};
use crate::impls::{impl_debug, impl_error};
use crate::runtime::block_on::wait_outside;
use std::sync::Arc;

/// A number of permits that tasks take and give back; a task waits while there are not enough.
///
/// The semaphore is fair: permits go to the waiting futures in the order in which they came. A future that
/// wants many permits collects them as they are given back. Futures that came later wait for it, also if they
/// want fewer.
///
/// # Examples
///
/// A limit for the number of connections: the accepting task waits for a permit before it accepts, and the
/// task of the connection gives the permit back when it ends.
///
/// ```
/// use liten::net::TcpListener;
/// use liten::sync::Semaphore;
/// use std::sync::Arc;
///
/// # fn main() {}
/// # async fn serve() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:8080").await?;
/// let permits = Arc::new(Semaphore::new(1000));
/// loop {
///     let permit = permits.clone().acquire_owned().await.expect("never closed");
///     let (stream, _) = listener.accept().await?;
///     liten::spawn(async move {
///         talk(stream).await;
///         drop(permit);
///     });
/// }
/// # }
/// # async fn talk(_: liten::net::TcpStream) {}
/// ```
///
/// A limit of three for the calls that are inside one function:
///
/// ```
/// use liten::sync::Semaphore;
///
/// static QUERIES: Semaphore = Semaphore::const_new(3);
///
/// async fn query(number: u32) -> u32 {
///     let _permit = QUERIES.acquire().await.expect("never closed");
///     liten::task::yield_now().await;
///     number * 2
/// }
///
/// # liten::block_on(async {
/// assert_eq!(query(21).await, 42);
/// assert_eq!(QUERIES.available_permits(), 3);
/// # });
/// ```
pub struct Semaphore {
    permits: Permits,
}

impl Semaphore {
    /// The most permits a semaphore can have.
    pub const MAX_PERMITS: usize = Permits::MAX;

    /// Returns a semaphore with `permits` permits.
    ///
    /// # Panics
    ///
    /// If `permits` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        assert!(
            permits <= Self::MAX_PERMITS,
            "a semaphore may not have more than MAX_PERMITS permits ({}), and not {permits}{NOTE}",
            Self::MAX_PERMITS
        );
        Self { permits: Permits::new(permits, Owner::Semaphore) }
    }

    const_fn! {
        /// Returns a semaphore with `permits` permits, for a static.
        ///
        /// # Panics
        ///
        /// If `permits` is more than [`MAX_PERMITS`](Self::MAX_PERMITS). In a static, the compiler reports
        /// that.
        pub fn const_new(permits: usize) -> Self {
            assert!(
                permits <= Self::MAX_PERMITS,
                noted!("a semaphore has at most Semaphore::MAX_PERMITS permits")
            );
            Self { permits: Permits::new(permits, Owner::Semaphore) }
        }
    }

    const_fn! {
        /// Returns a closed semaphore without permits.
        pub(super) fn closed() -> Self {
            Self { permits: Permits::new_closed() }
        }
    }

    /// Returns how many permits could be acquired without waiting.
    pub fn available_permits(&self) -> usize {
        self.permits.available()
    }

    /// Adds `n` permits; futures that wait get them first.
    ///
    /// # Panics
    ///
    /// If there would be more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    pub fn add_permits(&self, n: usize) {
        if n > 0 {
            self.permits.release(n);
            let n = n as u64;
            self.permits.count(|counted| {
                let again = n.min(counted.forgotten);
                counted.forgotten -= again;
                counted.all += n - again;
            });
        }
    }

    /// Removes up to `n` of the available permits for good; returns how many.
    ///
    /// It does not remove permits that are held, or that a waiting future has collected.
    pub fn forget_permits(&self, n: usize) -> usize {
        let forgotten = self.permits.forget(n);
        self.permits.count(|counted| counted.all = counted.all.saturating_sub(forgotten as u64));
        forgotten
    }

    /// Waits for a permit.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped loses its place among those that wait. If it had just been given a permit,
    /// the permit goes to the next future.
    ///
    /// # Errors
    ///
    /// [`AcquireError`] if the semaphore is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::Semaphore;
    ///
    /// # liten::block_on(async {
    /// let semaphore = Semaphore::new(2);
    /// let permit = semaphore.acquire().await.unwrap();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// drop(permit);
    /// assert_eq!(semaphore.available_permits(), 2);
    /// # });
    /// ```
    #[track_caller]
    pub fn acquire(&self) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        awaited_here(async move {
            self.permits.acquire(1).await?;
            Ok(SemaphorePermit::new(self, 1))
        })
    }

    /// Waits for `n` permits.
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Self::acquire). Permits that the future has collected are given back.
    ///
    /// # Errors
    ///
    /// [`AcquireError`] if the semaphore is closed.
    #[track_caller]
    pub fn acquire_many(
        &self,
        n: u32,
    ) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        awaited_here(async move {
            self.permits.acquire(n as usize).await?;
            Ok(SemaphorePermit::new(self, n as usize))
        })
    }

    /// Takes a permit if one is available.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError`]: none is available, or the semaphore is closed.
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// Takes `n` permits if as many are available.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError`]: there are fewer, or the semaphore is closed.
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.permits.try_acquire(n as usize)?;
        Ok(SemaphorePermit::new(self, n as usize))
    }

    /// Blocks the thread until it has a permit; for threads that run no tasks, and for `spawn_blocking`.
    ///
    /// # Errors
    ///
    /// [`AcquireError`] if the semaphore is closed.
    ///
    /// # Panics
    ///
    /// In async code: inside a task, and in the future of a `block_on`.
    #[track_caller]
    pub fn blocking_acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        wait_outside("blocking_acquire", self.acquire())
    }

    /// As [`blocking_acquire`](Self::blocking_acquire), for `n` permits.
    ///
    /// # Errors
    ///
    /// As [`blocking_acquire`](Self::blocking_acquire).
    ///
    /// # Panics
    ///
    /// As [`blocking_acquire`](Self::blocking_acquire).
    #[track_caller]
    pub fn blocking_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        wait_outside("blocking_acquire_many", self.acquire_many(n))
    }

    /// As [`acquire`](Self::acquire), but the permit keeps the semaphore alive and borrows nothing.
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Self::acquire).
    ///
    /// # Errors
    ///
    /// [`AcquireError`] if the semaphore is closed.
    #[track_caller]
    pub fn acquire_owned(
        self: Arc<Self>,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> {
        awaited_here(async move {
            self.permits.acquire(1).await?;
            Ok(OwnedSemaphorePermit::new(self, 1))
        })
    }

    /// As [`acquire_many`](Self::acquire_many), but the permit keeps the semaphore alive and borrows nothing.
    ///
    /// # Cancel safety
    ///
    /// As [`acquire_many`](Self::acquire_many).
    ///
    /// # Errors
    ///
    /// [`AcquireError`] if the semaphore is closed.
    #[track_caller]
    pub fn acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> {
        awaited_here(async move {
            self.permits.acquire(n as usize).await?;
            Ok(OwnedSemaphorePermit::new(self, n as usize))
        })
    }

    /// As [`try_acquire`](Self::try_acquire), but the permit keeps the semaphore alive and borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    /// As [`try_acquire_many`](Self::try_acquire_many), but the permit keeps the semaphore alive and borrows
    /// nothing.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_many`](Self::try_acquire_many).
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.permits.try_acquire(n as usize)?;
        Ok(OwnedSemaphorePermit::new(self, n as usize))
    }

    /// As [`blocking_acquire`](Self::blocking_acquire), but the permit keeps the semaphore alive and borrows
    /// nothing.
    ///
    /// # Errors
    ///
    /// As [`blocking_acquire`](Self::blocking_acquire).
    ///
    /// # Panics
    ///
    /// As [`blocking_acquire`](Self::blocking_acquire).
    #[track_caller]
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        wait_outside("blocking_acquire_owned", self.acquire_owned())
    }

    /// As [`blocking_acquire_owned`](Self::blocking_acquire_owned), for `n` permits.
    ///
    /// # Errors
    ///
    /// As [`blocking_acquire`](Self::blocking_acquire).
    ///
    /// # Panics
    ///
    /// As [`blocking_acquire`](Self::blocking_acquire).
    #[track_caller]
    pub fn blocking_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        wait_outside("blocking_acquire_many_owned", self.acquire_many_owned(n))
    }

    /// Closes the semaphore: it gives out no permits any more, and the futures that wait get an error.
    ///
    /// Permits that are held stay valid.
    ///
    /// If a future was given permits, and has not been polled since, they go back.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::{Semaphore, TryAcquireError};
    ///
    /// # liten::block_on(async {
    /// let semaphore = Semaphore::new(1);
    /// semaphore.close();
    /// assert!(semaphore.acquire().await.is_err());
    /// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
    /// # });
    /// ```
    pub fn close(&self) {
        self.permits.close();
    }

    /// Returns whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }
}

impl_debug!([] Semaphore, this => "Semaphore" {
    available: this.available_permits(),
    closed: this.is_closed(),
});

/// The semaphore is closed.
#[derive(Debug)]
pub struct AcquireError(());

impl_error!([] AcquireError, "semaphore closed");

impl From<Closed> for AcquireError {
    fn from(_: Closed) -> Self {
        Self(())
    }
}

/// Why no permit was taken at once.
#[derive(Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// There are not enough permits, or futures wait for them already.
    NoPermits,
}

impl_error!([] TryAcquireError, this => match this {
    Self::Closed => "semaphore closed",
    Self::NoPermits => "no permits available",
});

impl From<Refusal> for TryAcquireError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Closed => Self::Closed,
            Refusal::TooFew => Self::NoPermits,
        }
    }
}
