//! The program `slowdisk`: mounts a disk with a service-time model until it is told to stop. The
//! disk is the library's; here are the command line and the commands on stdin.

mod commands;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use slowdisk::{Backing, Disk, Error, FileSystem, Model, Options};
use tokio::signal::unix::{Signal, SignalKind, signal};
use weir_units::{Size, TimeSpan};

#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Mount a disk until SIGINT or SIGTERM; print "ready" when it is mounted
    ///
    /// Lines on stdin: "model on|off", "fail on|off" (reads give EIO), "hang on|off"
    /// (no answers), "remount" (empties the caches), "counts" (prints a JSON line),
    /// "reset" (counts start anew). Each is answered with a line on stdout.
    Mount(MountOptions),
    /// Remove what killed runs have left
    Clean,
}

#[derive(Args)]
struct MountOptions {
    /// Directory to mount it on; made if it is missing
    #[arg(long)]
    at: PathBuf,
    /// Size, such as 8G or 500MB
    #[arg(long, default_value = "8G")]
    size: Size,
    /// Positioning time of operations that do not start where the last one ended
    #[arg(long, default_value = "2ms")]
    seek: TimeSpan,
    /// Bytes per second and channel
    #[arg(long, default_value = "60MB")]
    rate: Size,
    /// How many operations are served at the same time
    #[arg(long, default_value_t = 1)]
    channels: usize,
    /// Start without delay, as after "model off"
    #[arg(long)]
    model_off: bool,
    /// File system to make on it
    #[arg(long, value_enum, default_value = "ext4")]
    fs: Kind,
    /// More arguments for mkfs, such as --format=-O --format=^has_journal
    #[arg(long = "format", value_name = "ARGUMENT", allow_hyphen_values = true)]
    format: Vec<String>,
    /// How far the kernel reads ahead, in KiB
    #[arg(long, default_value_t = 128, value_name = "KIB")]
    read_ahead: u32,
    /// Mount with noatime
    #[arg(long)]
    no_access_times: bool,
    /// Keep the bytes in a sparse file in this directory, not in memory
    #[arg(long, value_name = "DIR")]
    backing: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Ext4,
    Xfs,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Mount(options) => mount(&options),
        Command::Clean => slowdisk::clean().map(|removed| {
            for path in removed {
                println!("removed {}", path.display());
            }
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("slowdisk: {error}");
            ExitCode::FAILURE
        }
    }
}

fn mount(given: &MountOptions) -> Result<(), Error> {
    let stop = Stop::new()?;
    let mut options = Options::new(&given.at, given.size.0);
    options.file_system = match given.fs {
        Kind::Ext4 => FileSystem::Ext4,
        Kind::Xfs => FileSystem::Xfs,
    };
    options.format_options.clone_from(&given.format);
    options.read_ahead = given.read_ahead;
    options.no_access_times = given.no_access_times;
    options.backing = given.backing.clone().map_or(Backing::Memory, Backing::Directory);
    let model =
        Model { seek: given.seek.0, bytes_per_second: given.rate.0, channels: given.channels };
    options.model = (!given.model_off).then_some(model);

    let disk = Arc::new(Disk::mount(&options)?);
    println!("ready");
    let commanded = Arc::downgrade(&disk);
    // It ends with the process: nothing ends a read of a terminal.
    std::thread::spawn(move || commands::run_commands(&commanded, model));
    stop.wait();
    match Arc::try_unwrap(disk) {
        Ok(disk) => disk.unmount(),
        // A command is being carried out, and drops the disk afterwards.
        Err(disk) => {
            // Otherwise it might wait for ever.
            disk.hang(false);
            while Arc::strong_count(&disk) > 1 {
                std::thread::sleep(Duration::from_millis(10));
            }
            Arc::into_inner(disk).map_or(Ok(()), Disk::unmount)
        }
    }
}

/// SIGINT and SIGTERM, from the moment it is made.
struct Stop {
    runtime: tokio::runtime::Runtime,
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    fn new() -> Result<Stop, Error> {
        let made = || -> std::io::Result<Stop> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
            let entered = runtime.enter();
            let interrupt = signal(SignalKind::interrupt())?;
            let terminate = signal(SignalKind::terminate())?;
            drop(entered);
            Ok(Stop { runtime, interrupt, terminate })
        };
        made().map_err(|e| Error::from(format!("cannot watch for SIGINT: {e}")))
    }

    fn wait(mut self) {
        self.runtime.block_on(async {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
            }
        });
    }
}
