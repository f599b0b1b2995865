//! Percent-encoding, for a token in addresses and cookies.
// EVIDENCE: RFC 3986 2.1 and 2.3

/// Every byte but letters, digits and `-._~` as a percent sign with two digits.
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// What percent signs stand for in their place; `None` where one is not followed by two digits.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(match byte {
            b'%' => (digit()? * 16 + digit()?) as u8,
            _ => byte,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_was_encoded_is_decoded_and_halves_are_refused() {
        let text = "a&b%c=d;ü \"~";
        assert_eq!(decoded(&encoded(text)).unwrap(), text.as_bytes());
        assert_eq!(decoded("%4"), None);
        assert_eq!(decoded("%zz"), None);
        assert_eq!(decoded("a+b").unwrap(), b"a+b");
    }
}
