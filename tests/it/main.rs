//! The runtime as its users see it: one file per promise; one binary, because each costs a link.
//! `tests/README.md` says which test shows what.

mod guard;
mod loopback;
mod pool;
mod probe;
#[path = "support/process.rs"]
mod process;

mod abort;
mod basics;
mod block_in_place;
mod block_on;
mod blocking;
mod bounds;
mod broadcast;
mod burners;
#[cfg(target_os = "linux")]
mod calls;
mod cancellation;
mod completion;
mod copying;
mod current_thread;
mod doors;
mod drainer;
mod ends;
mod entered;
mod errors;
mod executor;
mod extension_methods;
mod fairness;
mod faulty;
#[cfg(unix)]
mod fork;
mod frames;
#[cfg(not(feature = "tokio-context"))]
mod hint;
#[cfg(target_os = "linux")]
mod idle;
mod insight;
#[cfg(target_os = "linux")]
mod interrupted_calls;
mod join;
mod joined;
mod large;
mod lasting;
mod lending;
#[cfg(target_os = "linux")]
mod limits;
mod local_set;
mod metrics;
#[cfg(target_os = "linux")]
mod million;
mod models;
mod monkey;
mod mpsc;
mod names;
mod neutral;
mod notify;
mod oneshot;
mod order;
mod panic;
mod panicking_drops;
mod paused;
mod pinned;
mod process_anywhere;
#[cfg(unix)]
mod process_child;
mod resets;
mod resize;
mod reuse;
mod scope;
mod select;
mod shutdown;
mod shutdown_report;
#[cfg(unix)]
mod signal_listeners;
#[cfg(target_os = "linux")]
mod slow;
mod spares;
mod spawn;
mod steal;
mod storm;
mod sync_wakers;
mod task_hooks;
mod task_life;
mod time;
mod tracker;
mod turmoil;
mod turns;
mod wake;
mod wakers;
mod watch;
mod yielding;

mod async_source;
mod chat;
#[cfg(target_os = "linux")]
mod closed;
mod conversion;
#[cfg(all(feature = "tokio-io", feature = "hyper"))]
mod families;
mod fs;
#[cfg(feature = "hyper")]
mod histograms;
mod http;
mod locks;
mod lookup;
#[cfg(target_os = "linux")]
mod nonblocking;
mod options;
#[cfg(unix)]
mod pipe;
mod tcp;
mod udp;
#[cfg(unix)]
mod unix;
#[cfg(target_os = "linux")]
mod urgent;
#[cfg(target_os = "linux")]
mod vanished;
mod vectored;

#[cfg(feature = "macros")]
mod attributes;

mod rows;
