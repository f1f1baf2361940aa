//! What a proxy changes of a message it passes on: hop-by-hop fields, who asked, rewrites. It knows
//! no connections.
