//! The chunked transfer coding, read in whatever pieces it comes in. It does not know what the data
//! mean, and keeps none of them.
