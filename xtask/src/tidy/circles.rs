//! How many files of a crate may depend on each other in a circle.
//!
//! The order of the rooms (`imports`) says nothing about the files of one room. Here every file of a crate
//! that is not one of tests is a node, with an edge to each file that holds an item it names. Declarations
//! `mod x;` are not imports. A re-export is followed to the file that holds the item, and counts for the file
//! that re-exports only if the name occurs there a second time. Files that reach each other are a *component*
//! (Tarjan 1972, "Depth-first search and linear graph algorithms"). To read one of them, one has to read all,
//! so a component must be small. A file and the files below it (`x.rs` and `x/`) are one subject, and may
//! need each other. Files of which neither is above the other are two, so a circle of them is counted without
//! the edges up and down.
//!
//! What paths do not show is not seen: a method that another file defines for a type, and what macros put
//! together.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use anyhow::{Context, Result};

use super::paths::{Names, Used, is_of_tests, module_of, used_paths};
use super::problem::Problem;
use super::source::{Source, is_word, line_of};

/// The most files of one component.
const LARGEST: usize = 3;
/// The most files of a component of which none is above another: there are no circles of such files.
const LARGEST_BESIDE: usize = 1;

/// A file as other files see it.
struct File {
    /// From the root of the checkout.
    path: String,
    /// Without what is built for tests only.
    code: Vec<char>,
    /// The same without its `use` declarations.
    body: Vec<char>,
    /// Names that are modules here: children, and imported modules.
    names: Names,
    /// The items that it declares itself.
    defines: BTreeSet<String>,
    /// The names that its `use` declarations introduce. `None` is outside this crate.
    imports: BTreeMap<String, Option<Vec<String>>>,
    /// Modules of which it imports everything.
    globs: Vec<Vec<String>>,
}

/// The files of one crate by their modules. The root's path is empty.
type Files = BTreeMap<Vec<String>, File>;

/// For each file the files that it uses, with the first line that does so.
type Graph = BTreeMap<Vec<String>, BTreeMap<Vec<String>, usize>>;

pub(super) fn check(root: &Path, files: &[String], problems: &mut Vec<Problem>) -> Result<()> {
    let mut crates: BTreeMap<&str, Vec<(String, String)>> = BTreeMap::new();
    for file in files {
        let Some((krate, _)) = module_of(file) else { continue };
        let text = std::fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"))?;
        crates.entry(krate).or_default().push((file.clone(), text));
    }
    for sources in crates.values() {
        check_crate(sources, problems);
    }
    Ok(())
}

/// Refuses the components of a crate that are too large.
fn check_crate(sources: &[(String, String)], problems: &mut Vec<Problem>) {
    let files = read_files(sources);
    let graph = graph_of(&files);
    refuse(&files, &beside(&graph), LARGEST_BESIDE, problems);
    refuse(&files, &graph, LARGEST, problems);
}

/// The edges between files of which neither is above the other.
fn beside(graph: &Graph) -> Graph {
    let is_beside = |one: &[String], other: &[String]| !one.starts_with(other) && !other.starts_with(one);
    let of_file = |(module, uses): (&Vec<String>, &BTreeMap<Vec<String>, usize>)| {
        let others = uses.iter().filter(|(other, _)| is_beside(module, other));
        (module.clone(), others.map(|(other, line)| (other.clone(), *line)).collect())
    };
    graph.iter().map(of_file).collect()
}

/// Refuses the components of more than `limit` files.
fn refuse(files: &Files, graph: &Graph, limit: usize, problems: &mut Vec<Problem>) {
    let path = |module: &Vec<String>| files[module].path.as_str();
    for component in components(graph).iter().filter(|component| component.len() > limit) {
        let paths: Vec<&str> = component.iter().map(path).collect();
        let circle: Vec<String> = circle_through(graph, component)
            .iter()
            .map(|(module, line)| format!("{}:{line}", path(module)))
            .collect();
        let message = format!(
            "{} files need each other in circles, the limit is {limit}: {}; one circle is {} -> {}: move what \
             two of them share into a file below both",
            paths.len(),
            paths.join(", "),
            circle.join(" -> "),
            paths[0],
        );
        problems.push(Problem::new(paths[0], 1, message));
    }
}

