//! What a [`JoinError`] says of itself: with the message of the panic, and what to do about it.

use crate::engine::task::JoinError;
use crate::engine::task::join_error::{Cause, Payload};
use crate::engine::tokio_note::NOTE;
use crate::runtime::tokio_words;
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};

impl JoinError {
    /// Returns the payload of the panic, for [`std::panic::resume_unwind`].
    ///
    /// # Panics
    ///
    /// If the task did not panic; [`JoinError::try_into_panic`] does not.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let error = liten::spawn(async { panic!("boom") }).await.unwrap_err();
    /// assert_eq!(error.into_panic().downcast_ref(), Some(&"boom"));
    /// # });
    /// ```
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        // No closure, in which the caller would be another one.
        match self.try_into_panic() {
            Ok(payload) => payload,
            Err(error) => panic!("into_panic called on a task that did not panic: {error}{NOTE}"),
        }
    }
}

/// The message of the panic, if it has one, and what to do about it.
fn message(payload: &Mutex<Payload>) -> Option<String> {
    let payload = payload.lock().unwrap_or_else(PoisonError::into_inner);
    let message = tokio_words::message(&**payload)?;
    Some(match tokio_words::hint(message) {
        Some(hint) => format!("{message} ({hint})"),
        None => message.to_owned(),
    })
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id();
        match self.cause() {
            Cause::Cancelled(None) => write!(f, "task {id} was cancelled"),
            Cause::Cancelled(Some(why)) => write!(f, "task {id} was cancelled: {why}"),
            Cause::Panic(payload) => match message(payload) {
                Some(message) => {
                    write!(f, "task {id}")?;
                    tokio_words::panicked(f, &message)
                }
                None => write!(f, "task {id} panicked"),
            },
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id();
        match self.cause() {
            Cause::Panic(payload) => {
                tokio_words::debug_panicked(f, id, message(payload).as_deref(), self)
            }
            Cause::Cancelled(_) => tokio_words::debug_cancelled(f, id, self),
        }
    }
}

impl Error for JoinError {}

impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> Self {
        let is_panic = error.is_panic();
        tokio_words::io_error_of_a_task(error, is_panic)
    }
}
