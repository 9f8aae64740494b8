//! What stands behind the question mark of lists, and in paths.

use percent_encoding::percent_decode_str;

use super::problem::Problem;

/// Rows of a page when nothing is said.
pub(super) const DEFAULT_LIMIT: usize = 100;
/// Rows of a page at most: some hundred kilobytes.
const MAX_LIMIT: usize = 1_000;

/// The fields of a query, as they are written; each may come once.
pub(super) fn fields(query: &str) -> Result<Vec<(&str, &str)>, Problem> {
    let mut fields: Vec<(&str, &str)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if fields.iter().any(|(seen, _)| *seen == name) {
            return Err(Problem::field(name.to_owned(), "must not come twice"));
        }
        fields.push((name, value));
    }
    Ok(fields)
}

/// Percent-decoded, once.
pub(super) fn decoded(field: &'static str, text: &str) -> Result<String, Problem> {
    let bytes = percent_decode_str(text).decode_utf8();
    bytes.map(Into::into).map_err(|_| Problem::field(field, "must be UTF-8"))
}

/// How many rows a page may have.
pub(super) fn limit(value: &str) -> Result<usize, Problem> {
    let limit = value.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| Problem::field("limit", format_args!("must be 1 to {MAX_LIMIT}")))
}
