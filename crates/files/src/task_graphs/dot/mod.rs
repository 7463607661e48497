//! Graphviz's DOT (<https://graphviz.org/doc/info/lang.html>): directed graphs with weights.
//!
//! ```text
//! digraph build {
//!     node [weight=20ms]
//!     parse [weight=5]                   a time: ns, us, ms or s; a plain number is milliseconds.
//!                                        Also `cost` or `runtime`
//!     parse -> check -> link             chains and groups, as { check render } -> link
//!     check -> link [weight=4096]        bytes that are handed over. Also `bytes` or `size`
//! }
//! ```
//!
//! Every node must have a weight, its own or that of `node [weight=…]` where it is first named.
//! Edges without one hand over nothing, unless `edge [weight=…]` says so. Of several edges between
//! two nodes all count; in a `strict` graph only the last does. All other attributes are for
//! drawing and mean nothing here. The whole language is read except `graph`, whose edges have no
//! direction.

mod token;

use std::collections::HashMap;

use evenkeel_machine::split_time;

use self::token::{Token, Tokens};
use super::draft::{Draft, nanos};
use super::fault::Fault;
use crate::text::cut;

/// The deepest nesting of subgraphs.
const MAX_DEPTH: usize = 64;

/// The most edges: an edge between two groups may stand for as many as the square of its line's
/// length.
const MOST_EDGES: usize = 20_000_000;

/// True if a text begins as a graph does, after comments.
pub fn looks_like(text: &str) -> bool {
    let mut tokens = Tokens::new(text);
    let Ok((Token::Id(mut word), _)) = tokens.next() else { return false };
    if word.eq_ignore_ascii_case("strict") {
        let Ok((Token::Id(next), _)) = tokens.next() else { return false };
        word = next;
    }
    if !["graph", "digraph"].iter().any(|it| word.eq_ignore_ascii_case(it)) {
        return false;
    }
    let opens = |token: &Token| *token == Token::Sign("{");
    match tokens.next() {
        Ok((Token::Id(_) | Token::Quoted(_), _)) => {
            tokens.next().is_ok_and(|(token, _)| opens(&token))
        }
        Ok((token, _)) => opens(&token),
        Err(_) => false,
    }
}

/// Reads a file.
///
/// # Errors
/// The first fault.
pub fn read(text: &str) -> Result<Draft, Fault> {
    let mut reader = Reader {
        tokens: Tokens::new(text),
        nodes: Vec::new(),
        numbers: HashMap::new(),
        edges: Vec::new(),
    };
    let strict = reader.head()?;
    reader.group(Defaults::default(), 0)?;
    match reader.tokens.next()? {
        (Token::End, _) => {}
        (token, at) => {
            return Err(reader
                .tokens
                .place(at)
                .error(format!("{token} found, expected the end: one graph a file")));
        }
    }
    let Reader { tokens, nodes, edges, .. } = reader;
    let mut draft =
        Draft { volumes: edges.iter().any(|edge| edge.bytes.is_some()), ..Draft::default() };
    for Node { name, time, at } in nodes {
        let time = time.ok_or_else(|| {
            tokens.place(at).error(format!(
                "node '{}': no weight found, expected weight=TIME, its own or by node [weight=…]",
                cut(&name)
            ))
        })?;
        draft.tasks.push((name, time));
    }
    let edges = edges.into_iter().map(|edge| (edge.from, edge.to, edge.bytes.unwrap_or(0)));
    draft.edges = if strict {
        let last: HashMap<_, _> = edges.map(|(from, to, bytes)| ((from, to), bytes)).collect();
        let mut last: Vec<_> =
            last.into_iter().map(|((from, to), bytes)| (from, to, bytes)).collect();
        last.sort_unstable();
        last
    } else {
        edges.collect()
    };
    Ok(draft)
}

/// A node, and where it is first named.
struct Node {
    name: String,
    time: Option<u64>,
    at: usize,
}

struct Edge {
    from: usize,
    to: usize,
    bytes: Option<u64>,
}

/// What `node […]` and `edge […]` have said so far in a group and those around it.
#[derive(Clone, Copy, Default)]
struct Defaults {
    time: Option<u64>,
    bytes: Option<u64>,
}

/// An attribute's value, and where it stands.
struct Attribute {
    key: String,
    value: String,
    at: usize,
}

