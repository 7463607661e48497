//! The dialect of JSON that rt-app files are written in, read into a tree that keeps order,
//! duplicates and places.
//!
//! Beyond JSON it has comments (`/* */`, `//`), commas after the last member, strings in single
//! quotes, literals in any case (`True`), and members without a value (`"suspend",`), which an
//! older tool of rt-app's filled in. Libraries read some of this (jsonc-parser and json5: comments
//! and commas; jsonc-parser keeps order and places, too), but none known to us reads a member
//! without a value.

use super::error::{Fault, Problem};
use crate::text::cut;

/// The deepest nesting. An rt-app file that means something nests seven levels deep.
pub const MAX_DEPTH: usize = 32;

/// A value and the byte offset where it starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub at: usize,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    /// A number with a fraction or an exponent, or beyond 64 bits, as it stands in the text.
    Number(String),
    Text(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Byte offset of its key.
    pub at: usize,
    pub key: String,
    /// `None`: only the key stands there.
    pub value: Option<Node>,
}

impl Member {
    /// Byte offset of its value, or of its key if it has no value.
    pub fn value_at(&self) -> usize {
        self.value.as_ref().map_or(self.at, |node| node.at)
    }

    /// Its value, for an error message.
    pub fn shown(&self) -> String {
        match self.value.as_ref().map(|node| &node.value) {
            None => "no value".to_owned(),
            Some(Value::Null) => "null".to_owned(),
            Some(Value::Bool(value)) => value.to_string(),
            Some(Value::Integer(value)) => value.to_string(),
            Some(Value::Number(value)) => cut(value),
            Some(Value::Text(value)) => format!("\"{}\"", cut(value)),
            Some(Value::Array(_)) => "an array".to_owned(),
            Some(Value::Object(_)) => "an object".to_owned(),
        }
    }
}

