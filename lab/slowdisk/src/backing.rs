//! The bytes of the disk: a sparse file without a name, in memory or in a directory. The FUSE
//! device reads and writes them.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, MemfdFlags};

use crate::error::Error;
use crate::options::Backing;

/// A file of fixed size.
#[derive(Debug)]
pub(crate) struct Store {
    file: File,
    bytes: u64,
}

impl Store {
    /// A store of `bytes` zeros.
    pub(crate) fn new(backing: &Backing, bytes: u64) -> Result<Store, Error> {
        let file = match backing {
            Backing::Memory => rustix::fs::memfd_create("slowdisk", MemfdFlags::CLOEXEC)
                .map(File::from)
                .map_err(|e| Error::new(format!("cannot get memory for the disk: {e}")))?,
            Backing::Directory(directory) => tempfile::tempfile_in(directory).map_err(|e| {
                let directory = directory.display();
                Error::new(format!("cannot make the file of the disk in {directory}: {e}"))
            })?,
        };
        file.set_len(bytes).map_err(|e| {
            Error::new(format!("cannot make a sparse file of {bytes} bytes for the disk: {e}"))
        })?;
        Ok(Store { file, bytes })
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// `bytes` bytes from `offset` on; fewer at the end of the disk.
    pub(crate) fn read(&self, offset: u64, bytes: usize) -> std::io::Result<Vec<u8>> {
        let mut data = Vec::with_capacity(bytes);
        while data.len() < bytes {
            let at = offset + data.len() as u64;
            // Into memory that is not cleared first: this copy is all the work of a read.
            if rustix::io::pread(&self.file, rustix::buffer::spare_capacity(&mut data), at)? == 0 {
                break;
            }
        }
        data.truncate(bytes);
        Ok(data)
    }

    /// Write within the size of the disk.
    pub(crate) fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        if offset + data.len() as u64 > self.bytes {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.file.write_all_at(data, offset)
    }

    /// Make it zeros that take no space.
    pub(crate) fn clear(&self, offset: u64, bytes: u64) -> std::io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(rustix::fs::fallocate(&self.file, flags, offset, bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_keep_bytes_and_are_zero_elsewhere() {
        let directory = tempfile::tempdir().unwrap();
        for backing in [Backing::Memory, Backing::Directory(directory.path().into())] {
            let store = Store::new(&backing, 1 << 40).unwrap();
            store.write(5000, b"bytes").unwrap();
            assert_eq!(store.read(4999, 7).unwrap(), b"\0bytes\0");
            store.clear(5002, 2).unwrap();
            assert_eq!(store.read(5000, 5).unwrap(), b"by\0\0s");
            assert_eq!(store.read((1 << 40) - 3, 10).unwrap(), [0; 3]);
            store.write((1 << 40) - 3, b"more").unwrap_err();
        }
    }
}
