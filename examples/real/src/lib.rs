//! Adapters for libraries whose runtime traits change too often to live in liten itself, and what more than
//! one example needs.

pub mod certificate;
pub mod quinn;
pub mod serve;
pub mod words;
