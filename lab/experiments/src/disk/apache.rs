//! Apache among the servers of files: how many workers it has, and who opens files for it. `systems` asks
//! for it by name.

use std::path::PathBuf;

use weir_peers::apache::{self, Asking, Build, Opening, Workers};
use weir_peers::{Options, Result, opener};

use super::programs::{Opener, Place, Programs};
use crate::settings::Settings;

/// Of prefork, a process for so many bytes of the group, which holds the page cache too: the two numbers
/// that Ruan & Pai tried (section 3.2) in a group of 1 GB.
const FEW: u64 = 4 << 20;
const MANY: u64 = 1 << 20;
const MEMORY: u64 = 1 << 30;
/// Of the files that may be open, so many are not for `mod_file_cache`: the rest of the server, and a
/// connection and a file for each of its threads.
const OTHER_DESCRIPTORS: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    /// With a process for so many bytes of memory.
    Prefork(u64),
    Worker,
    Event,
}

/// Who opens files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opens {
    Itself,
    /// `weir-lab opener`, asked so.
    Opener(Asking),
    /// `mod_file_cache`, as many files as may be open, in the order of their names.
    FileCache,
}

/// One of its forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Apache {
    model: Model,
    opens: Opens,
}

impl Apache {
    /// The one with a name such as `apache-prefork-opener`.
    pub(super) fn named(system: &str) -> Option<Apache> {
        let name = system.strip_prefix("apache-")?;
        let (model, opens) = match name.split_once('-') {
            Some((model, opens)) => (model, Some(opens)),
            None => (name, None),
        };
        let model = match model {
            "prefork" if opens == Some("1024") => {
                return Some(Apache { model: Model::Prefork(MANY), opens: Opens::Itself });
            }
            "prefork" => Model::Prefork(FEW),
            "worker" => Model::Worker,
            "event" => Model::Event,
            _ => return None,
        };
        let opens = match opens {
            None => Opens::Itself,
            Some("opener") => Opens::Opener(Asking::WhereItBlocks),
            Some("opener-always") => Opens::Opener(Asking::Always),
            Some("file-cache") => Opens::FileCache,
            _ => return None,
        };
        Some(Apache { model, opens })
    }

    /// Its programs.
    ///
    /// # Errors
    ///
    /// When Apache is not installed, its module does not compile here, or files cannot be listed.
    pub(super) fn programs(
        self,
        place: &Place<'_>,
        options: &Options<'_>,
        settings: &Settings,
    ) -> Result<Programs> {
        let workers = match self.model {
            Model::Prefork(each) => Workers::Prefork(processes(place.memory, each)),
            Model::Worker => Workers::Worker,
            Model::Event => Workers::Event,
        };
        let program = |opening| apache::program_opening(options, workers, opening);
        let (server, opener) = match self.opens {
            Opens::Itself => (program(Opening::Itself)?, None),
            Opens::FileCache => {
                let mut files = apache::files_below(place.root)?;
                files.truncate(place.open_files.saturating_sub(OTHER_DESCRIPTORS));
                (program(Opening::FileCache(&files))?, None)
            }
            Opens::Opener(asking) => {
                let module = apache::build(&place.directory.join("module"), Build::Plain)?;
                let socket = socket(place);
                let opening = Opening::Opener { module: &module, socket: &socket, asking };
                let server = program(opening)?;
                let program = opener::program(&settings.weir_lab, &socket, place.root);
                (server, Some(Opener { program, socket }))
            }
        };
        Ok(Programs { server, opener })
    }
}

/// A path of a socket has at most 108 bytes, and a cell's directory may have more.
fn socket(place: &Place<'_>) -> PathBuf {
    std::env::temp_dir().join(format!("weir-opener-{}.sock", place.address.port()))
}

/// Processes of prefork with so many bytes of memory, of which each gets some.
fn processes(memory: u64, each: u64) -> u32 {
    (memory.min(MEMORY) / each).max(1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SYSTEMS;

    #[test]
    fn every_form_has_a_name_and_no_two_the_same() {
        let named = SYSTEMS.iter().filter(|system| system.starts_with("apache-"));
        let forms: Vec<Apache> = named.map(|name| Apache::named(name).expect(name)).collect();
        for (place, form) in forms.iter().enumerate() {
            assert!(!forms[..place].contains(form), "{form:?}");
        }
        assert_eq!(forms.len(), 13);
        for other in [
            "apache",
            "apache-itk",
            "apache-event-",
            "apache-event-1024",
            "apache-event-always",
            "nginx",
        ] {
            assert_eq!(Apache::named(other), None, "{other}");
        }
    }

    #[test]
    fn there_are_no_more_processes_than_fit_the_memory() {
        assert_eq!((processes(1 << 30, FEW), processes(4 << 30, FEW)), (256, 256));
        assert_eq!((processes(1 << 30, MANY), processes(64 << 20, FEW)), (1024, 16));
        assert_eq!(processes(0, FEW), 1);
    }
}
