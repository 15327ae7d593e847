//! Starts the examples and talks to them with clients that nobody here wrote.
