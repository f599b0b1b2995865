//! The code page in which a collation stores `char` and `varchar`.

/// A code page whose characters are known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodePage {
    /// Western European.
    Windows1252,
}

/// Characters of the bytes 0x80 to 0x9f; a byte without one is itself.
// EVIDENCE: Unicode Consortium, MAPPINGS/VENDORS/MICSFT/WINDOWS/CP1252.TXT
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

impl CodePage {
    /// The code page of a collation, by its number; `None` where it is not known.
    // EVIDENCE: Microsoft Learn, "SQL Server collation name": sort orders 50 to 54 have code page 1252;
    // COLLATIONPROPERTY('SQL_Latin1_General_CP1_CI_AS', 'CollationId') is 872468488, 0x3400d008: sort order 52 in the
    // highest byte. Latin1_General_CI_AS is 53256, 0xd008: without a sort order, the lowest byte is the locale
    // OBSERVED: syscolpars of the files of versions 655 to 706: 0x3400d008, 0xf008, 0x10008 and 0x1008
    pub(crate) fn of_collation(collation: u32) -> Option<Self> {
        let is_1252 = match collation >> 24 {
            0 => collation & 0xff == 8,
            50..=54 => true,
            _ => false,
        };
        is_1252.then_some(Self::Windows1252)
    }

    /// The character of a byte; `None` for one that cannot be shown.
    pub(crate) fn character(self, byte: u8) -> Option<char> {
        let Self::Windows1252 = self;
        let character = match byte {
            0x80..=0x9f => WINDOWS_1252.get(usize::from(byte - 0x80)).copied()?,
            byte => char::from(byte),
        };
        (!character.is_control()).then_some(character)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_page_is_that_of_the_sort_order_or_of_the_locale() {
        let page = |collation| CodePage::of_collation(collation);
        assert_eq!(
            (page(872_468_488), page(53_256)),
            (Some(CodePage::Windows1252), Some(CodePage::Windows1252))
        );
        // Sort order 32 has code page 437; another locale; none.
        assert_eq!((page(0x2000_d008), page(0xd015), page(0)), (None, None, None));
    }

    #[test]
    fn bytes_become_the_characters_of_windows_1252() {
        let text = |bytes: &[u8]| -> Option<String> {
            bytes.iter().map(|byte| CodePage::Windows1252.character(*byte)).collect()
        };
        assert_eq!(text(b"Caf\xe9 \x80 \x93x\x94"), Some("Café € “x”".to_owned()));
        assert_eq!((text(&[0x81]), text(&[7])), (None, None));
    }
}
