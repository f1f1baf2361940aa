//! A password as a file of users has it, and fields of requests that show it or another.

/// Of the password `U*U`, from crypt_blowfish's own tests.
pub const HASH: &str = "$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";

/// `me` with the password `U*U`.
pub const RIGHT: &str = "Authorization: Basic bWU6VSpV\r\n";

/// `me` with the password `U*V`.
pub const WRONG: &str = "Authorization: Basic bWU6VSpW\r\n";

/// `you` with the password `U*U`.
pub const STRANGER: &str = "Authorization: Basic eW91OlUqVQ==\r\n";
