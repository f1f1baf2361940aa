//! Bodies on their way between clients and backends: buffers in memory and in temporary files, and
//! which client is charged for them. Used by the proxy, which fills and empties them, and by `content`
//! and `send`, for which a backend's response is one more kind of body.

mod buffer;
mod open;
mod relayed;
mod space;
mod temporary;

pub(crate) use buffer::{Buffer, Limits, Next, Room};
pub(crate) use open::{Resizing, open_space};
pub(crate) use relayed::{Coming, Reader, RelayedBody, Truncated, Writer};
pub(crate) use space::{Account, Charge, Kind, Space};
use temporary::TemporaryFiles;
