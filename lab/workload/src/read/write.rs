//! Requests written as plain CSV, which reads back equal. `weir-lab trace` writes its output by it.

use std::io::{self, Write};

use crate::Request;

/// Writes requests one by one.
pub struct CsvWriter<W: Write> {
    out: csv::Writer<W>,
}

impl<W: Write> CsvWriter<W> {
    /// Writes the header `time,client,path,size,class`.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn new(out: W) -> io::Result<CsvWriter<W>> {
        let mut out = csv::Writer::from_writer(out);
        out.write_record(["time", "client", "path", "size", "class"])?;
        Ok(CsvWriter { out })
    }

    /// Writes a request. Times have as many digits as make them read back equal; an unknown size is
    /// an empty field.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write(&mut self, request: &Request) -> io::Result<()> {
        let size = request.size.map(|size| size.to_string()).unwrap_or_default();
        let [time, client] = [request.at.to_string(), request.client.to_string()];
        let class = request.class.to_string();
        Ok(self.out.write_record([&time, &client, &request.path[..], &size, &class])?)
    }

    /// Writes what is still in memory.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn finish(self) -> io::Result<W> {
        let mut out = self.out.into_inner().map_err(|error| error.into_error())?;
        out.flush()?;
        Ok(out)
    }
}
