//! Files on disk and how their contents are told apart: each begins with 16 bytes
//! that follow from its number and the seed. Knows no server and no client.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::law::{self, Law};
use crate::options::SetOptions;
use crate::{Result, directory, interrupt};

/// The first bytes of a file.
pub(crate) type Tag = [u8; 16];

/// What one request asks for and what must come back.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) path: String,
    pub(crate) length: u64,
    pub(crate) tag: Tag,
    /// Told apart in the results.
    pub(crate) hot: bool,
}

/// `files set`.
pub(crate) fn command(options: &SetOptions) -> Result<()> {
    let law = Law::of_size(options.size);
    make(&options.at, &law, options.seed)?;
    println!(
        "{} files in {} directories, {} MB, below {}",
        law.files(),
        law.directories(),
        law.directories() as u64 * law::DIRECTORY_BYTES / 1_000_000,
        options.at.display()
    );
    Ok(())
}

/// Write every file of the law below `root`.
pub(crate) fn make(root: &Path, law: &Law, seed: u64) -> Result<()> {
    let noise = noise(seed);
    for target in targets(law, seed) {
        interrupt::check()?;
        write(root, &target, &noise)?;
    }
    Ok(())
}

/// What to ask for, by the law's numbers.
pub(crate) fn targets(law: &Law, seed: u64) -> Vec<Target> {
    let target = |file| Target {
        path: law::path(file),
        length: law::size(file),
        tag: tag(seed, file as u64),
        hot: false,
    };
    (0..law.files()).map(target).collect()
}

/// Make one file of any length, for measurements of a fixed size.
pub(crate) fn make_one(root: &Path, name: &str, length: u64, seed: u64) -> Result<Target> {
    // Numbers no law uses.
    let tag = tag(seed, u64::MAX - length);
    let target = Target { path: format!("/{name}"), length, tag, hot: false };
    write(root, &target, &noise(seed))?;
    Ok(target)
}

fn write(root: &Path, target: &Target, noise: &[u8]) -> Result<()> {
    let path = root.join(&target.path[1..]);
    if let Some(parent) = path.parent() {
        directory::open(parent)?;
    }
    let fill = || {
        let mut file = File::create(&path)?;
        // Each file goes through the noise from a place of its own.
        let mut from = usize::from(target.tag[0]) * 64;
        let mut left = target.length as usize - target.tag.len();
        file.write_all(&target.tag)?;
        while left > 0 {
            let piece = left.min(noise.len() - from);
            file.write_all(&noise[from..from + piece])?;
            left -= piece;
            from = 0;
        }
        file.set_permissions(fs::Permissions::from_mode(0o644))
    };
    fill().map_err(|e| format!("cannot write {}: {e}; is there room?", path.display()))
}

fn noise(seed: u64) -> Vec<u8> {
    let mut noise = vec![0; 1 << 20];
    SmallRng::seed_from_u64(seed).fill_bytes(&mut noise);
    noise
}

fn tag(seed: u64, number: u64) -> Tag {
    let mut tag = Tag::default();
    // An odd factor keeps neighbouring seeds from sharing tags.
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number;
    SmallRng::seed_from_u64(mixed).fill_bytes(&mut tag);
    tag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_their_length_and_begin_with_their_tag() {
        let root = tempfile::tempdir().unwrap();
        let law = Law::of_size(0);
        make(root.path(), &law, 3).unwrap();
        let targets = targets(&law, 3);
        for target in &targets {
            let bytes = fs::read(root.path().join(&target.path[1..])).unwrap();
            assert_eq!(bytes.len() as u64, target.length);
            assert!(bytes.starts_with(&target.tag));
        }
        assert_ne!(targets[0].tag, targets[1].tag);
        assert_ne!(targets[0].tag, super::targets(&law, 4)[0].tag);
    }
}
