//! Adapters for libraries whose runtime traits change too often to live in liten itself.

pub mod certificate;
pub mod quinn;
pub mod serve;
