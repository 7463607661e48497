//! Escapes text from outside, so that it is safe in a page.

use serde::Serialize;

/// As text between tags or within quotes of an attribute.
pub(super) fn text(raw: &str) -> String {
    let mut safe = String::with_capacity(raw.len());
    for letter in raw.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Other control characters are not allowed in a page.
            '\n' | '\t' => safe.push(letter),
            letter if letter.is_control() => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}

/// As JSON within a script element: without `<`, which could end the element, or open a comment in
/// it.
pub(super) fn json(value: &impl Serialize) -> String {
    let plain = serde_json::to_string(value).unwrap_or_else(|_| "null".into());
    plain.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn text_cannot_open_a_tag_or_leave_an_attribute() {
        assert_eq!(
            text("</td><b a='\"'>&\u{7}"),
            "&lt;/td&gt;&lt;b a=&#39;&quot;&#39;&gt;&amp;\u{fffd}"
        );
    }

    #[test]
    fn json_cannot_end_its_script_and_reads_back_the_same() {
        let name = "</script><!--<script>\u{2028}";
        let json = json(&[name]);
        assert!(!json.contains('<'));
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [name]);
    }
}
