//! `weir-lab opener`: opens files for Apache and passes their descriptors (docs/guide/flashpache.md).
//! Called by `main`.

use std::io::{self, Write};
use std::path::PathBuf;

use weir_opener::{Counts, Options};
use weir_units::{Count, Size, TimeSpan};

use crate::failure::{Failure, failed};

/// The server's processes ask over the socket; the module for Apache is in lab/opener/apache. Names are
/// opened below the roots only, never through a symbolic link that leads outside, and neither FIFOs nor
/// devices are opened.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "On SIGUSR1 and at its end it prints what it has counted. SIGTERM and SIGINT end it."
)]
pub(crate) struct Arguments {
    /// Unix socket that servers connect to
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,

    /// Directory below which files are opened, as the server calls it; may be given several times
    #[arg(long = "root", required = true, value_name = "DIR")]
    roots: Vec<PathBuf>,

    /// User beside root and the opener's own whose processes may ask, by name or number; may be given
    /// several times. They get to read what the opener can open
    #[arg(long = "allow-user", value_name = "USER")]
    users: Vec<String>,

    /// Mode of the socket's file, in octal
    #[arg(long, value_name = "MODE", default_value = "600", value_parser = mode)]
    mode: u32,

    /// Most files that are kept open; half the limit of descriptors at most
    #[arg(long, value_name = "N", default_value = "65536")]
    files: Count<1, 10_000_000>,

    /// How long a name is trusted to stand for its open file
    #[arg(long, value_name = "TIME", default_value = "1s")]
    valid: TimeSpan,

    /// After how long a file that nobody asks for is closed
    #[arg(long, value_name = "TIME", default_value = "60s")]
    unused: TimeSpan,

    /// Bytes of a file that are brought into memory before it is passed on
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    warm: Size,

    /// Most helpers at once that wait for each disk
    #[arg(long, value_name = "N", default_value = "32")]
    helpers: Count<1, 1000>,
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let options = Options {
        socket: arguments.socket,
        mode: arguments.mode,
        users: arguments.users,
        roots: arguments.roots,
        files: arguments.files.get() as usize,
        valid: arguments.valid.0,
        unused: arguments.unused.0,
        window: arguments.warm.0,
        helpers: arguments.helpers.get() as usize,
    };
    let ready = || say(format_args!("opening files for servers on {}", options.socket.display()));
    let counts = weir_opener::serve(&options, ready, told).map_err(failed)?;
    told(&counts);
    Ok(())
}

fn told(counts: &Counts) {
    say(format_args!("{counts}"));
}

/// Prints a line. Nobody has to read it.
fn say(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Rights of a file, in octal.
fn mode(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o777 => Ok(mode),
        _ => Err("rights in octal are expected, such as 660".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_octal() {
        assert_eq!((mode("600"), mode("0660")), (Ok(0o600), Ok(0o660)));
        for wrong in ["", "rw", "680", "1777", "-1"] {
            assert!(mode(wrong).is_err(), "{wrong}");
        }
    }
}
