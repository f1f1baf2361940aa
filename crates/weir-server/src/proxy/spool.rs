//! A temporary file for what a slow client has not taken of a large answer, without a name and gone
//! with its last reader. Its work is done by helper threads. It does not know what it holds.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::spawn_blocking;

/// Bytes that are read back at a time.
const READ: u64 = 64 * 1024;

/// Bytes of one file at most: an answer without end must not fill the disk.
const MOST: u64 = 1 << 30;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Spool {
    file: Option<Arc<File>>,
    written: u64,
    read: u64,
}

impl Spool {
    /// Whether nothing waits in it.
    pub(super) fn is_empty(&self) -> bool {
        self.read == self.written
    }

    /// Whether it must be emptied before more is put into it.
    pub(super) fn is_full(&self) -> bool {
        self.written >= MOST
    }

    /// Puts `bytes` behind what is there.
    pub(super) async fn append(&mut self, bytes: Bytes) -> io::Result<()> {
        let (file, at, count) = (self.file.clone(), self.written, bytes.len() as u64);
        let write = move || {
            let file = file.map_or_else(|| tempfile::tempfile().map(Arc::new), Ok)?;
            file.write_all_at(&bytes, at)?;
            Ok::<_, io::Error>(file)
        };
        self.file = Some(spawn_blocking(write).await??);
        self.written += count;
        Ok(())
    }

    /// Takes what comes first; nothing if it is empty.
    pub(super) async fn take(&mut self) -> io::Result<Bytes> {
        let Some(file) = self.file.clone() else { return Ok(Bytes::new()) };
        let (at, count) = (self.read, READ.min(self.written - self.read));
        let read = move || {
            let mut bytes = vec![0; count as usize];
            file.read_exact_at(&mut bytes, at)?;
            Ok::<_, io::Error>(bytes)
        };
        let bytes = spawn_blocking(read).await??;
        self.read += count;
        if self.is_empty() {
            // The space of a file that is done with comes back at once.
            (self.file, self.written, self.read) = (None, 0, 0);
        }
        Ok(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_goes_in_comes_out_in_order() {
        let mut spool = Spool::default();
        let mut expected = Vec::new();
        let mut out = Vec::new();
        for round in 0..40_u8 {
            let piece = vec![round; 1000 * usize::from(round)];
            expected.extend_from_slice(&piece);
            spool.append(piece.into()).await.unwrap();
            if round % 3 == 0 {
                out.extend_from_slice(&spool.take().await.unwrap());
            }
        }
        while !spool.is_empty() {
            out.extend_from_slice(&spool.take().await.unwrap());
        }
        assert!(out == expected && spool.file.is_none());
        assert!(spool.take().await.unwrap().is_empty());
    }
}
