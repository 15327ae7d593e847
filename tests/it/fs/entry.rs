//! Entries of directories.

use super::{Folder, run, same_error};
use liten::fs;
use std::io::ErrorKind;

#[test]
fn entries_get_names_and_lose_them() {
    run(|| async {
        let folder = Folder::new();
        let (a, b, c) = (folder.file("a", "one"), folder.join("b"), folder.join("c"));
        fs::rename(&a, &b).await.unwrap();
        assert!(!a.exists());
        fs::hard_link(&b, &c).await.unwrap();
        std::fs::write(&c, "two").unwrap();
        assert_eq!(std::fs::read(&b).unwrap(), b"two");
        fs::remove_file(&b).await.unwrap();
        assert!(!b.exists() && c.exists());

        same_error(fs::rename(&a, &b).await, std::fs::rename(&a, &b));
        same_error(fs::hard_link(&a, &b).await, std::fs::hard_link(&a, &b));
        let taken = same_error(fs::hard_link(&c, &c).await, std::fs::hard_link(&c, &c));
        assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
        same_error(fs::remove_file(&a).await, std::fs::remove_file(&a));
        same_error(fs::remove_file(&folder.0).await, std::fs::remove_file(&folder.0));
    });
}

#[test]
fn metadata_and_permissions_are_those_of_std() {
    run(|| async {
        let folder = Folder::new();
        let (path, missing) = (folder.file("a", "12345"), folder.join("missing"));
        let metadata = fs::metadata(&path).await.unwrap();
        assert!(metadata.is_file());
        assert_eq!(metadata.len(), 5);
        assert!(fs::symlink_metadata(&folder.0).await.unwrap().is_dir());
        assert!(fs::try_exists(&path).await.unwrap());
        assert!(!fs::try_exists(&missing).await.unwrap());
        assert_eq!(
            fs::canonicalize(folder.join("./a")).await.unwrap(),
            path.canonicalize().unwrap()
        );

        let mut permissions = metadata.permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions.clone()).await.unwrap();
        assert!(std::fs::metadata(&path).unwrap().permissions().readonly());

        same_error(fs::metadata(&missing).await, std::fs::metadata(&missing));
        same_error(fs::symlink_metadata(&missing).await, std::fs::symlink_metadata(&missing));
        same_error(fs::canonicalize(&missing).await, std::fs::canonicalize(&missing));
        same_error(
            fs::set_permissions(&missing, permissions.clone()).await,
            std::fs::set_permissions(&missing, permissions),
        );
        let below = path.join("below");
        same_error(fs::metadata(&below).await, std::fs::metadata(&below));
    });
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_made_and_read() {
    run(|| async {
        let folder = Folder::new();
        let (path, link) = (folder.file("a", "12345"), folder.join("link"));
        fs::symlink(&path, &link).await.unwrap();
        assert_eq!(fs::read_link(&link).await.unwrap(), path);
        assert!(fs::symlink_metadata(&link).await.unwrap().is_symlink());
        assert!(fs::metadata(&link).await.unwrap().is_file());
        assert_eq!(fs::canonicalize(&link).await.unwrap(), path.canonicalize().unwrap());

        same_error(fs::symlink(&path, &link).await, std::os::unix::fs::symlink(&path, &link));
        same_error(fs::read_link(&path).await, std::fs::read_link(&path));
        // A circle: the system cannot say whether there is something.
        let circle = folder.join("circle");
        fs::symlink(&circle, &circle).await.unwrap();
        same_error(fs::try_exists(&circle).await, circle.try_exists());
    });
}
