//! Numbers of bytes on the command line: `8G`, `60MB`. Plain numbers are bytes.

/// Parse one. `K`, `M`, `G`, `T`, alone or with `iB`, are powers of 1024; with `B`
/// they are powers of 1000.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a number of bytes such as 4096, 60MB or 8G");
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit: u64 = match unit {
        "" | "B" => 1,
        "KB" | "kB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "T" | "TiB" => 1 << 40,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_decimal_and_binary() {
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("60MB"), Ok(60_000_000));
        assert_eq!(bytes("8G"), Ok(8 << 30));
        assert_eq!(bytes("8GiB"), Ok(8 << 30));
        for wrong in ["", "G", "8 G", "-1", "1.5G", "99999999999T"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
