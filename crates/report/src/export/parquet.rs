//! Parquet: the columns of a frame, one row group, no compression.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use parquet::arrow::ArrowWriter;

use crate::export::{Frame, Values};

/// Why no Parquet file could be made.
#[derive(Debug, thiserror::Error)]
pub enum ParquetError {
    /// The columns do not make a table.
    #[error("cannot write Parquet: {0}")]
    Columns(#[from] ArrowError),
    /// The writer refused.
    #[error("cannot write Parquet: {0}")]
    Writer(#[from] parquet::errors::ParquetError),
}

pub(super) fn bytes(frame: &Frame) -> Result<Vec<u8>, ParquetError> {
    let columns = frame.columns.iter().map(|column| (column.name.as_str(), array(&column.values), true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns)?;
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None)?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(bytes)
}

fn array(values: &Values) -> ArrayRef {
    match values {
        Values::Text(values) => Arc::new(StringArray::from_iter(values)),
        Values::Integer(values) => Arc::new(Int64Array::from_iter(values.iter().copied())),
        Values::Float(values) => Arc::new(Float64Array::from_iter(values.iter().copied())),
        Values::Boolean(values) => Arc::new(BooleanArray::from_iter(values.iter().copied())),
    }
}
