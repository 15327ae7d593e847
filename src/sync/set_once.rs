//! [`SetOnce`]: a value that is set once, and waited for.
//!
//! No wait is lost: `wait` makes its `Notified` before it looks for the value, and `set` stores the value
//! before it notifies.

use super::Notify;
use super::await_place::awaited_here;
use crate::engine::sync_shim::const_fn;
use crate::impls::{impl_debug, impl_default, impl_display};
use std::error::Error;
use std::fmt;
use std::sync::OnceLock;

/// A place for a value that is set once, and that any number of tasks can wait for.
///
/// If the value is made by the first task that asks for it, take [`OnceCell`](super::OnceCell).
///
/// # Examples
///
/// One task finds an address out, and another one waits for it:
///
/// ```
/// use liten::sync::SetOnce;
///
/// static ADDRESS: SetOnce<String> = SetOnce::const_new();
///
/// # liten::block_on(async {
/// let client = liten::spawn(async { format!("connecting to {}", ADDRESS.wait().await) });
/// ADDRESS.set("127.0.0.1:8080".to_owned()).unwrap();
/// assert_eq!(client.await.unwrap(), "connecting to 127.0.0.1:8080");
/// assert!(ADDRESS.set("another".to_owned()).is_err());
/// # });
/// ```
pub struct SetOnce<T> {
    value: Value<T>,
    set: Notify,
}

/// std's `OnceLock` cannot be made with a value in a `const fn`.
enum Value<T> {
    Given(T),
    Open(OnceLock<T>),
}

impl<T> SetOnce<T> {
    /// Returns a `SetOnce` without a value.
    pub fn new() -> Self {
        Self::const_new()
    }

    const_fn! {
        /// Returns a `SetOnce` without a value, also in a `static`.
        pub fn const_new() -> Self {
            Self { value: Value::Open(OnceLock::new()), set: Notify::const_new() }
        }
    }

    /// Returns a `SetOnce` with the value in `value`, if there is one.
    pub fn new_with(value: Option<T>) -> Self {
        value.map_or_else(Self::new, Self::from)
    }

    const_fn! {
        /// Returns a `SetOnce` with `value`, also in a `static`.
        ///
        /// # Examples
        ///
        /// ```
        /// use liten::sync::SetOnce;
        ///
        /// static ANSWER: SetOnce<u32> = SetOnce::const_new_with(42);
        /// assert_eq!(ANSWER.get(), Some(&42));
        /// ```
        pub fn const_new_with(value: T) -> Self {
            Self { value: Value::Given(value), set: Notify::const_new() }
        }
    }

    /// Returns whether there is a value.
    pub fn initialized(&self) -> bool {
        self.get().is_some()
    }

    /// Returns the value, if there is one.
    pub fn get(&self) -> Option<&T> {
        match &self.value {
            Value::Given(value) => Some(value),
            Value::Open(value) => value.get(),
        }
    }

    /// Sets the value, and wakes all tasks that wait for it.
    ///
    /// # Errors
    ///
    /// [`SetOnceError`], with `value`, if there is a value already.
    ///
    /// # Examples
    ///
    /// ```
    /// let once = liten::sync::SetOnce::new();
    /// assert!(once.set(1).is_ok());
    /// assert_eq!(once.set(2).unwrap_err().0, 2);
    /// assert_eq!(once.get(), Some(&1));
    /// ```
    pub fn set(&self, value: T) -> Result<(), SetOnceError<T>> {
        match &self.value {
            Value::Given(_) => return Err(SetOnceError(value)),
            Value::Open(open) => open.set(value).map_err(SetOnceError)?,
        }
        self.set.notify_waiters();
        Ok(())
    }

    /// Returns the value, if there is one.
    pub fn into_inner(self) -> Option<T> {
        match self.value {
            Value::Given(value) => Some(value),
            Value::Open(value) => value.into_inner(),
        }
    }

    /// Waits until there is a value, and returns it.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future loses nothing.
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = &T> {
        awaited_here(async move {
            loop {
                // Made before the look at the value: a `set` that comes after the look notifies it.
                let set = self.set.notified_inside();
                if let Some(value) = self.get() {
                    return value;
                }
                set.await;
            }
        })
    }
}

impl_default!([T] SetOnce<T>);

impl_debug!([T: fmt::Debug] SetOnce<T>, this => "SetOnce" { value: this.get() });

/// The clone has the same value. Tasks that wait for the original do not wait for the clone.
impl<T: Clone> Clone for SetOnce<T> {
    fn clone(&self) -> Self {
        Self::new_with(self.get().cloned())
    }
}

impl<T: PartialEq> PartialEq for SetOnce<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for SetOnce<T> {}

impl<T> From<T> for SetOnce<T> {
    fn from(value: T) -> Self {
        Self::const_new_with(value)
    }
}

/// The [`SetOnce`] had a value already; contains the value that was not set.
#[derive(Debug, PartialEq, Eq)]
pub struct SetOnceError<T>(pub T);

impl_display!([T] SetOnceError<T>, "SetOnceError");

impl<T: fmt::Debug> Error for SetOnceError<T> {}

#[cfg(all(test, liten_loom))]
mod loom;
