//! The numbers that a program is called with.

/// The numbers behind the name of the case.
pub fn numbers() -> Vec<u64> {
    std::env::args().skip(2).filter_map(|word| word.parse().ok()).collect()
}

/// The name of the case.
pub fn case() -> String {
    std::env::args().nth(1).unwrap_or_default()
}
