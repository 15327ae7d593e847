//! The names of the threads of a runtime.

use crate::engine::wakers;
use std::fmt;
use std::sync::Arc;

/// How the threads of a runtime get their names.
#[derive(Clone)]
pub(crate) enum ThreadName {
    /// `PREFIX-0`, `PREFIX-blocking-3` and so on.
    Prefix(String),
    /// Each as the function says when the thread is made. It may be called under a lock of the runtime.
    Made(Arc<dyn Fn() -> String + Send + Sync>),
}

impl ThreadName {
    /// The name of the thread with this part: a number, or what it is for.
    pub(crate) fn of(&self, part: &dyn fmt::Display) -> String {
        let mut name = match self {
            Self::Prefix(prefix) => format!("{prefix}-{part}"),
            Self::Made(make) => {
                let mut name = String::new();
                wakers::guard(|| name = make());
                name
            }
        };
        // std panics over a NUL in a thread's name.
        name.retain(|character| character != '\0');
        name
    }
}

impl fmt::Debug for ThreadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(prefix) => prefix.fmt(f),
            Self::Made(_) => f.write_str("made by a function"),
        }
    }
}
