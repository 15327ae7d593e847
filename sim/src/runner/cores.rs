//! The cores of this process, shared by all sweeps in it.

use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

use super::system;

/// Libtest runs several tests at once, and each may sweep. One list for all of them keeps two
/// children off one core while another one is free.
pub(super) struct Cores {
    numbers: Vec<usize>,
    /// How many children each core has now.
    loads: Mutex<Vec<usize>>,
    given_back: Condvar,
}

impl Cores {
    pub(super) fn of_process() -> &'static Cores {
        static CORES: OnceLock<Cores> = OnceLock::new();
        CORES.get_or_init(|| {
            let numbers = system::allowed_cores();
            let loads = Mutex::new(vec![0; numbers.len().max(1)]);
            Cores { numbers, loads, given_back: Condvar::new() }
        })
    }

    pub(super) fn count(&self) -> usize {
        self.numbers.len().max(1)
    }

    /// Takes the core with the fewest children. Waits while each one has as many as `jobs` need of
    /// it.
    pub(super) fn take(&'static self, jobs: usize) -> Core {
        let most = jobs.div_ceil(self.count());
        let mut loads = self.loads.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let least = (0..loads.len()).min_by_key(|place| loads[*place]).unwrap_or(0);
            if loads[least] < most {
                loads[least] += 1;
                return Core { cores: self, place: least };
            }
            loads = self.given_back.wait(loads).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A place on a core for one child.
pub(super) struct Core {
    cores: &'static Cores,
    place: usize,
}

impl Core {
    /// `None` when the system does not tell its cores.
    pub(super) fn number(&self) -> Option<usize> {
        self.cores.numbers.get(self.place).copied()
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let mut loads = self.cores.loads.lock().unwrap_or_else(PoisonError::into_inner);
        loads[self.place] -= 1;
        // Not all of them wait for the same load.
        self.cores.given_back.notify_all();
    }
}
