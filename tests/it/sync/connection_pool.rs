//! A pool of connections, as crates for databases make it from a semaphore and a list, and what its users
//! rely on.

use crate::support::guard::{guarded, workers};
use liten::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use liten::task::yield_now;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const CONNECTIONS: usize = 4;

/// Says when two users have it at once.
#[derive(Default)]
struct Connection {
    used: AtomicBool,
}

impl Connection {
    async fn use_it(&self) {
        assert!(!self.used.swap(true, Ordering::SeqCst), "one user at a time");
        let _use = Use(self);
        yield_now().await;
    }
}

/// Ends when the user is done, or is dropped.
struct Use<'a>(&'a Connection);

impl Drop for Use<'_> {
    fn drop(&mut self) {
        self.0.used.store(false, Ordering::SeqCst);
    }
}

struct Pool {
    free: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
    made: AtomicUsize,
}

/// A connection on loan.
struct Loan {
    connection: Option<Connection>,
    pool: Arc<Pool>,
    /// Given back after the connection, so that the next task finds it.
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            free: Mutex::default(),
            permits: Arc::new(Semaphore::new(CONNECTIONS)),
            made: AtomicUsize::new(0),
        })
    }

    async fn lend(self: &Arc<Self>) -> Result<Loan, AcquireError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await?;
        let free = self.free.lock().unwrap().pop();
        let connection = free.unwrap_or_else(|| {
            self.made.fetch_add(1, Ordering::SeqCst);
            Connection::default()
        });
        Ok(Loan { connection: Some(connection), pool: Arc::clone(self), _permit: permit })
    }

    /// All are there again, and no more than there may be.
    fn assert_complete(&self) {
        assert_eq!(self.permits.available_permits(), CONNECTIONS);
        let made = self.made.load(Ordering::SeqCst);
        assert!(made <= CONNECTIONS, "{made} connections");
        assert_eq!(self.free.lock().unwrap().len(), made);
    }
}

impl Loan {
    async fn use_it(&self) {
        self.connection.as_ref().expect("there until the end").use_it().await;
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.pool.free.lock().unwrap().extend(self.connection.take());
    }
}

#[test]
fn no_more_connections_are_lent_than_there_are() {
    guarded(|| {
        let pool = Pool::new();
        workers(4).block_on(async {
            let user = |_| {
                let pool = Arc::clone(&pool);
                liten::spawn(async move {
                    for _ in 0..50 {
                        pool.lend().await.unwrap().use_it().await;
                    }
                })
            };
            for user in (0..64).map(user).collect::<Vec<_>>() {
                user.await.unwrap();
            }
        });
        pool.assert_complete();
    });
}

/// Users give up at every moment: before they wait, while they wait, and when they have just got a permit.
#[test]
fn a_wait_that_was_given_up_costs_no_connection() {
    guarded(|| {
        let pool = Pool::new();
        workers(2).block_on(async {
            for round in 0..50 {
                let user = |_| {
                    let pool = Arc::clone(&pool);
                    liten::spawn(async move { pool.lend().await.unwrap().use_it().await })
                };
                let users: Vec<_> = (0..16).map(user).collect();
                for _ in 0..round % 8 {
                    yield_now().await;
                }
                users.iter().step_by(2).for_each(|user| user.abort());
                for (index, user) in users.into_iter().enumerate() {
                    let ended = user.await;
                    assert!(ended.is_ok() || index % 2 == 0, "no task has aborted this one");
                }
                pool.assert_complete();
            }
        });
    });
}

#[test]
fn a_user_that_panics_gives_its_connection_back() {
    guarded(|| {
        let pool = Pool::new();
        workers(2).block_on(async {
            for _ in 0..2 * CONNECTIONS {
                let pool = Arc::clone(&pool);
                let user = liten::spawn(async move {
                    let _loan = pool.lend().await.unwrap();
                    std::panic::resume_unwind(Box::new("a mistake"));
                });
                assert!(user.await.unwrap_err().is_panic());
            }
        });
        pool.assert_complete();
    });
}

#[test]
fn a_closed_pool_refuses_waiters_and_takes_back_what_is_lent() {
    guarded(|| {
        let pool = Pool::new();
        workers(2).block_on(async {
            let mut loans = Vec::new();
            for _ in 0..CONNECTIONS {
                loans.push(pool.lend().await.unwrap());
            }
            let user = |_| {
                let pool = Arc::clone(&pool);
                liten::spawn(async move { pool.lend().await.map(drop) })
            };
            let users: Vec<_> = (0..16).map(user).collect();
            // Some of them wait by now, and some may be later than the end.
            yield_now().await;
            pool.permits.close();
            for user in users {
                assert!(user.await.unwrap().is_err());
            }
            for loan in &loans {
                loan.use_it().await;
            }
            drop(loans);
            assert!(pool.lend().await.is_err());
        });
        pool.assert_complete();
    });
}
