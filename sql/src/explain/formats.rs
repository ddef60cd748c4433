//! The formats XML and YAML of EXPLAIN, made of the value that its JSON format shows.
//!
//! Reference: `ExplainOpenGroup`, `escape_xml` and `escape_yaml` of PostgreSQL 15's explain.c.

use serde_json::{Map, Value};

/// What the first level of the value is called in XML.
const NAMESPACE: &str = "http://www.postgresql.org/2009/explain";

pub(super) fn xml(query: &Value) -> String {
    let mut out = format!("<explain xmlns=\"{NAMESPACE}\">\n");
    xml_element("Query", query, 1, &mut out);
    out.push_str("</explain>");
    out
}

fn xml_element(name: &str, value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    let tag = name.replace(' ', "-");
    let children: Vec<(&str, &Value)> = match value {
        Value::Object(object) => members(object),
        Value::Array(items) => items.iter().map(|item| (item_name(name, item), item)).collect(),
        other => {
            out.push_str(&format!("{indent}<{tag}>{}</{tag}>\n", xml_text(&scalar(other))));
            return;
        }
    };
    out.push_str(&format!("{indent}<{tag}>\n"));
    for (name, child) in children {
        xml_element(name, child, depth + 1, out);
    }
    out.push_str(&format!("{indent}</{tag}>\n"));
}

/// The members of an object: what it is comes first, and what is below it last.
fn members(object: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut members: Vec<(&str, &Value)> =
        object.iter().map(|(name, value)| (name.as_str(), value)).collect();
    members.sort_by_key(|(name, _)| match *name {
        "Plan" | "Node Type" => 0,
        "Plans" => 2,
        _ => 1,
    });
    members
}

/// What an item of a list of this name is called.
fn item_name<'a>(list: &'a str, item: &Value) -> &'a str {
    if item.is_object() { list.strip_suffix('s').unwrap_or(list) } else { "Item" }
}

fn xml_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\r', "&#x0d;")
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn yaml(query: &Value) -> String {
    let mut out = String::new();
    yaml_item(query, 0, &mut out);
    out.trim_end_matches('\n').to_owned()
}

/// An item of a list, whose mark stands in front of its first line.
fn yaml_item(item: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match item {
        Value::Object(object) => {
            for (number, (name, value)) in members(object).into_iter().enumerate() {
                let mark = if number == 0 { "- " } else { "  " };
                yaml_member(name, value, (&format!("{indent}{mark}"), depth + 1), out);
            }
        }
        other => out.push_str(&format!("{indent}- {}\n", yaml_scalar(other))),
    }
}

fn yaml_member(name: &str, value: &Value, (start, depth): (&str, usize), out: &mut String) {
    match value {
        Value::Object(object) => {
            out.push_str(&format!("{start}{name}: \n"));
            let indent = "  ".repeat(depth + 1);
            for (name, value) in members(object) {
                yaml_member(name, value, (&indent, depth + 1), out);
            }
        }
        Value::Array(items) => {
            out.push_str(&format!("{start}{name}: \n"));
            items.iter().for_each(|item| yaml_item(item, depth + 1, out));
        }
        other => out.push_str(&format!("{start}{name}: {}\n", yaml_scalar(other))),
    }
}

/// Texts are quoted as in JSON, which YAML contains.
fn yaml_scalar(value: &Value) -> String {
    value.to_string()
}
