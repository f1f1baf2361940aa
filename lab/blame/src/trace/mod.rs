//! The source of events where the kernel has tracepoints: all system calls of the watched tasks, and all
//! that the scheduler does with them. `watch` takes the events in the order of their times.

mod format;
mod instance;
mod page;
mod record;

use crate::event::Moment;
use format::Format;
use instance::Instance;
use page::Page;
use record::{Decoder, TRACEPOINTS};

pub(crate) use instance::remove_left;

/// The largest page that a kernel is set to (`buffer_subbuf_size_kb`) without our doing.
const PAGE: usize = 64 << 10;
/// Pages of one buffer that are read before it is another's turn: a server that makes them faster
/// than they are read must not keep the reader for ever.
const AT_ONCE: usize = 4096;

/// What a buffer tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Event(Moment),
    /// So many events before this time had no room.
    Lost {
        at: u64,
        count: u64,
    },
}

impl Told {
    /// Its time, in nanoseconds of the monotonic clock.
    pub(crate) fn at(&self) -> u64 {
        match self {
            Told::Event(moment) => moment.at,
            Told::Lost { at, .. } => *at,
        }
    }
}

/// Tracepoints, switched on.
#[derive(Debug)]
pub(crate) struct Trace {
    instance: Instance,
    decoder: Decoder,
    page: Vec<u8>,
}

impl Trace {
    /// Switches them on for these tasks, and for those that they start.
    ///
    /// # Errors
    ///
    /// Why there are none, as the end of a sentence.
    pub(crate) fn start(tasks: &[u32]) -> Result<Trace, String> {
        let instance = Instance::make()?;
        let mut formats = Vec::new();
        for tracepoint in TRACEPOINTS {
            let format = Format::parse(&instance.format(tracepoint)?);
            formats.push(format.ok_or_else(|| format!("{tracepoint} has a format without an id"))?);
        }
        let formats = <[Format; 7]>::try_from(formats).map_err(|_| "too few formats")?;
        let decoder = Decoder::new(&formats)?;
        instance.add(tasks)?;
        instance.start(&TRACEPOINTS)?;
        Ok(Trace { instance, decoder, page: vec![0; PAGE] })
    }

    /// Adds tasks that were started before their parents were traced, or of which the kernel does not
    /// tell when it starts them.
    ///
    /// # Errors
    ///
    /// When the kernel refuses them.
    pub(crate) fn add(&self, tasks: &[u32]) -> Result<(), String> {
        self.instance.add(tasks)
    }

    /// Nothing is told from now on but what is in the buffers.
    ///
    /// # Errors
    ///
    /// When tracing cannot be switched off.
    pub(crate) fn stop(&self) -> Result<(), String> {
        self.instance.stop()
    }

    /// Appends what the buffers hold; each processor's events in order, one processor after the other.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub(crate) fn read(&mut self, told: &mut Vec<Told>) -> Result<(), String> {
        for buffer in 0..self.instance.buffers() {
            for _ in 0..AT_ONCE {
                let Some(bytes) = self.instance.read(buffer, &mut self.page)? else { break };
                let page =
                    Page::parse(bytes).ok_or("trace_pipe_raw gives no pages that are known")?;
                if page.lost > 0 {
                    told.push(Told::Lost { at: page.time, count: page.lost });
                }
                for (at, record) in page.records() {
                    let events = self.decoder.events(record).into_iter().flatten();
                    told.extend(
                        events.map(|(task, event)| Told::Event(Moment { at, task, event })),
                    );
                }
            }
        }
        Ok(())
    }
}