struct Reader<'a> {
    tokens: Tokens<'a>,
    nodes: Vec<Node>,
    numbers: HashMap<String, usize>,
    edges: Vec<Edge>,
}

impl Reader<'_> {
    /// Reads up to and including the first `{`. True if the graph is strict.
    fn head(&mut self) -> Result<bool, Fault> {
        let (mut word, mut at) = self.tokens.next()?;
        let strict = word.is_word("strict");
        if strict {
            (word, at) = self.tokens.next()?;
        }
        if !word.is_word("digraph") {
            return Err(self.tokens.place(at).error(format!(
                "{word} found, expected digraph: edges of a task graph have a direction"
            )));
        }
        if self.tokens.peek()?.is_name() {
            self.tokens.next()?;
        }
        self.sign("{")?;
        Ok(strict)
    }

    fn sign(&mut self, sign: &'static str) -> Result<(), Fault> {
        match self.tokens.next()? {
            (Token::Sign(found), _) if found == sign => Ok(()),
            (token, at) => {
                Err(self.tokens.place(at).error(format!("{token} found, expected {sign}")))
            }
        }
    }

    fn takes(&mut self, sign: &'static str) -> Result<bool, Fault> {
        let takes = *self.tokens.peek()? == Token::Sign(sign);
        if takes {
            self.tokens.next()?;
        }
        Ok(takes)
    }

    /// Reads statements up to and including the `}`. Gives the nodes that they name.
    fn group(&mut self, mut defaults: Defaults, depth: usize) -> Result<Vec<usize>, Fault> {
        let mut named = Vec::new();
        // At most one `;` may end a statement, and stands nowhere else.
        let mut may_end = false;
        loop {
            let token = self.tokens.peek()?.clone();
            let ends = std::mem::replace(&mut may_end, true);
            match token {
                Token::Sign("}") => {
                    self.tokens.next()?;
                    named.sort_unstable();
                    named.dedup();
                    return Ok(named);
                }
                Token::Sign(";") if ends => {
                    self.tokens.next()?;
                    may_end = false;
                }
                _ if token.is_word("node") => {
                    let attributes = self.defaults()?;
                    defaults.time = self.time(&attributes)?.or(defaults.time);
                }
                _ if token.is_word("edge") => {
                    let attributes = self.defaults()?;
                    defaults.bytes = self.bytes(&attributes)?.or(defaults.bytes);
                }
                _ if token.is_word("graph") => drop(self.defaults()?),
                _ => self.statement(defaults, depth, &mut named)?,
            }
        }
    }

    /// `node`, `edge` or `graph`, and the attributes that follow it.
    fn defaults(&mut self) -> Result<Vec<Attribute>, Fault> {
        self.tokens.next()?;
        if *self.tokens.peek()? != Token::Sign("[") {
            self.sign("[")?;
        }
        self.attributes()
    }

    /// A node with attributes, edges, a subgraph, or an attribute of the graph.
    fn statement(
        &mut self,
        defaults: Defaults,
        depth: usize,
        named: &mut Vec<usize>,
    ) -> Result<(), Fault> {
        let is_name = self.tokens.peek()?.is_name() && !self.tokens.peek()?.is_word("subgraph");
        let mut tails = self.operand(defaults, depth)?;
        let Some(tails_there) = &mut tails else { return Ok(()) };
        named.extend_from_slice(tails_there);
        let first_edge = self.edges.len();
        let mut chain = false;
        loop {
            if *self.tokens.peek()? == Token::Sign("--") {
                let (_, at) = self.tokens.next()?;
                return Err(self.tokens.place(at).error(
                    "-- found, expected ->: edges of a task graph have a direction".to_owned(),
                ));
            }
            if !self.takes("->")? {
                break;
            }
            chain = true;
            let at = self.tokens.at();
            let Some(heads) = self.operand(defaults, depth)? else {
                return Err(self
                    .tokens
                    .place(at)
                    .error("an attribute found, expected a node or a group".to_owned()));
            };
            named.extend_from_slice(&heads);
            if self.edges.len().saturating_add(tails_there.len().saturating_mul(heads.len()))
                > MOST_EDGES
            {
                return Err(self
                    .tokens
                    .place(at)
                    .error(format!("more than {MOST_EDGES} edges found")));
            }
            for &from in tails_there.iter() {
                self.edges.extend(heads.iter().map(|&to| Edge { from, to, bytes: defaults.bytes }));
            }
            *tails_there = heads;
        }
        let attributes = self.attributes()?;
        if chain {
            if let Some(bytes) = self.bytes(&attributes)? {
                self.edges[first_edge..].iter_mut().for_each(|edge| edge.bytes = Some(bytes));
            }
        } else if is_name
            && let (Some(time), [node]) = (self.time(&attributes)?, tails_there.as_slice())
        {
            self.nodes[*node].time = Some(time);
        }
        Ok(())
    }

    /// A node or a group, as the nodes that it stands for; `None` if it was an attribute of the
    /// graph.
    fn operand(&mut self, defaults: Defaults, depth: usize) -> Result<Option<Vec<usize>>, Fault> {
        let (token, at) = self.tokens.next()?;
        let is_subgraph = token.is_word("subgraph");
        if is_subgraph || token == Token::Sign("{") {
            if is_subgraph {
                if self.tokens.peek()?.is_name() {
                    self.tokens.next()?;
                }
                self.sign("{")?;
            }
            if depth == MAX_DEPTH {
                return Err(self
                    .tokens
                    .place(at)
                    .error(format!("nested deeper than {MAX_DEPTH} groups")));
            }
            return self.group(defaults, depth + 1).map(Some);
        }
        let (Token::Id(name) | Token::Quoted(name)) = token else {
            return Err(self
                .tokens
                .place(at)
                .error(format!("{token} found, expected a node, an edge or }}")));
        };
        if self.takes("=")? {
            self.value()?;
            return Ok(None);
        }
        // Ports say where a drawn edge ends.
        for _ in 0..2 {
            if self.takes(":")? {
                self.value()?;
            }
        }
        let number = *self.numbers.entry(name).or_insert_with_key(|name| {
            self.nodes.push(Node { name: name.clone(), time: defaults.time, at });
            self.nodes.len() - 1
        });
        Ok(Some(vec![number]))
    }

    fn value(&mut self) -> Result<(String, usize), Fault> {
        match self.tokens.next()? {
            (Token::Id(text) | Token::Quoted(text), at) => Ok((text, at)),
            (token, at) => Err(self
                .tokens
                .place(at)
                .error(format!("{token} found, expected a name or a value"))),
        }
    }

    /// Lists of attributes, as many as there are.
    fn attributes(&mut self) -> Result<Vec<Attribute>, Fault> {
        let mut attributes = Vec::new();
        while self.takes("[")? {
            while !self.takes("]")? {
                let (key, _) = self.value()?;
                self.sign("=")?;
                let (value, at) = self.value()?;
                attributes.push(Attribute { key, value, at });
                let _ = self.takes(",")? || self.takes(";")?;
            }
        }
        Ok(attributes)
    }

    fn find<T>(
        &self,
        attributes: &[Attribute],
        keys: [&str; 3],
        read: fn(&str) -> Option<T>,
        expected: &str,
    ) -> Result<Option<T>, Fault> {
        let Some(found) = attributes.iter().rev().find(|it| keys.contains(&it.key.as_str())) else {
            return Ok(None);
        };
        let wrong = || {
            let what =
                format!("{} '{}' found, expected {expected}", cut(&found.key), cut(&found.value));
            self.tokens.place(found.at).error(what)
        };
        read(&found.value).ok_or_else(wrong).map(Some)
    }

    fn time(&self, attributes: &[Attribute]) -> Result<Option<u64>, Fault> {
        const EXPECTED: &str =
            "a time of 0 to 30 years: milliseconds, or a number with ns, us, ms or s";
        self.find(attributes, ["weight", "cost", "runtime"], read_time, EXPECTED)
    }

    fn bytes(&self, attributes: &[Attribute]) -> Result<Option<u64>, Fault> {
        self.find(
            attributes,
            ["weight", "bytes", "size"],
            read_bytes,
            "a number of bytes, 0 to 1e18",
        )
    }
}

fn read_time(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit_ns) = split_time(text).unwrap_or((text, 1e6));
    nanos(number.parse().ok()?, unit_ns)
}

fn read_bytes(text: &str) -> Option<u64> {
    nanos(text.trim().parse().ok()?, 1.0)
}