fn read_files(sources: &[(String, String)]) -> Files {
    let modules: Vec<(Vec<String>, &str, &str)> = sources
        .iter()
        .filter_map(|(path, text)| Some((module_of(path)?.1, path.as_str(), text.as_str())))
        .filter(|(module, _, _)| !is_of_tests(module))
        .collect();
    let has_library = modules.iter().any(|(module, _, _)| *module == ["lib"]);
    let mut files = Files::new();
    for (mut module, path, text) in modules {
        if module == ["lib"] || (module == ["main"] && !has_library) {
            module.clear();
        }
        let code = without_tests(&Source::scan(text).code);
        let names = children(&code, &module);
        let defines = defined(&code);
        let (body, imports) = split_uses(&code);
        let path = path.to_owned();
        files.insert(module, File { path, code, body, names, defines, imports, globs: Vec::new() });
    }
    let modules: Vec<Vec<String>> = files.keys().cloned().collect();
    for module in &modules {
        let file = files.get_mut(module).expect("it is one of them");
        for Used { path, import, .. } in used_paths(&file.code, module, &file.names) {
            let Some(import) = import else { continue };
            if import.name == "*" {
                file.globs.push(path);
            } else {
                if modules.contains(&path) {
                    file.names.insert(import.name.clone(), path.clone());
                }
                file.imports.insert(import.name, Some(path));
            }
        }
    }
    files
}

/// Code without the items after `#[cfg(test)]`, in place.
pub(super) fn without_tests(code: &[char]) -> Vec<char> {
    let mut code = code.to_vec();
    let marker: Vec<char> = "#[cfg(test)]".chars().collect();
    let mut at = 0;
    while at + marker.len() <= code.len() {
        if code[at..at + marker.len()] != marker[..] {
            at += 1;
            continue;
        }
        let end = end_of_item(&code, at + marker.len());
        for c in &mut code[at..end] {
            *c = if *c == '\n' { '\n' } else { ' ' };
        }
        at = end;
    }
    code
}

/// The position after the `;` or the closing brace of the item that starts at `from`.
fn end_of_item(code: &[char], from: usize) -> usize {
    let mut depth = 0_i32;
    for (i, &c) in code.iter().enumerate().skip(from) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' => depth -= 1,
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return i + 1;
                }
            }
            ';' if depth == 0 => return i + 1,
            _ => {}
        }
    }
    code.len()
}

/// The words of the code, with their positions.
fn words(code: &[char]) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for (i, &c) in code.iter().enumerate() {
        match found.last_mut() {
            Some((start, word)) if is_word(c) && i > 0 && is_word(code[i - 1]) && *start < i => word.push(c),
            _ if is_word(c) => found.push((i, c.to_string())),
            _ => {}
        }
    }
    found
}

/// The modules that `mod x;` declares.
pub(super) fn children(code: &[char], module: &[String]) -> Names {
    let words = words(code);
    let mut names = Names::from([("self".to_owned(), module.to_vec())]);
    for pair in words.windows(2) {
        let end = pair[1].0 + pair[1].1.chars().count();
        if pair[0].1 == "mod" && code.get(end) == Some(&';') {
            let mut path = module.to_vec();
            path.push(pair[1].1.clone());
            names.insert(pair[1].1.clone(), path);
        }
    }
    names
}

/// The names of the items that a file declares.
fn defined(code: &[char]) -> BTreeSet<String> {
    const KEYWORDS: &[&str] =
        &["struct", "enum", "union", "trait", "fn", "type", "const", "static", "mut", "mod", "macro_rules"];
    let words = words(code);
    let follows = |pair: &&[(usize, String)]| KEYWORDS.contains(&pair[0].1.as_str());
    words.windows(2).filter(follows).map(|pair| pair[1].1.clone()).collect()
}

/// The code without its `use` declarations, and the names that these give to imported items.
fn split_uses(code: &[char]) -> (Vec<char>, BTreeMap<String, Option<Vec<String>>>) {
    let mut body = code.to_vec();
    let mut imports = BTreeMap::new();
    for (start, word) in words(code) {
        let begins = word == "use" && code.get(start + 3).is_some_and(|c| c.is_whitespace());
        if begins {
            let end = (start..code.len()).find(|&i| code[i] == ';').unwrap_or(code.len());
            for (at, name) in words(&code[start..end]) {
                let is_leaf = code[start + at + name.chars().count()..].first() != Some(&':');
                if is_leaf {
                    imports.insert(name, None);
                }
            }
            body[start..end].fill(' ');
        }
    }
    (body, imports)
}

