//! How many cases proptest makes up, and what becomes of one that fails.

use proptest::test_runner::Config;

/// A failure prints its calls, which become a test: no file of seeds is kept. `PROPTEST_CASES` in the
/// environment asks for more cases than `count`.
pub(crate) fn cases(count: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    Config { cases: asked.unwrap_or(count), failure_persistence: None, ..Config::default() }
}
