//! An answer that takes long to make: it is made on another thread than the page's.

use super::answer::{Answer, Status};
use crate::task::spawn_blocking;

/// The answer, when it is there. If there is none, because `make` has panicked, that is what is said.
pub(super) async fn made(make: impl FnOnce() -> Answer + Send + 'static) -> Answer {
    let answer = spawn_blocking(make).await;
    answer.unwrap_or_else(|_| Answer::refusal(Status::NotMade)).trusted()
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::{Answer, made};
    use crate::insight::server::answer::TEXT;
    use crate::runtime::LocalRuntime;
    use std::panic::resume_unwind;

    #[test]
    fn a_panic_over_an_answer_is_said_to_be_the_programs_fault() {
        let runtime = LocalRuntime::new().unwrap();
        let panics = || -> Answer { resume_unwind(Box::new("a secret")) };
        let answer = runtime.block_on(made(panics));
        assert!(answer.head().starts_with("HTTP/1.1 500 Internal Server Error\r\n"), "{answer:?}");
        let body = String::from_utf8_lossy(answer.body());
        assert!(body.starts_with("the program has failed to make this answer"), "{body}");
        assert!(answer.is_trusted && !body.contains("secret"), "{answer:?}");
        let answer = runtime.block_on(made(|| Answer::ok(TEXT, "well")));
        assert!(answer.head().starts_with("HTTP/1.1 200 OK\r\n") && answer.is_trusted);
    }
}
