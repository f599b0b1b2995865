//! Faults of pages in words.

use formats::sqlite::Fault;

/// What a fault is about, in words.
pub(crate) fn fault_text(fault: Fault) -> &'static str {
    match fault {
        Fault::CellCount => "number of cells",
        Fault::ContentStart => "start of the cell content area",
        Fault::FreeBlockOrder => "offset of a free block",
        Fault::FreeBlockSize => "size of a free block",
        Fault::FragmentedBytes => "number of fragmented bytes",
        Fault::CellPointer => "cell pointer",
        Fault::CellEnd => "end of the cell",
        Fault::CellOverlap => "bytes of the cell",
        Fault::PayloadLength => "length of the payload",
        Fault::PageKind => "kind of page",
        Fault::RecordHeader => "header of the record",
        Fault::SerialType => "serial type",
        Fault::RecordLength => "length of the record by its fields",
        Fault::Magic => "first 16 bytes",
        Fault::PageSize => "page size",
        Fault::FormatVersion => "format version",
        Fault::ReservedBytes => "reserved bytes per page",
        Fault::PayloadFraction => "payload fraction",
        Fault::SchemaFormat => "schema format",
        Fault::TextEncoding => "text encoding",
        Fault::HeaderExpansion => "bytes kept for expansion",
        Fault::IncrementalVacuum => "incremental vacuum without a largest root",
        _ => "value",
    }
}
