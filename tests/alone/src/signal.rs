//! Signals without child processes of liten.

use liten::signal::unix::{SignalKind, signal};

#[test]
fn a_signal_arrives() {
    liten::block_on(async {
        let mut signals = signal(SignalKind::user_defined1()).unwrap();
        let own = std::process::id().to_string();
        let status = std::process::Command::new("kill").args(["-USR1", &own]).status().unwrap();
        assert!(status.success());
        assert_eq!(signals.recv().await, Some(()));
    });
}
