//! Rows as columns, and columns as a file of Parquet.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

/// A column: a value for each row, or none.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Words.
    Text(Vec<Option<Arc<str>>>),
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Numbers.
    Number(Vec<Option<f64>>),
    /// Lists of numbers.
    Numbers(Vec<Option<Vec<f64>>>),
}

impl Column {
    /// Without rows: of `text`, `whole`, `number`, else of lists of numbers.
    pub(crate) fn of_kind(kind: &str) -> Self {
        match kind {
            "text" => Self::Text(Vec::new()),
            "whole" => Self::Whole(Vec::new()),
            "number" => Self::Number(Vec::new()),
            _ => Self::Numbers(Vec::new()),
        }
    }

    /// How many rows it has.
    fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Whole(values) => values.len(),
            Self::Number(values) => values.len(),
            Self::Numbers(values) => values.len(),
        }
    }

    /// Its field in the schema of a file.
    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, logical) = match self {
            Self::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Self::Whole(_) => (PhysicalType::INT64, None),
            Self::Number(_) => (PhysicalType::DOUBLE, None),
            Self::Numbers(_) => return list_field(name),
        };
        Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(Repetition::OPTIONAL)
            .build()
    }
}

/// A list of numbers, in the three levels that the format wants.
fn list_field(name: &str) -> Result<Type, ParquetError> {
    let element = Type::primitive_type_builder("element", PhysicalType::DOUBLE)
        .with_repetition(Repetition::REQUIRED)
        .build()?;
    let list = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(element)])
        .build()?;
    Type::group_type_builder(name)
        .with_logical_type(Some(LogicalType::List))
        .with_repetition(Repetition::OPTIONAL)
        .with_fields(vec![Arc::new(list)])
        .build()
}

/// Columns of equal length, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<(String, Column)>,
}

impl Table {
    /// With one column more, which is as long as the others.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, column: Column) -> Self {
        debug_assert!(self.columns.first().is_none_or(|(_, first)| first.len() == column.len()));
        self.columns.push((name.to_owned(), column));
        self
    }

    /// Its columns, in order.
    pub fn into_columns(self) -> impl Iterator<Item = (String, Column)> {
        self.columns.into_iter()
    }

    /// How many rows it has.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, first)| first.len())
    }

    /// The file: the same bytes for equal tables.
    ///
    /// # Errors
    /// None but those of the memory that it is written to.
    pub fn to_parquet(&self) -> Result<Vec<u8>, ParquetError> {
        let fields = self.columns.iter().map(|(name, column)| column.field(name).map(Arc::new));
        let fields = fields.collect::<Result<_, _>>()?;
        let schema = Arc::new(Type::group_type_builder("evenkeel").with_fields(fields).build()?);
        let properties = WriterProperties::builder()
            .set_created_by("evenkeel".to_owned())
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .build();
        let mut bytes = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties))?;
        let mut rows = writer.next_row_group()?;
        for (_, column) in &self.columns {
            let Some(mut to) = rows.next_column()? else { break };
            match column {
                Column::Text(values) => {
                    let bytes = |text: &Arc<str>| ByteArray::from(&**text);
                    let (levels, values) = present(values, bytes);
                    to.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
                }
                Column::Whole(values) => {
                    let (levels, values) = present(values, |&value| value);
                    to.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
                }
                Column::Number(values) => {
                    let (levels, values) = present(values, |&value| value);
                    to.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
                }
                Column::Numbers(lists) => {
                    let (defined, repeated, values) = levels_of_lists(lists);
                    let to = to.typed::<DoubleType>();
                    to.write_batch(&values, Some(&defined), Some(&repeated))?;
                }
            }
            to.close()?;
        }
        rows.close()?;
        writer.close()?;
        Ok(bytes)
    }
}

/// Which rows have a value, and the values that there are.
fn present<T, U>(values: &[Option<T>], of: impl Fn(&T) -> U) -> (Vec<i16>, Vec<U>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (levels, values.iter().flatten().map(of).collect())
}

/// How far each entry is defined (0 no list, 1 an empty one, 2 a number), whether it goes on with
/// the list before it, and the numbers.
fn levels_of_lists(lists: &[Option<Vec<f64>>]) -> (Vec<i16>, Vec<i16>, Vec<f64>) {
    let (mut defined, mut repeated, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for list in lists {
        let numbers = list.as_deref().unwrap_or_default();
        if numbers.is_empty() {
            defined.push(i16::from(list.is_some()));
            repeated.push(0);
        }
        for (place, &number) in numbers.iter().enumerate() {
            defined.push(2);
            repeated.push(i16::from(place > 0));
            values.push(number);
        }
    }
    (defined, repeated, values)
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::{ListAccessor as _, RowAccessor as _};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back_by_the_librarys_reader_and_is_the_same_bytes_again(
            rows in prop::collection::vec(
                (prop::option::of("[a-z ü]{0,6}"), prop::option::of(any::<i64>()),
                 prop::option::of(-1e9_f64..1e9),
                 prop::option::of(prop::collection::vec(-1.0..1.0, 0..4))),
                0..60,
            ),
        ) {
            let table = Table::default()
                .with("text", Column::Text(rows.iter().map(|row| row.0.as_deref().map(Into::into)).collect()))
                .with("whole", Column::Whole(rows.iter().map(|row| row.1).collect()))
                .with("number", Column::Number(rows.iter().map(|row| row.2).collect()))
                .with("list", Column::Numbers(rows.iter().map(|row| row.3.clone()).collect()));
            let bytes = table.to_parquet().unwrap();
            prop_assert_eq!(&bytes, &table.to_parquet().unwrap());
            let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
            let read: Vec<_> = reader.get_row_iter(None).unwrap().map(|row| {
                let row = row.unwrap();
                let list = row.get_list(3).ok().map(|list| {
                    (0..list.len()).map(|at| list.get_double(at).unwrap()).collect()
                });
                let text = row.get_string(0).ok().cloned();
                (text, row.get_long(1).ok(), row.get_double(2).ok(), list)
            }).collect();
            prop_assert_eq!(read, rows);
        }
    }
}