/// Reads the first value of a text, and tells where there is more behind it, which rt-app does not
/// look at.
pub fn read(text: &str) -> Result<(Node, Option<usize>), Fault> {
    let mut reader = Reader { text, at: 0 };
    reader.skip_blank()?;
    let root = reader.value(0)?;
    let is_more = reader.skip_blank().is_err() || reader.peek().is_some();
    Ok((root, is_more.then_some(reader.at)))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn unexpected(&self, expected: &'static str) -> Fault {
        let found = match self.rest().chars().next() {
            None => "the end of the file".to_owned(),
            Some(c) if c.is_control() => format!("the character U+{:04X}", c as u32),
            Some(c) => format!("'{c}'"),
        };
        Fault::text(self.at, Problem::Syntax { found, expected })
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) -> Result<(), Fault> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') if self.rest().starts_with("//") => {
                    self.at = self.rest().find('\n').map_or(self.text.len(), |end| self.at + end);
                }
                Some(b'/') if self.rest().starts_with("/*") => {
                    let unclosed = Problem::Syntax {
                        found: "a comment without an end".to_owned(),
                        expected: "'*/'",
                    };
                    let body = self.at + 2;
                    let end = self.text[body..]
                        .find("*/")
                        .ok_or_else(|| Fault::text(self.at, unclosed))?;
                    self.at = body + end + 2;
                }
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Fault> {
        if depth >= MAX_DEPTH {
            return Err(Fault::text(self.at, Problem::TooDeep(MAX_DEPTH)));
        }
        let at = self.at;
        let value = match self.peek() {
            Some(b'{') => Value::Object(self.object(depth)?),
            Some(b'[') => Value::Array(self.array(depth)?),
            Some(b'"' | b'\'') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(byte) if byte.is_ascii_alphabetic() => self.literal()?,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Node { at, value })
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Member>, Fault> {
        let mut members = Vec::new();
        self.at += 1;
        loop {
            self.skip_blank()?;
            let at = self.at;
            let key = match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    return Ok(members);
                }
                Some(b'"' | b'\'') => self.string()?,
                _ => return Err(self.unexpected("a key in quotes or '}'")),
            };
            self.skip_blank()?;
            let value = if self.peek() == Some(b':') {
                self.at += 1;
                self.skip_blank()?;
                let node = self.value(depth + 1)?;
                self.skip_blank()?;
                Some(node)
            } else {
                None
            };
            let bare = value.is_none();
            members.push(Member { at, key, value });
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {}
                _ if bare => return Err(self.unexpected("':', ',' or '}'")),
                _ => return Err(self.unexpected("',' or '}'")),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Node>, Fault> {
        let mut nodes = Vec::new();
        self.at += 1;
        loop {
            self.skip_blank()?;
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(nodes);
            }
            nodes.push(self.value(depth + 1)?);
            self.skip_blank()?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {}
                _ => return Err(self.unexpected("',' or ']'")),
            }
        }
    }

    fn string(&mut self) -> Result<String, Fault> {
        let (start, quote) = (self.at, self.peek());
        let unclosed = || Problem::Syntax {
            found: "a string that does not end on its line".to_owned(),
            expected: "a quote",
        };
        let mut out = String::new();
        self.at += 1;
        loop {
            let rest = self.rest();
            let plain =
                rest.find(['"', '\'', '\\', '\n']).ok_or_else(|| Fault::text(start, unclosed()))?;
            out.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some(b'\\') => out.push(self.escape()?),
                Some(b'\n') => return Err(Fault::text(start, unclosed())),
                byte => {
                    self.at += 1;
                    if byte == quote {
                        return Ok(out);
                    }
                    out.push(if byte == Some(b'"') { '"' } else { '\'' });
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        self.at += 1;
        let c = match self.peek() {
            Some(byte @ (b'"' | b'\'' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.unexpected("one of \" ' \\ / b f n r t u after a backslash")),
        };
        self.at += 1;
        Ok(c)
    }

    /// `uXXXX`, or two of them that make up one character. Half of such a pair stands for no
    /// character: U+FFFD.
    fn unicode_escape(&mut self) -> Result<char, Fault> {
        let first = self.code_unit()?;
        if (0xD800..0xDC00).contains(&first) && self.rest().starts_with("\\u") {
            let before = self.at;
            self.at += 1;
            let second = self.code_unit()?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn code_unit(&mut self) -> Result<u32, Fault> {
        self.at += 1;
        let digits = self
            .rest()
            .get(..4)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let code = code.ok_or_else(|| self.unexpected("four hexadecimal digits"))?;
        self.at += 4;
        Ok(code)
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        self.digits()?;
        let mut whole = true;
        if self.peek() == Some(b'.') {
            whole = false;
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            whole = false;
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        let text = &self.text[start..self.at];
        Ok(match text.parse() {
            Ok(value) if whole => Value::Integer(value),
            _ => Value::Number(text.to_owned()),
        })
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let count = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 {
            return Err(self.unexpected("a digit"));
        }
        self.at += count;
        Ok(())
    }

    fn literal(&mut self) -> Result<Value, Fault> {
        let length = self.rest().bytes().take_while(u8::is_ascii_alphanumeric).count();
        let word = &self.text[self.at..self.at + length];
        let value = match word.to_ascii_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => {
                let found = format!("'{}'", cut(word));
                return Err(Fault::text(self.at, Problem::Syntax { found, expected: "a value" }));
            }
        };
        self.at += length;
        Ok(value)
    }
}

/// True if the outermost object has a member `key` whose value is an object. The rest is not read:
/// a text with faults elsewhere counts, too.
pub fn has_object_member(text: &str, key: &str) -> bool {
    let mut reader = Reader { text, at: 0 };
    let mut depth = 0_usize;
    loop {
        if reader.skip_blank().is_err() {
            return false;
        }
        match reader.peek() {
            None => return false,
            Some(b'"' | b'\'') => {
                let Ok(found) = reader.string() else { return false };
                if depth == 1
                    && found == key
                    && reader.skip_blank().is_ok()
                    && reader.peek() == Some(b':')
                {
                    reader.at += 1;
                    if reader.skip_blank().is_ok() && reader.peek() == Some(b'{') {
                        return true;
                    }
                }
            }
            Some(byte) => {
                match byte {
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth = depth.saturating_sub(1),
                    _ if depth == 0 => return false,
                    _ => {}
                }
                reader.at += reader.rest().chars().next().map_or(1, char::len_utf8);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        match read(text).map(|(node, _)| node.value) {
            Ok(Value::Object(members)) => members.into_iter().map(|member| member.key).collect(),
            other => panic!("{other:?}"),
        }
    }

    fn fault(text: &str) -> String {
        read(text).map_or_else(
            |fault| fault.within("f", text.as_bytes()).to_string(),
            |node| panic!("{node:?}"),
        )
    }

    #[test]
    fn order_and_duplicates_are_kept() {
        assert_eq!(keys(r#"{"run": 1, "sleep": 2, "run": 3}"#), ["run", "sleep", "run"]);
    }

    #[test]
    fn comments_trailing_commas_and_bare_members_are_read() {
        assert_eq!(
            keys("/* a */ {'a' : [1, 2,], // b\n \"suspend\", \"b\": TRUE, \"yield\"} // end"),
            ["a", "suspend", "b", "yield"]
        );
    }

    #[test]
    fn escapes_stand_for_their_characters() {
        let text = r#"["\u00e9\n\"\\", "\ud83d\ude00", "\ud83d", "it's"]"#;
        let texts = ["é\n\"\\", "😀", "\u{fffd}", "it's"];
        match read(text).map(|(node, _)| node.value) {
            Ok(Value::Array(nodes)) => {
                for (node, expected) in nodes.iter().zip(texts) {
                    assert_eq!(node.value, Value::Text(expected.to_owned()));
                }
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn numbers_that_are_no_64_bit_whole_numbers_keep_their_text() {
        for text in ["1.5", "1e3", "99999999999999999999"] {
            assert_eq!(
                read(text).map(|(node, _)| node.value).ok(),
                Some(Value::Number(text.to_owned()))
            );
        }
        assert_eq!(read("-12").map(|(node, _)| node.value).ok(), Some(Value::Integer(-12)));
    }

    #[test]
    fn faults_name_line_column_and_what_was_expected() {
        assert_eq!(fault("{\"a\": 1\n  \"b\": 2}"), "f:2:3: '\"' found, expected ',' or '}'");
        assert_eq!(fault("{\"é\": tru}"), "f:1:7: 'tru' found, expected a value");
        assert_eq!(
            fault("{\"a\": \"b\n\"}"),
            "f:1:7: a string that does not end on its line found, expected a quote"
        );
        assert_eq!(fault("{\"a\": 1"), "f:1:8: the end of the file found, expected ',' or '}'");
        assert_eq!(fault("{a: 1}"), "f:1:2: 'a' found, expected a key in quotes or '}'");
        assert_eq!(fault("{\"a\": -}"), "f:1:8: '}' found, expected a digit");
        assert_eq!(fault("[\u{1}]"), "f:1:2: the character U+0001 found, expected a value");
    }

    #[test]
    fn what_follows_the_first_value_is_told() {
        let more = |text: &str| {
            read(text).map(|(_, more)| more).unwrap_or_else(|fault| panic!("{fault:?}"))
        };
        assert_eq!(more("{} // end\n"), None);
        assert_eq!(more("{} {}"), Some(3));
        assert_eq!(more("{},"), Some(2));
        assert_eq!(more("{} /* x"), Some(3));
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(read(&deep(MAX_DEPTH)).is_ok());
        assert!(fault(&"[".repeat(1_000_000)).ends_with("nested deeper than 32 levels"));
    }

    #[test]
    fn a_member_is_found_though_the_text_has_faults_elsewhere() {
        assert!(has_object_member("{ /* \"x */ 'tasks' : { \"a\" 5 ", "tasks"));
        assert!(!has_object_member(r#"{"workflow": {"tasks": {}}}"#, "tasks"));
        assert!(!has_object_member(r#"{"tasks": []}"#, "tasks"));
        assert!(!has_object_member("digraph { \"tasks\" : { } }", "tasks"));
        assert!(!has_object_member("", "tasks"));
    }
}
