//! What the attribute macros accept and what they say when they do not.
//!
//! The expected messages are in `ui/fail/*.stderr`. Only messages of liten's own are among them:
//! those of the compiler change with its version. Write them anew with `TRYBUILD=overwrite cargo
//! test --test macros`. That a wrong type in a body is reported inside the body is tested in
//! `macros/src/expand/tests.rs`.
#![cfg(all(feature = "macros", not(miri), not(liten_loom)))]

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
