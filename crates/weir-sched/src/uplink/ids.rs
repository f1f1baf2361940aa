//! Identities of connections, responses, clients and objects. The gate gives the first two; one
//! that has gone is never taken for its successor.

/// A connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowId {
    pub(crate) place: usize,
    pub(crate) number: u64,
}

/// A response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JobId {
    pub(crate) place: usize,
    pub(crate) number: u64,
}

/// Whom connections belong to, such as an address as a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u128);

/// What is sent, such as a hash of a file's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u64);

/// What the policy ranks; see `entries`.
pub(crate) type EntryId = u32;

/// Ranges of one object that one client asks.
pub(crate) type Group = (ClientId, ObjectId);
