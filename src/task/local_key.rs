//! Task locals: values that travel with a task instead of with a thread.
//!
//! A key owns one thread-local slot. [`LocalKey::scope`] keeps the value inside the future and swaps it
//! into the slot for the time of each poll, and out again afterwards. Whatever was in the slot before is
//! kept in the value's place meanwhile, so scopes nest and a value set on one thread is found on whichever
//! thread polls next. The swap back is done by a destructor, so it also happens when the poll panics.
//! Rejected: a map from key to value in the task's header, which every task would pay for; and setting the
//! value once per task, which would be lost when the task moves to another thread.

use crate::impls::{impl_debug, impl_error};
use pin_project_lite::pin_project;
use std::any::type_name;
use std::cell::RefCell;
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

/// Declares task-local keys: statics of type [`task::LocalKey`](crate::task::LocalKey).
///
/// # Examples
///
/// ```
/// liten::task_local! {
///     /// Which request the task works on.
///     pub static REQUEST: u64;
///
///     static USER: String;
/// }
///
/// liten::block_on(async {
///     REQUEST
///         .scope(7, async {
///             assert_eq!(REQUEST.get(), 7);
///             let length = USER.scope("bo".to_string(), async { USER.with(String::len) }).await;
///             assert_eq!(length, 2);
///         })
///         .await;
/// });
/// assert!(REQUEST.try_get().is_err());
/// ```
#[macro_export]
macro_rules! task_local {
    ($($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty);* $(;)?) => {
        $(
            $(#[$attribute])*
            $visibility static $name: $crate::task::LocalKey<$type> = {
                ::std::thread_local! {
                    static SLOT: ::std::cell::RefCell<::std::option::Option<$type>> =
                        const { ::std::cell::RefCell::new(::std::option::Option::None) };
                }
                $crate::task::LocalKey::__new(SLOT)
            };
        )*
    };
}
pub use task_local;

/// A key for a value that belongs to a task.
///
/// Made with [`task_local!`](crate::task_local). A task sees a value only inside [`scope`](LocalKey::scope)
/// or [`sync_scope`](LocalKey::sync_scope). Tasks spawned inside a scope do not inherit the value: wrap the
/// future of the new task in a scope of its own.
pub struct LocalKey<T: 'static> {
    slot: thread::LocalKey<RefCell<Option<T>>>,
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn __new(slot: thread::LocalKey<RefCell<Option<T>>>) -> Self {
        Self { slot }
    }

    /// Returns a future that runs `future` with `value` under this key.
    ///
    /// The value is dropped with the returned future, after `future` itself, which still sees it in its
    /// destructors.
    ///
    /// # Panics
    ///
    /// Polling the returned future panics inside [`with`](Self::with) of the same key, where the value is
    /// borrowed, and in the destructors of a thread that has already destroyed its slot.
    ///
    /// # Examples
    ///
    /// ```
    /// liten::task_local! { static DEPTH: u32; }
    ///
    /// let depth = liten::block_on(DEPTH.scope(1, async { DEPTH.get() }));
    /// assert_eq!(depth, 1);
    /// ```
    pub fn scope<F: Future>(&'static self, value: T, future: F) -> TaskLocalFuture<T, F> {
        TaskLocalFuture { key: self, value: Some(value), future: Some(future) }
    }

    /// Calls `f` with `value` under this key and returns what it returns.
    ///
    /// # Panics
    ///
    /// Panics inside [`with`](Self::with) of the same key, where the value is borrowed, and in the
    /// destructors of a thread that has already destroyed its slot.
    ///
    /// # Examples
    ///
    /// ```
    /// liten::task_local! { static DEPTH: u32; }
    ///
    /// assert_eq!(DEPTH.sync_scope(2, || DEPTH.get() + 1), 3);
    /// ```
    #[track_caller]
    pub fn sync_scope<R>(&'static self, value: T, f: impl FnOnce() -> R) -> R {
        let mut value = Some(value);
        match self.lend(&mut value) {
            Ok(_lent) => f(),
            Err(refusal) => refusal.panic::<T>(),
        }
    }

    /// Calls `f` with a reference to the value and returns what it returns.
    ///
    /// # Panics
    ///
    /// Panics outside a scope of this key.
    #[track_caller]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        match self.try_with(f) {
            Ok(result) => result,
            Err(error) => panic!("{error}: `{}`", type_name::<T>()),
        }
    }

    /// Calls `f` with a reference to the value, if there is one, and returns what it returns.
    ///
    /// # Errors
    ///
    /// [`AccessError`] outside a scope of this key; `f` is then not called.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let found = self.slot.try_with(|slot| slot.borrow().as_ref().map(f));
        found.ok().flatten().ok_or(AccessError { _private: () })
    }

    /// Returns a clone of the value.
    ///
    /// # Panics
    ///
    /// Panics outside a scope of this key.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }

    /// Returns a clone of the value, if there is one.
    ///
    /// # Errors
    ///
    /// [`AccessError`] outside a scope of this key.
    pub fn try_get(&'static self) -> Result<T, AccessError>
    where
        T: Clone,
    {
        self.try_with(T::clone)
    }

    /// Swaps `value` into the slot until the returned guard is dropped.
    fn lend<'a>(&'static self, value: &'a mut Option<T>) -> Result<Lent<'a, T>, Refusal> {
        self.swap(value)?;
        Ok(Lent { key: self, value })
    }

    /// The slot is borrowed for the swap alone, during which no code of the user runs.
    fn swap(&'static self, value: &mut Option<T>) -> Result<(), Refusal> {
        let swapped = self.slot.try_with(|slot| {
            let mut slot = slot.try_borrow_mut().map_err(|_| Refusal::Borrowed)?;
            mem::swap(&mut *slot, value);
            Ok(())
        });
        swapped.unwrap_or(Err(Refusal::ThreadEnds))
    }
}

