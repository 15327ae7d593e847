//! What is said of suspected deadlocks, as a model: the mutations of `tools/mutations` run only models.

use super::tests::check_suspected_deadlocks;

#[test]
fn a_suspected_deadlock_is_not_said_to_be_proven() {
    ::loom::model(check_suspected_deadlocks);
}
