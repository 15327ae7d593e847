//! Files without any I/O trait.

use liten::fs;

#[test]
fn files_are_written_read_and_removed() {
    liten::block_on(async {
        let directory = std::env::temp_dir().join(format!("liten-alone-{}", std::process::id()));
        fs::create_dir(&directory).await.unwrap();
        let path = directory.join("file");
        fs::write(&path, "text").await.unwrap();
        assert_eq!(fs::read_to_string(&path).await.unwrap(), "text");
        let file = fs::File::options().write(true).open(&path).await.unwrap();
        file.set_len(2).await.unwrap();
        file.sync_all().await.unwrap();
        assert_eq!(fs::metadata(&path).await.unwrap().len(), 2);
        fs::remove_dir_all(&directory).await.unwrap();
        assert!(!fs::try_exists(&path).await.unwrap());
    });
}
