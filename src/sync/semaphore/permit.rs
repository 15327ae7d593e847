//! Permits that are given back when they are dropped.

use super::Semaphore;
use crate::engine::tokio_note::noted;
use std::mem;
use std::ptr;
use std::sync::Arc;

/// Permits of a [`Semaphore`], which are given back when this is dropped.
#[must_use = "dropped at once, the permits go back at once"]
#[clippy::has_significant_drop]
#[derive(Debug)]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    permits: usize,
}

/// As [`SemaphorePermit`], but keeps the semaphore alive and borrows nothing.
#[must_use = "dropped at once, the permits go back at once"]
#[clippy::has_significant_drop]
#[derive(Debug)]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    permits: usize,
}

/// What both permits can do: `[lifetime] permit, how it refers to its semaphore`.
macro_rules! permit {
    ([$($lifetime:lifetime)?] $permit:ty, $semaphore:ty) => {
        impl$(<$lifetime>)? $permit {
            pub(super) fn new(semaphore: $semaphore, permits: usize) -> Self {
                Self { semaphore, permits }
            }

            /// Drops the permits without giving them back: the semaphore has fewer from now on.
            ///
            /// # Examples
            ///
            /// ```
            /// let semaphore = liten::sync::Semaphore::new(2);
            /// semaphore.try_acquire().unwrap().forget();
            /// assert_eq!(semaphore.available_permits(), 1);
            /// ```
            pub fn forget(mut self) {
                let forgotten = mem::take(&mut self.permits) as u64;
                self.semaphore.permits.count(|counted| counted.forgotten += forgotten);
            }

            /// Adds the permits of `other`.
            ///
            /// # Panics
            ///
            /// If `other` is of another semaphore.
            #[track_caller]
            pub fn merge(&mut self, mut other: Self) {
                assert!(ptr::eq(&*self.semaphore, &*other.semaphore), "{OTHER}");
                merge(&mut self.permits, other.permits);
                other.permits = 0;
            }

            /// Splits `n` permits off and returns them; `None` if this has fewer.
            ///
            /// # Examples
            ///
            /// ```
            /// let semaphore = liten::sync::Semaphore::new(3);
            /// let mut permit = semaphore.try_acquire_many(3).unwrap();
            /// let two = permit.split(2).unwrap();
            /// assert_eq!((permit.num_permits(), two.num_permits()), (1, 2));
            /// permit.merge(two);
            /// assert_eq!(permit.num_permits(), 3);
            /// ```
            pub fn split(&mut self, n: usize) -> Option<Self> {
                self.permits = self.permits.checked_sub(n)?;
                Some(Self { semaphore: Clone::clone(&self.semaphore), permits: n })
            }

            /// Returns how many permits these are.
            pub fn num_permits(&self) -> usize {
                self.permits
            }
        }

        impl$(<$lifetime>)? Drop for $permit {
            fn drop(&mut self) {
                if self.permits > 0 {
                    self.semaphore.permits.release(self.permits);
                }
            }
        }
    };
}

permit!(['a] SemaphorePermit<'a>, &'a Semaphore);
permit!([] OwnedSemaphorePermit, Arc<Semaphore>);

impl SemaphorePermit<'_> {
    /// Returns the semaphore whose permits these are.
    pub fn semaphore(&self) -> &Semaphore {
        self.semaphore
    }
}

impl OwnedSemaphorePermit {
    /// Returns the semaphore whose permits these are.
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }
}

const OTHER: &str = noted!("permits of different semaphores cannot be merged");

/// Adds up the permits that two values of one semaphore have. The sum can be more than a semaphore can have,
/// because permits may be added while others are held.
#[track_caller]
fn merge(permits: &mut usize, others: usize) {
    *permits = permits.checked_add(others).expect("fewer permits than a usize can count");
}
