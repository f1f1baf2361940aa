//! Bodies on their way between clients and backends: where they wait, in memory or in temporary files,
//! and which client is charged for that. Used by the proxy, which fills and empties them, and by `content`
//! and `send`, for which a backend's answer is one more kind of body.

mod buffer;
mod open;
mod relayed;
mod space;
mod temporary;

pub(crate) use buffer::{Buffer, Limits, Next, Room};
pub(crate) use open::open_space;
pub(crate) use relayed::{Reader, RelayedBody, Truncated, Writer};
pub(crate) use space::{Account, Charge, Kind, Space};
use temporary::TemporaryFiles;
