//! Places in the text of a statement, as sqlparser tells them.

use sqlparser::tokenizer::Location;

/// The byte offset of a line and column, both counted from 1, columns in characters.
pub(crate) fn byte_offset(sql: &str, location: Location) -> usize {
    let mut line_start = 0;
    for _ in 1..location.line {
        match sql[line_start..].find('\n') {
            Some(length) => line_start += length + 1,
            None => return sql.len(),
        }
    }
    let column = usize::try_from(location.column.saturating_sub(1)).unwrap_or(usize::MAX);
    sql[line_start..].char_indices().nth(column).map_or(sql.len(), |(at, _)| line_start + at)
}
