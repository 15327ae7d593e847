//! What the tests share: bounds, futures and wakers that tell, pairs of sockets, processes of their own.

pub(crate) mod cases;
pub(crate) mod guard;
pub(crate) mod loopback;
pub(crate) mod pool;
pub(crate) mod probe;
pub(crate) mod process;
pub(crate) mod waiting;