impl_debug!([T: 'static] LocalKey<T>, "LocalKey");

/// The value is in the slot; what was in the slot before is in `value`.
struct Lent<'a, T: 'static> {
    key: &'static LocalKey<T>,
    value: &'a mut Option<T>,
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        // Cannot be refused: borrows of the slot end with the `with` that made them, which is nested in
        // this scope, and a thread does not destroy its slots while it is in a call that uses them.
        let swapped = self.key.swap(self.value);
        debug_assert!(swapped.is_ok(), "a scope could not be left");
    }
}

/// Why a scope cannot be entered.
enum Refusal {
    Borrowed,
    ThreadEnds,
}

impl Refusal {
    #[track_caller]
    fn panic<T>(self) -> ! {
        let name = type_name::<T>();
        match self {
            Self::Borrowed => {
                panic!("cannot enter a scope of a task local inside its own `with`: `{name}`")
            }
            Self::ThreadEnds => {
                panic!("cannot enter a scope of a task local while its thread ends: `{name}`")
            }
        }
    }
}

pin_project! {
    /// The future returned by [`LocalKey::scope`].
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct TaskLocalFuture<T: 'static, F> {
        key: &'static LocalKey<T>,
        value: Option<T>,
        // None once it has completed: it was dropped inside the scope.
        #[pin]
        future: Option<F>,
    }

    impl<T: 'static, F> PinnedDrop for TaskLocalFuture<T, F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.future.is_some() {
                // If the scope is refused, the future is dropped all the same, without its value.
                let _lent = this.key.lend(this.value);
                this.future.set(None);
            }
        }
    }
}

impl<T: 'static, F> TaskLocalFuture<T, F> {
    /// Takes the value out: `None` if that has been done before. Where the future has not completed, it does
    /// not find a value any more.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// liten::task_local! { static COUNT: Cell<u32>; }
    ///
    /// liten::block_on(async {
    ///     let mut counts = Box::pin(COUNT.scope(Cell::new(1), async {
    ///         COUNT.with(|count| count.set(count.get() + 1));
    ///     }));
    ///     counts.as_mut().await;
    ///     assert_eq!(counts.as_mut().take_value().map(Cell::into_inner), Some(2));
    /// });
    /// ```
    pub fn take_value(self: Pin<&mut Self>) -> Option<T> {
        self.project().value.take()
    }
}

impl<T: 'static, F: Future> Future for TaskLocalFuture<T, F> {
    type Output = F::Output;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let lent = this.key.lend(this.value);
        if let Err(refusal) = lent {
            refusal.panic::<T>();
        }
        let Some(future) = this.future.as_mut().as_pin_mut() else {
            panic!("`TaskLocalFuture` polled after it was ready");
        };
        let poll = future.poll(cx);
        if poll.is_ready() {
            this.future.set(None);
        }
        poll
    }
}

// Not the value: during a poll the field holds the one of the scope around.
impl_debug!([T, F] TaskLocalFuture<T, F>, "TaskLocalFuture");

/// The error of [`LocalKey::try_with`] and [`LocalKey::try_get`]: there is no value, because the caller is
/// outside a scope.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AccessError {
    _private: (),
}

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish()
    }
}

impl_error!([] AccessError, "task local read outside a scope that sets it");

#[cfg(all(test, not(liten_shuttle)))]
mod tests;
