//! Man pages and shell completions, made from the command line of a program, so that they say what its
//! help says. The programs `weir` and `weir-lab` write them by their hidden command `documents`, which
//! `dist/deb` calls for the packages.

use std::path::{Path, PathBuf};
use std::{fmt, fs, io, iter};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

/// The arguments of the command `documents`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Where to write them; it is made if it is not there
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// What could not be written, and why.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    cause: io::Error,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}: {}", self.path.display(), self.cause)
    }
}

impl std::error::Error for Error {}

/// Writes into `directory`:
///
/// - `man1/NAME.1` for the program and for each of its commands that is not hidden;
/// - `completions/NAME` for bash, `completions/NAME.fish` and `completions/_NAME` for zsh, as these shells
///   look for them.
///
/// `see_also` are the names and sections of other man pages; the names are of letters, digits and dots.
///
/// # Errors
///
/// The first file or directory that cannot be written.
pub fn write(program: &Command, see_also: &[(&str, u8)], directory: &Path) -> Result<(), Error> {
    let pages = directory.join("man1");
    fs::create_dir_all(&pages).map_err(at(&pages))?;
    let source = format!("{} {}", program.get_name(), program.get_version().unwrap_or_default());
    // The command `help` tells what the pages tell.
    let mut built = program.clone().disable_help_subcommand(true);
    built.build();
    for command in visible(&built) {
        let file = pages.join(format!("{}.1", name(command)));
        let text = page(command, &source, see_also).map_err(at(&file))?;
        fs::write(&file, text).map_err(at(&file))?;
    }
    let completions = directory.join("completions");
    fs::create_dir_all(&completions).map_err(at(&completions))?;
    let name = program.get_name();
    for (shell, file) in [
        (Shell::Bash, name.to_owned()),
        (Shell::Fish, format!("{name}.fish")),
        (Shell::Zsh, format!("_{name}")),
    ] {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut program.clone(), name, &mut text);
        let file = completions.join(file);
        fs::write(&file, text).map_err(at(&file))?;
    }
    Ok(())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |cause| Error { path, cause }
}

/// The command and those below it, as deep as they go, without hidden ones.
fn visible(command: &Command) -> Vec<&Command> {
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    iter::once(command).chain(below.flat_map(visible)).collect()
}

/// The name of a command's page, such as `weir-serve`.
fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// The page of a command; `source` is the program with its version.
fn page(command: &Command, source: &str, see_also: &[(&str, u8)]) -> io::Result<String> {
    let mut bytes = Vec::new();
    Man::new(command.clone()).title(name(command)).source(source).render(&mut bytes)?;
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    // The words that a value can be stand in lines that begin with a dash; roff would join them.
    let mut text = text.replace("\n\\- ", "\n.br\n\\- ");
    if !see_also.is_empty() {
        let pages: Vec<String> =
            see_also.iter().map(|(name, section)| format!(".BR {name} ({section})")).collect();
        text += &format!(".SH \"SEE ALSO\"\n{}\n", pages.join(" ,\n"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    fn program() -> Command {
        let width = Arg::new("width")
            .long("width")
            .help("How far to open it:\n- narrow: a little\n- wide: as far as it goes");
        Command::new("sluice")
            .version("1.2")
            .about("Opens gates")
            .subcommand(Command::new("open").about("Open a gate").arg(width))
            .subcommand(Command::new("secret").about("Nobody need know").hide(true))
    }

    #[test]
    fn each_visible_command_has_a_page_and_each_shell_its_completions() {
        let directory = tempfile::tempdir().unwrap();
        let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
        write(&program(), &[("sluice.toml", 5)], directory.path()).unwrap();
        let pages = fs::read_dir(directory.path().join("man1")).unwrap();
        let mut pages: Vec<String> =
            pages.map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
        pages.sort();
        assert_eq!(pages, ["sluice-open.1", "sluice.1"]);
        let page = read("man1/sluice-open.1");
        for part in [
            ".TH sluice",
            "sluice 1.2",
            "Open a gate",
            "\n.br\n\\- narrow: a little\n.br\n\\- wide: as far as it goes",
            ".SH \"SEE ALSO\"\n.BR sluice.toml (5)\n",
        ] {
            assert!(page.contains(part), "{part:?} is not in {page}");
        }
        assert!(!read("man1/sluice.1").contains("secret"));
        for file in ["sluice", "sluice.fish", "_sluice"] {
            let text = read(&format!("completions/{file}"));
            assert!(text.contains("open") && text.contains("width"), "{file}: {text}");
        }
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = write(&program(), &[], file.path()).unwrap_err().to_string();
        let expected = format!("cannot write {}/man1: ", file.path().display());
        assert!(error.starts_with(&expected), "{error}");
    }
}
