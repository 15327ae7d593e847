//! The random choices of the runtime. A generator has a seed, so that a schedule that is explored can be
//! replayed. Secrets do not come from here, but from the system.
//!
//! xorshift64*: two multiplications' worth of work, good enough to choose where a thief begins to look.
//!
//! A worker has a generator of its own, and so has a thread that runs `select!`.

/// A small pseudo-random generator. Not for secrets.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    /// A generator that yields the same sequence for the same seed; zero is replaced, because xorshift
    /// stays at zero.
    pub(crate) fn new(seed: u64) -> Self {
        // splitmix64 spreads seeds that differ in one bit (worker 0, worker 1, …) over the whole word.
        let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self((z ^ (z >> 31)) | 1)
    }

    /// The next number below `bound`, or 0 when `bound` is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let word = (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as usize;
        // Multiply-shift instead of a division; the bias is below 2^-32 * bound.
        ((word as u64 * bound as u64) >> 32) as usize
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Rng;

    /// For tests with random input: `PROPTEST_CASES` in the environment asks for more cases than `count`. A
    /// failure prints its input, shortened: that becomes a test, and no file of seeds.
    #[cfg(not(any(liten_loom, liten_shuttle)))]
    pub(crate) fn cases(count: u32) -> proptest::test_runner::Config {
        use proptest::test_runner::Config;
        let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
        Config { cases: asked.unwrap_or(count), failure_persistence: None, ..Config::default() }
    }

    #[test]
    fn stays_below_the_bound_and_reaches_every_value() {
        let mut rng = Rng::new(0);
        let mut seen = [0u32; 7];
        for _ in 0..7_000 {
            seen[rng.below(7)] += 1;
        }
        assert!(seen.iter().all(|&n| n > 700), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
    }

    #[test]
    fn the_same_seed_gives_the_same_sequence_and_another_seed_another() {
        let take = |seed| {
            let mut rng = Rng::new(seed);
            (0..16).map(|_| rng.below(1 << 30)).collect::<Vec<_>>()
        };
        assert_eq!(take(1), take(1));
        assert_ne!(take(1), take(2));
    }
}