fn graph_of(files: &Files) -> Graph {
    let mut graph = Graph::new();
    for (module, file) in files {
        let mut uses: BTreeMap<Vec<String>, usize> = BTreeMap::new();
        for used in used_paths(&file.code, module, &file.names) {
            if used.import.as_ref().is_some_and(|import| !counts(file, files, &used.path, import)) {
                continue;
            }
            if let Some(target) = holder(files, &used.path).filter(|target| target != module) {
                uses.entry(target).or_insert_with(|| line_of(&file.code, used.at));
            }
        }
        graph.insert(module.clone(), uses);
    }
    graph
}

/// Whether an import counts as a use by itself. That of a module does not, because its items count where they
/// are named, nor does a re-export of what the file itself does not need.
fn counts(file: &File, files: &Files, path: &[String], import: &super::paths::Import) -> bool {
    if import.name == "*" {
        return !import.is_public;
    }
    if files.contains_key(path) {
        return false;
    }
    !import.is_public || words(&file.body).iter().any(|(_, word)| *word == import.name)
}

/// The file that holds what a path names, through re-exports.
fn holder(files: &Files, path: &[String]) -> Option<Vec<String>> {
    let mut path = path.to_vec();
    // No chain of re-exports is longer. A cyclic one ends here.
    for _ in 0..16 {
        let length = (0..=path.len()).rev().find(|&length| files.contains_key(&path[..length]))?;
        let (module, rest) = path.split_at(length);
        let Some(item) = rest.first() else { return Some(module.to_vec()) };
        let file = &files[module];
        if file.defines.contains(item) {
            return Some(module.to_vec());
        }
        match file.imports.get(item) {
            Some(None) => return None,
            Some(Some(import)) => path = import.iter().chain(&rest[1..]).cloned().collect(),
            None => {
                let declares =
                    |glob: &&Vec<String>| files.get(*glob).is_some_and(|file| file.defines.contains(item));
                let glob = file.globs.iter().find(declares);
                return Some(glob.map_or(module, |glob| glob).to_vec());
            }
        }
    }
    None
}

/// Tarjan's algorithm.
#[derive(Default)]
struct Search {
    order: BTreeMap<Vec<String>, usize>,
    lowest: BTreeMap<Vec<String>, usize>,
    stack: Vec<Vec<String>>,
    found: Vec<Vec<Vec<String>>>,
}

/// The components of more than one file, each in order.
fn components(graph: &Graph) -> Vec<Vec<Vec<String>>> {
    let mut search = Search::default();
    for module in graph.keys() {
        if !search.order.contains_key(module) {
            search.visit(graph, module);
        }
    }
    let mut found = search.found;
    found.retain(|component| component.len() > 1);
    found
}

impl Search {
    fn visit(&mut self, graph: &Graph, module: &Vec<String>) {
        let own = self.order.len();
        self.order.insert(module.clone(), own);
        self.stack.push(module.clone());
        let mut lowest = own;
        for used in graph[module].keys() {
            if !self.order.contains_key(used) {
                self.visit(graph, used);
                lowest = lowest.min(self.lowest[used]);
            } else if self.stack.contains(used) {
                lowest = lowest.min(self.order[used]);
            }
        }
        self.lowest.insert(module.clone(), lowest);
        if lowest == own {
            let start = self.stack.iter().position(|other| other == module).expect("it was put there");
            let mut component = self.stack.split_off(start);
            component.sort();
            self.found.push(component);
        }
    }
}

/// A shortest circle through the first file of a component: files, each with the line that uses the next.
fn circle_through<'a>(graph: &'a Graph, component: &'a [Vec<String>]) -> Vec<(&'a Vec<String>, usize)> {
    let start = &component[0];
    let mut came_from: BTreeMap<&Vec<String>, &Vec<String>> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(module) = open.pop_front() {
        for used in graph[module].keys() {
            if used == start {
                let mut circle = vec![(module, graph[module][start])];
                while let Some(&before) = came_from.get(circle[circle.len() - 1].0) {
                    circle.push((before, graph[before][circle[circle.len() - 1].0]));
                }
                circle.reverse();
                return circle;
            }
            if component.contains(used) && !came_from.contains_key(used) {
                came_from.insert(used, module);
                open.push_back(used);
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
