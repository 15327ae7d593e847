//! What can be seen of a running program: all live tasks, each once, with what is known of them.

mod tasks;
