//! What the server says a command did.

/// The tag of the last command of an answer, e.g. `INSERT 0 1`; empty when there was none.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct CommandTag {
    bytes: [u8; 24],
    length: usize,
}

impl CommandTag {
    /// Is it exactly this?
    #[inline]
    pub(in super::super) fn is(&self, expected: &[u8]) -> bool {
        self.as_bytes() == expected
    }

    /// The tag, cut to 24 bytes.
    pub(in super::super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// The rows that it counts: the number at its end, 0 where there is none.
    pub(in super::super) fn rows(body: &[u8]) -> u64 {
        let text = body.strip_suffix(b"\0").unwrap_or(body);
        let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let digits = text.get(text.len() - digits..).unwrap_or_default();
        digits.iter().fold(0_u64, |sum, digit| sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
    }

    /// Takes the tag out of the body of a CommandComplete.
    pub(super) fn from_body(body: &[u8]) -> Self {
        let text = body.strip_suffix(b"\0").unwrap_or(body);
        let mut tag = Self::default();
        tag.length = text.len().min(tag.bytes.len());
        tag.bytes[..tag.length].copy_from_slice(&text[..tag.length]);
        tag
    }
}
