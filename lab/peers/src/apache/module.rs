//! The module that has Apache take files from `weir-lab opener`: compiled with Apache's own tool, apxs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::tool::start_error;

/// The source, which belongs to the opener. The first file gives the module its name.
const SOURCE: [(&str, &str); 11] = [
    ("mod_weir_opener.c", include_str!("../../../opener/apache/mod_weir_opener.c")),
    ("weir_conf.c", include_str!("../../../opener/apache/weir_conf.c")),
    ("weir_conf.h", include_str!("../../../opener/apache/weir_conf.h")),
    ("weir_passed.c", include_str!("../../../opener/apache/weir_passed.c")),
    ("weir_passed.h", include_str!("../../../opener/apache/weir_passed.h")),
    ("weir_send.c", include_str!("../../../opener/apache/weir_send.c")),
    ("weir_send.h", include_str!("../../../opener/apache/weir_send.h")),
    ("weir_memory.c", include_str!("../../../opener/apache/weir_memory.c")),
    ("weir_memory.h", include_str!("../../../opener/apache/weir_memory.h")),
    ("weir_client.c", include_str!("../../../opener/apache/weir_client.c")),
    ("weir_client.h", include_str!("../../../opener/apache/weir_client.h")),
];

const SANITIZERS: [&str; 3] =
    ["-fsanitize=address", "-fsanitize=undefined", "-fno-sanitize-recover=all"];

/// How the module is compiled. Warnings are errors either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// As it is used.
    Plain,
    /// With gcc's address and undefined-behaviour sanitizers. Apache has to be started with
    /// `LD_PRELOAD=libasan.so`.
    Sanitized,
    /// As on a kernel that lacks openat2(2) and cachestat(2): it calls numbers that no kernel has.
    OldKernel,
}

/// Compiles the module in a directory, which is made. Returns the module's file.
///
/// # Errors
///
/// When apxs (Debian's apache2-dev) or gcc is missing, or the source does not compile here.
pub fn build(directory: &Path, build: Build) -> Result<PathBuf> {
    fs::create_dir_all(directory).map_err(|error| Error::file("make", directory, &error))?;
    for (name, text) in SOURCE {
        let file = directory.join(name);
        fs::write(&file, text).map_err(|error| Error::file("write", &file, &error))?;
    }
    let mut command = Command::new("apxs");
    command.current_dir(directory).args(["-c", "-Wc,-Wall", "-Wc,-Wextra", "-Wc,-Werror"]);
    match build {
        Build::Plain => {}
        Build::Sanitized => {
            for flag in SANITIZERS {
                command.arg(format!("-Wc,{flag}")).arg(format!("-Wl,{flag}"));
            }
            command.arg("-Wc,-fno-omit-frame-pointer");
        }
        Build::OldKernel => {
            command.args(["-Wc,-DWEIR_SYS_OPENAT2=-1", "-Wc,-DWEIR_SYS_CACHESTAT=-1"]);
        }
    }
    command.args(SOURCE.map(|(name, _)| name).iter().filter(|name| name.ends_with(".c")));
    let output = command.output().map_err(|error| start_error("apxs", &error))?;
    // libtool leaves it there.
    let module = directory.join(".libs/mod_weir_opener.so");
    if !output.status.success() || !module.is_file() {
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        return Err(Error(format!("the module for Apache does not compile: {}", said.trim())));
    }
    Ok(module)
}
