//! Markup of pages and pictures. Whatever comes from outside is text; [`markup!`] alone joins markup and values, and it
//! escapes every value that is not markup already.

use std::fmt::{self, Display, Formatter, Write};

use crate::plain::plain;

/// Markup in which every text is escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Markup(String);

impl Markup {
    /// Takes what this program wrote as markup: a style, a script, a licence. Never a text from outside.
    pub(crate) fn trusted(markup: impl Into<String>) -> Self {
        Self(markup.into())
    }

    /// Is there nothing?
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds more markup behind it.
    pub(crate) fn push(&mut self, more: &Markup) {
        self.0.push_str(&more.0);
    }

    /// The markup as text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The document that it has become.
    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

impl Extend<Markup> for Markup {
    fn extend<T: IntoIterator<Item = Markup>>(&mut self, parts: T) {
        parts.into_iter().for_each(|part| self.push(&part));
    }
}

impl FromIterator<Markup> for Markup {
    fn from_iter<T: IntoIterator<Item = Markup>>(parts: T) -> Self {
        let mut whole = Self::default();
        whole.extend(parts);
        whole
    }
}

/// A value in markup: text is escaped, markup and numbers stand as they are.
pub(crate) trait Value {
    /// Writes the value.
    ///
    /// # Errors
    ///
    /// Those of the formatter.
    fn write(&self, formatter: &mut Formatter<'_>) -> fmt::Result;
}

impl Value for Markup {
    fn write(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Value for str {
    fn write(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        for word in self.split_inclusive(' ') {
            for character in plain(word).chars() {
                match character {
                    '<' => formatter.write_str("&lt;")?,
                    '>' => formatter.write_str("&gt;")?,
                    '&' => formatter.write_str("&amp;")?,
                    '"' => formatter.write_str("&quot;")?,
                    '\'' => formatter.write_str("&#39;")?,
                    _ => formatter.write_char(character)?,
                }
            }
        }
        Ok(())
    }
}

impl Value for String {
    fn write(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.as_str().write(formatter)
    }
}

impl<T: Value + ?Sized> Value for &T {
    fn write(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        (**self).write(formatter)
    }
}

impl Value for usize {
    fn write(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.fmt(formatter)
    }
}

impl Value for i64 {
    fn write(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.fmt(formatter)
    }
}

impl Value for f64 {
    fn write(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.fmt(formatter)
    }
}

/// Shows a value as it stands in markup.
pub(crate) struct Shown<'a, T: ?Sized>(pub(crate) &'a T);

impl<T: Value + ?Sized> Display for Shown<'_, T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.write(formatter)
    }
}

/// Markup of our own with values in it: `markup!("<b>{}</b>", label)`.
///
/// The form captures no variable by its name, which would go in unescaped: the compiler refuses that behind `concat!`.
macro_rules! markup {
    ($form:literal $(, $value:expr)* $(,)?) => {
        $crate::html::markup::Markup::trusted(
            format!(concat!($form) $(, $crate::html::markup::Shown(&$value))*)
        )
    };
}
pub(crate) use markup;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_markup_is_not() {
        let hostile = String::from("\"><script>a\u{202e}b'");
        let inner = markup!("<b title=\"{}\">{}</b>", hostile, 7_usize);
        assert_eq!(inner.as_str(), "<b title=\"&quot;&gt;&lt;script&gt;a\\u{202e}b&#39;\">7</b>");
        assert_eq!(markup!("<p>{}</p>", &inner).as_str(), format!("<p>{}</p>", inner.as_str()));
        let whole: Markup = [inner.clone(), inner.clone()].into_iter().collect();
        assert_eq!(whole.as_str(), inner.as_str().repeat(2));
    }
}
