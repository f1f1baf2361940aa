//! `weir-wan`: an emulated link between two namespaces until Ctrl-C.

mod arguments;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use weir_wan::{Error, Wan};

use arguments::Arguments;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir-wan: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    // Before the link exists, so that it never outlives a signal.
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let (left, right) = arguments.ends();
    let wan = Wan::start(&left, &right, &arguments.options())?;
    eprintln!("The link is up. Ctrl-C ends it.");
    while signals.pending().next().is_none() && !wan.has_failed() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let statistics: Result<_, Error> = wan.stop();
    println!("{}", statistics?);
    Ok(())
}
