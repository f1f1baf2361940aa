//! The application's log: a line for each request it has served, whoever was still there for the
//! answer. The application writes it, the run of a cell reads it.

use std::fmt;
use std::fs;
use std::path::Path;

use weir_peers::{Error, Result};

/// One request served. Times are nanoseconds of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServedRequest {
    /// The `id` of the request; nothing for one that had none.
    pub(crate) id: Option<u64>,
    /// When its service began.
    pub(crate) begin: u64,
    /// How long it took.
    pub(crate) service: u64,
    /// How long after its end the answer was sent: the machine's fault.
    pub(crate) late: u64,
}

impl fmt::Display for ServedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id {
            Some(id) => write!(f, "{id}")?,
            None => f.write_str("-")?,
        }
        write!(f, " {} {} {}", self.begin, self.service, self.late)
    }
}

/// What the log says, in the order of service.
///
/// # Errors
///
/// When it cannot be read, or a line is not the application's.
pub(crate) fn read(path: &Path) -> Result<Vec<ServedRequest>> {
    let text = fs::read_to_string(path).map_err(|e| Error::file("read", path, &e))?;
    let mut all = Vec::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        // The application is stopped without warning: its last line may be half of one.
        let Some(line) = line.strip_suffix('\n') else { break };
        let served = parse(line).ok_or_else(|| {
            let (file, number) = (path.display(), number + 1);
            Error(format!("{file}:{number}: not ID BEGIN SERVICE LATE: {line}"))
        })?;
        all.push(served);
    }
    Ok(all)
}

fn parse(line: &str) -> Option<ServedRequest> {
    let mut words = line.split(' ');
    let id = match words.next()? {
        "-" => None,
        id => Some(id.parse().ok()?),
    };
    let mut number = || words.next()?.parse().ok();
    let served = ServedRequest { id, begin: number()?, service: number()?, late: number()? };
    words.next().is_none().then_some(served)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_but_for_half_a_line() {
        let served = [
            ServedRequest { id: Some(7), begin: 1, service: 2, late: 3 },
            ServedRequest { id: None, begin: u64::MAX, service: 0, late: 0 },
        ];
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("served.txt");
        fs::write(&path, format!("{}\n{}\n8 12", served[0], served[1])).expect("a file");
        assert_eq!(read(&path).expect("a log"), served);
        fs::write(&path, "1 2 3 4\n1 2 3\n").expect("a file");
        let error = read(&path).expect_err("no log").to_string();
        assert!(error.contains("served.txt:2: "), "{error}");
        for broken in ["", "x 1 2 3", "1 2 3 4 5", "1 2 -3 4"] {
            assert_eq!(parse(broken), None, "{broken}");
        }
    }
}
