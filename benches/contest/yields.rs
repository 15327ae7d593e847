//! The runtimes' own way to let others run.

use crate::runtimes::{Liten, Runtime, Smol, Tokio};
use std::future::Future;

pub(crate) trait Yield: Runtime {
    fn yield_now() -> impl Future<Output = ()> + Send;
}

impl Yield for Liten {
    fn yield_now() -> impl Future<Output = ()> + Send {
        liten::task::yield_now()
    }
}

impl Yield for Tokio {
    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
}

impl Yield for Smol {
    fn yield_now() -> impl Future<Output = ()> + Send {
        smol::future::yield_now()
    }
}
