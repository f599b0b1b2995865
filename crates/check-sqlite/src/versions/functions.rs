//! The functions of SQLite by what versions and builds do differently.

/// What a function does that depends on the version or build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing: the same result in every version.
    Plain,
    /// Makes a number that may not be a whole one.
    Calculating,
    Rounding,
    /// Takes text, or makes it from numbers.
    Text,
    /// Searches a text in another value.
    Searching,
    /// Folds letters.
    Case,
    /// Matches a pattern.
    Pattern,
    /// The result itself changed between versions, or depends on the build; so does any function not known here.
    Changed,
}

/// What is known about a function. `name` is in small letters.
// EVIDENCE: sqlite lang_corefunc, lang_mathfunc; changes (release history): 3.38, 3.42, 3.45 JSON; 3.42, 3.46 dates;
// EVIDENCE: 3.43, 3.46 floating-point text, printf, round and quote
pub(super) fn kind(name: &str) -> Kind {
    match name {
        "coalesce" | "ifnull" | "iif" | "if" | "nullif" | "max" | "min" | "typeof" | "likely"
        | "unlikely" | "likelihood" | "zeroblob" | "sign" | "sqrt" | "ceil" | "ceiling" | "floor"
        | "trunc" | "row" => Kind::Plain,
        "abs" => Kind::Calculating,
        "round" => Kind::Rounding,
        "length" | "octet_length" | "hex" | "unhex" | "unicode" | "char" | "substr" | "substring"
        | "trim" | "ltrim" | "rtrim" | "concat" | "concat_ws" | "quote" | "soundex" => Kind::Text,
        "instr" | "replace" => Kind::Searching,
        "upper" | "lower" => Kind::Case,
        "like" | "glob" => Kind::Pattern,
        _ => Kind::Changed,
    }
}
