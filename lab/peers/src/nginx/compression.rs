//! How nginx is told to compress: scripts as they are sent, or to send files that were compressed before.

use std::process::Command;

use crate::error::Result;
use crate::options::Compression;
use crate::tool::start_error;

/// Content types of scripts, in older tables and in newer ones.
const SCRIPTS: &str = "application/javascript text/javascript";

/// Lines of the block `http`.
pub(super) fn lines(compression: Compression) -> String {
    match compression {
        Compression::Off => String::new(),
        Compression::OnTheFly(level) => format!(
            "    gzip on;\n    gzip_comp_level {level};\n    gzip_types {SCRIPTS};\n    gzip_vary on;\n"
        ),
        Compression::Siblings => "    gzip_static on;\n    gzip_vary on;\n".into(),
    }
}

/// Whether nginx was built with `gzip_static`, which [`Compression::Siblings`] needs.
///
/// # Errors
///
/// When nginx is not installed.
pub fn has_gzip_static() -> Result<bool> {
    let told = Command::new("nginx").arg("-V").output().map_err(|e| start_error("nginx", &e))?;
    // How it was built it says on standard error.
    Ok(String::from_utf8_lossy(&told.stderr).contains("--with-http_gzip_static_module"))
}
