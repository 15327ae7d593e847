//! Nothing: this package only tells cargo which release of tokio to fetch.
