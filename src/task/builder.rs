//! Spawning a task with a name or a class.

use super::spawn::spawn_local_from;
use super::{Class, JoinHandle};
use crate::engine::task::origin::{Name, Origin};
use crate::runtime::door::boxed_if_large;
use crate::runtime::{Handle, context};
use std::future::Future;
use std::io;
use std::panic::Location;
use std::sync::Arc;

/// Gives a task a name or a class before it is spawned.
///
/// The name is for people: the list of live tasks (`Handle::tasks`, with the feature `insight`) shows it.
/// Several tasks may have the same. A task without one costs nothing more; one with a name costs an
/// allocation.
///
/// The methods that spawn return a `Result`, as tokio's do. Only those for blocking work can fail.
///
/// # Examples
///
/// ```
/// # liten::block_on(async {
/// let task = liten::task::Builder::new().name("sum").spawn(async { 1 + 1 }).unwrap();
/// assert_eq!(task.await.unwrap(), 2);
/// # });
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Builder<'a> {
    name: Option<&'a str>,
    class: Option<Class>,
}

impl<'a> Builder<'a> {
    /// Returns a builder without a name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name of the task.
    pub fn name(&self, name: &'a str) -> Self {
        Self { name: Some(name), ..*self }
    }

    /// Sets the class of the task, instead of that of the task that spawns it.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::task::{Builder, Class};
    ///
    /// # liten::block_on(async {
    /// let report = Builder::new().class(Class::Bulk).spawn(async { (1..=100).sum::<u64>() });
    /// assert_eq!(report.unwrap().await.unwrap(), 5050);
    /// # });
    /// ```
    pub fn class(&self, class: Class) -> Self {
        Self { class: Some(class), ..*self }
    }

    /// Starts a task in the current runtime. See [`liten::spawn`](crate::spawn).
    ///
    /// # Errors
    ///
    /// None.
    ///
    /// # Panics
    ///
    /// If called outside a runtime.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (handle, origin) = (context::expect("task::Builder::spawn"), Location::caller());
        boxed_if_large!(task future: F, origin => Ok(self.start(future, origin, &handle)))
    }

    /// Starts a task in the runtime of `handle`. See [`Handle::spawn`].
    ///
    /// # Errors
    ///
    /// None.
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let origin = Location::caller();
        boxed_if_large!(task future: F, origin => Ok(self.start(future, origin, handle)))
    }

    fn start<F>(
        self,
        future: F,
        origin: impl Origin<Name = ()>,
        handle: &Handle,
    ) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        match self.name {
            Some(name) => self.start_named(future, (origin, Arc::from(name)), handle),
            None => self.start_named(future, origin, handle),
        }
    }

    fn start_named<F>(
        self,
        future: F,
        origin: impl Origin,
        handle: &Handle,
    ) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        match self.class {
            Some(class) => handle.spawn_in_class(future, origin, class),
            None => handle.spawn_from(future, origin),
        }
    }

    /// Starts a task that need not be `Send` on this thread. See [`spawn_local`](super::spawn_local).
    ///
    /// # Errors
    ///
    /// None.
    ///
    /// # Panics
    ///
    /// As [`spawn_local`](super::spawn_local).
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let origin = Location::caller();
        boxed_if_large!(task future: F, origin => Ok(self.start_local(future, origin)))
    }

    #[track_caller]
    fn start_local<F>(self, future: F, origin: impl Origin<Name = ()>) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        match self.name {
            Some(name) => spawn_local_from(future, (origin, Arc::from(name))),
            None => spawn_local_from(future, origin),
        }
    }

    /// Runs `f` on the blocking pool of the current runtime. See
    /// [`spawn_blocking`](crate::spawn_blocking).
    ///
    /// # Errors
    ///
    /// If the runtime is shutting down, or no thread can be made.
    ///
    /// # Panics
    ///
    /// If called outside a runtime.
    #[track_caller]
    pub fn spawn_blocking<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let handle = context::expect("task::Builder::spawn_blocking");
        let origin = Location::caller();
        boxed_if_large!(function f: F => self.start_blocking(f, origin, &handle))
    }

    /// Runs `f` on the blocking pool of the runtime of `handle`. See [`Handle::spawn_blocking`].
    ///
    /// # Errors
    ///
    /// If the runtime is shutting down, or no thread can be made.
    #[track_caller]
    pub fn spawn_blocking_on<F, T>(self, f: F, handle: &Handle) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let origin = Location::caller();
        boxed_if_large!(function f: F => self.start_blocking(f, origin, handle))
    }

    fn start_blocking<F, T>(
        self,
        f: F,
        origin: impl Origin<Name = ()>,
        handle: &Handle,
    ) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (job, taken) = match self.name {
            Some(name) => handle.start_blocking(f, false, (origin, Arc::from(name))),
            None => handle.start_blocking(f, false, origin),
        };
        taken.map(|()| job)
    }
}

/// A task with a name.
impl<O: Origin<Name = ()>> Origin for (O, Arc<str>) {
    type Name = Arc<str>;
    type Future<F> = O::Future<F>;

    fn into_parts(self) -> (&'static Location<'static>, Arc<str>) {
        let (origin, name) = self;
        (origin.into_parts().0, name)
    }
}

impl Name for Arc<str> {
    fn get(&self) -> Option<Arc<str>> {
        Some(self.clone())
    }
}

/// Starts a task of [`Class::Bulk`] in the current runtime. See [`liten::spawn`](crate::spawn).
///
/// # Panics
///
/// If called outside a runtime.
///
/// # Examples
///
/// ```
/// # liten::block_on(async {
/// let report = liten::task::spawn_bulk(async { (1..=100).sum::<u64>() });
/// assert_eq!(report.await.unwrap(), 5050);
/// # });
/// ```
#[track_caller]
pub fn spawn_bulk<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (handle, origin) = (context::expect("spawn_bulk"), Location::caller());
    boxed_if_large!(task future: F, origin => handle.spawn_in_class(future, origin, Class::Bulk))
}
