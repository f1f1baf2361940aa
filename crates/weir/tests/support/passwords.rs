//! A password as a file of users has it, and fields of requests that show it or another.

/// Of the password `U*U`, from crypt_blowfish's own tests.
pub const HASH: &str = "$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";

/// The letters that stand for six bits each (RFC 4648, section 4).
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A user with a name of two letters, with the password `U*U`.
pub fn right_of(user: &str) -> String {
    let [first, second]: [u8; 2] = user.as_bytes().try_into().expect("a name of two letters");
    let bits = u32::from_be_bytes([0, first, second, b':']);
    let letter = |shift: u32| char::from(BASE64[((bits >> shift) & 63) as usize]);
    let user: String = [18, 12, 6, 0].into_iter().map(letter).collect();
    format!("Authorization: Basic {user}VSpV\r\n")
}

/// `me` with the password `U*U`.
pub const RIGHT: &str = "Authorization: Basic bWU6VSpV\r\n";

/// `me` with the password `U*V`.
pub const WRONG: &str = "Authorization: Basic bWU6VSpW\r\n";

/// `you` with the password `U*U`.
pub const STRANGER: &str = "Authorization: Basic eW91OlUqVQ==\r\n";
