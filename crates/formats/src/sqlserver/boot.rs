//! The boot page and the header of a file.

use super::bytes::{u16_at, u32_at, u64_at};
use super::page::{Header, Lsn, PageId, PageKind};
use super::{Damage, Fault, Record};

/// A date and time: days since 1900-01-01 and three-hundredths of a second since midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct DateTime {
    /// Days since 1900-01-01.
    pub days: i32,
    /// Three-hundredths of a second since midnight.
    pub ticks: u32,
}

impl DateTime {
    /// Reads the eight bytes of a `datetime`: ticks, then days.
    // EVIDENCE: Microsoft Learn, "datetime (Transact-SQL)": accuracy 1/300 second; OBSERVED: boot pages of all files
    #[must_use]
    pub fn at(bytes: &[u8], offset: usize) -> Option<Self> {
        let value = u64_at(bytes, offset)?;
        Some(Self { ticks: value as u32, days: (value >> 32) as u32 as i32 })
    }

    /// Whether it lies in the range of the type: 1753 to 9999.
    // EVIDENCE: Microsoft Learn, "datetime (Transact-SQL)": January 1, 1753 to December 31, 9999
    #[must_use]
    pub fn is_in_range(self) -> bool {
        (-53_690..=2_958_463).contains(&self.days) && self.ticks < 25_920_000
    }

    /// Year, month, day, hour, minute and second.
    #[must_use]
    pub fn text(self) -> String {
        let seconds = self.ticks / 300;
        let (year, month, day) = civil(i64::from(self.days));
        format!(
            "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        )
    }
}

/// The date of a number of days since 1900-01-01, in the Gregorian calendar.
// EVIDENCE: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days
fn civil(days: i64) -> (i64, i64, i64) {
    // Days from 0000-03-01 to 1900-01-01.
    let shifted = days + 693_901;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted_month + 2) / 5 + 1)
}

/// What the boot page says about the database.
// OBSERVED: offsets in versions 655, 661 and 706; names and their order as DBCC DBINFO prints them
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// Internal version of the database.
    pub version: u16,
    /// Internal version that it was made with.
    pub created_version: u16,
    /// When it was made.
    pub created: DateTime,
    /// Its name when the page was written.
    pub name: String,
    /// Compatibility level.
    pub compatibility: u16,
    /// Log position of the last checkpoint.
    pub checkpoint: Lsn,
    /// The first page of the table of allocation units.
    pub first_allocation_units: PageId,
    /// When DBCC CHECKDB last found nothing; `None` when never.
    // EVIDENCE: sqlskills.com, "What Checks Update dbccLastKnownGood?"
    pub last_known_good: Option<DateTime>,
}

/// The internal version of SQL Server 2005, whose table of columns is split in two.
// OBSERVED: Northwind-xande.bak
pub const VERSION_2005: u16 = 611;
/// The internal versions whose base tables are known, in words.
pub const VERSIONS_KNOWN: &str = "611 (SQL Server 2005) and 655 to 706 (SQL Server 2008 to 2012)";

/// Whether the layout of the base tables of an internal version was seen in real files.
// OBSERVED: versions 611, 655, 661 and 706. Version 612 is 2005 with another storage of decimals: not seen
#[must_use]
pub fn is_version_known(version: u16) -> bool {
    version == VERSION_2005 || (655..=706).contains(&version)
}

impl Boot {
    /// Reads a boot page.
    ///
    /// # Errors
    /// When the page is of another kind or too short.
    pub fn new(page: &[u8]) -> Result<Self, Damage> {
        let header = Header::new(page);
        let refuse = || {
            let code = u64::from(super::bytes::u8_at(page, 1).unwrap_or(0));
            Damage::new(Fault::PageKind, 1, 13..=13, code)
        };
        if header.kind != PageKind::Boot {
            return Err(refuse());
        }
        let read = || {
            Some(Self {
                version: u16_at(page, 100)?,
                created_version: u16_at(page, 102)?,
                created: DateTime::at(page, 140)?,
                name: utf16(page.get(148..404)?).trim_end_matches([' ', '\0', '\u{2020}']).to_owned(),
                compatibility: u16_at(page, 410)?,
                checkpoint: Lsn::at(page, 444)?,
                first_allocation_units: PageId::at(page, 612)?,
                last_known_good: DateTime::at(page, 748).filter(|date| *date != DateTime::default()),
            })
        };
        read().ok_or_else(refuse)
    }
}

/// The product that writes an internal version.
// EVIDENCE: sqlskills.com and sqlserverbuilds.blogspot.com, lists of internal database versions
#[must_use]
pub fn product(version: u16) -> &'static str {
    match version {
        515 => "SQL Server 7.0",
        539 => "SQL Server 2000",
        611 | 612 => "SQL Server 2005",
        655 => "SQL Server 2008",
        660 | 661 => "SQL Server 2008 R2",
        706 => "SQL Server 2012",
        782 => "SQL Server 2014",
        852 => "SQL Server 2016",
        868 | 869 => "SQL Server 2017",
        895..=904 => "SQL Server 2019",
        957 => "SQL Server 2022",
        _ => "an unknown version",
    }
}

/// What the first page of a file says about it.
// OBSERVED: columns of variable length of the record at 96 in all files
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileHeader {
    /// Number of the file in its database.
    pub file: u16,
    /// Pages that the file has at least.
    pub page_count: u32,
}

impl FileHeader {
    /// Reads the first page of a file.
    ///
    /// # Errors
    /// When the page is of another kind, or its record cannot be taken apart.
    pub fn new(page: &[u8]) -> Result<Self, Damage> {
        let header = Header::new(page);
        if header.kind != PageKind::FileHeader {
            let code = u64::from(super::bytes::u8_at(page, 1).unwrap_or(0));
            return Err(Damage::new(Fault::PageKind, 1, 15..=15, code));
        }
        let record = Record::new(page, &header, 0, super::page::HEADER_BYTES)?;
        let column = |index| record.variable(index).map(|variable| variable.bytes).unwrap_or_default();
        let refuse = || Damage::new(Fault::MapRecord, 96, 5..=u64::MAX, record.variable_count() as u64);
        let file = u16_at(column(2), 0).ok_or_else(refuse)?;
        let page_count = u32_at(column(4), 0).ok_or_else(refuse)?;
        Ok(Self { file, page_count })
    }
}

/// Text of two-byte characters.
#[must_use]
pub fn utf16(bytes: &[u8]) -> String {
    let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(DateTime { days: 0, ticks: 0 }.text(), "1900-01-01 00:00:00");
        assert_eq!(DateTime { days: 41_195, ticks: 300 }.text(), "2012-10-15 00:00:01");
        assert_eq!(DateTime { days: -53_690, ticks: 0 }.text(), "1753-01-01 00:00:00");
        assert_eq!(DateTime { days: 2_958_463, ticks: 25_919_999 }.text(), "9999-12-31 23:59:59");
    }
}
