//! Every field of a result record.

use std::path::Path;

use serde_json::Value;

use super::{table, text};

const PATH: &str = "schema/result.schema.json";

pub fn page(root: &Path) -> String {
    let schema = std::fs::read_to_string(root.join(PATH)).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let rows = table(["field", "type", "always there", "what it is"], fields(&schema));
    format!(
        "# Fields of a result\n\nMade by `make book` from [the schema](../../{PATH}), which records \
         that `--json` and `-o` write are held to.\n\n`apps[].name` is the name of each \
         application, `kinds.*.busy_s` the busy time of each kind of core. A field that is always \
         there may be so within its object only.\n\n{rows}"
    )
}

fn fields(schema: &Value) -> Vec<[String; 4]> {
    let mut rows = Vec::new();
    below(schema, schema, "", &mut rows);
    rows
}

/// The fields of an object, and those below each.
fn below(schema: &Value, object: &Value, path: &str, rows: &mut Vec<[String; 4]>) {
    let properties = object["properties"].as_object().into_iter().flatten();
    for (name, field) in properties {
        let field = resolved(schema, field);
        let path = format!("{path}{name}");
        let required =
            object["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name));
        let always = if required { "yes" } else { "" };
        rows.push([format!("`{path}`"), kind(field), always.into(), text(field, "description")]);
        below(schema, field, &format!("{path}."), rows);
        below(schema, resolved(schema, &field["items"]), &format!("{path}[]."), rows);
        below(
            schema,
            resolved(schema, &field["additionalProperties"]),
            &format!("{path}.*."),
            rows,
        );
    }
}

/// What a `$ref` stands for.
fn resolved<'a>(schema: &'a Value, field: &'a Value) -> &'a Value {
    let Some(name) = field["$ref"].as_str() else { return field };
    let found = name.strip_prefix('#').and_then(|pointer| schema.pointer(pointer));
    found.unwrap_or_else(|| panic!("{PATH}: {name} is not there"))
}

/// `number or null`; of an array or a map, what of.
fn kind(field: &Value) -> String {
    let of = |inner: &Value| {
        inner["type"].as_str().map(|kind| format!(" of {kind}s")).unwrap_or_default()
    };
    match &field["type"] {
        Value::String(kind) => match kind.as_str() {
            "array" => format!("array{}", of(&field["items"])),
            "object" => format!("object{}", of(&field["additionalProperties"])),
            _ => kind.clone(),
        },
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        _ => format!("`{}`", field["const"]),
    }
}

pub fn tests() {
    let schema = serde_json::json!({
        "required": ["a"],
        "properties": {
            "a": { "type": ["number", "null"], "description": "x | y" },
            "b": { "type": "array", "items": { "type": "object", "properties": { "c": { "$ref": "#/$defs/d" } } } },
        },
        "$defs": { "d": { "type": "string" } },
    });
    let expected = [
        ["`a`", "number or null", "yes", "x \\| y"],
        ["`b`", "array of objects", "", ""],
        ["`b[].c`", "string", "", ""],
    ];
    assert_eq!(fields(&schema), expected);
}
