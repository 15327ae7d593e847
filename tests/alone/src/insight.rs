//! A dump of a runtime without sockets.

use liten::runtime::Handle;

#[test]
fn a_dump_shows_the_task_that_asks_for_it() {
    liten::block_on(async {
        let task = liten::spawn(async { Handle::current().dump() });
        let id = task.id();
        let dump = task.await.unwrap();
        assert!(dump.tasks().iter().any(|seen| seen.id() == id), "{dump}");
    });
}
