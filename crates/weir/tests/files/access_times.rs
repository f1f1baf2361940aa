//! Shows that files are read without setting when they were last read, which would have to be written to the
//! disk, where the server owns them.

use std::fs::{self, File, FileTimes};
use std::time::{Duration, SystemTime};

use crate::support::{Server, noise};

#[test]
fn a_file_that_is_sent_keeps_the_time_of_its_last_access() {
    let site = tempfile::tempdir().unwrap();
    // Older than the last change: otherwise most file systems would keep it in any case.
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    // Read into memory, read to tell it apart, and sent from the file.
    let lengths = [1000, 100_000, 3_000_000];
    for length in lengths {
        let name = site.path().join(length.to_string());
        fs::write(&name, noise(length as u64, length)).unwrap();
        File::open(&name).unwrap().set_times(FileTimes::new().set_accessed(long_ago)).unwrap();
    }
    let server = Server::of(site.path(), &["--workers", "1"]);
    let mut client = server.connect();
    for length in lengths {
        for _ in 0..3 {
            let content = noise(length as u64, length);
            assert!(client.get(&format!("/{length}")).body == content, "{length}");
        }
        let told = fs::metadata(site.path().join(length.to_string())).unwrap();
        assert_eq!(told.accessed().unwrap(), long_ago, "{length}");
    }
}
