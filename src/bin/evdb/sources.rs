//! From what was typed to the files that are read.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;

use crate::failure::Failure;

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub path: PathBuf,
    /// What its key is relative to.
    pub root: PathBuf,
    /// Whether it was named, rather than met in a folder: then it must be readable.
    pub named: bool,
}

/// The files at `paths`, each once: those named as they are, those of folders and globs by ascending path.
/// `.evdb` files and hidden ones are not met in folders.
pub fn find(paths: &[PathBuf], root: Option<&Path>) -> Result<Vec<Source>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        let name = path.display();
        if path.is_dir() {
            walk(path, None, root, &mut found)?;
        } else if path.exists() {
            let parent = path.parent().unwrap_or(Path::new(""));
            let root = root.unwrap_or(parent).to_path_buf();
            found.push(Source { path: path.clone(), root, named: true });
        } else if let Some((base, pattern)) = glob(path) {
            let before = found.len();
            walk(&base, Some(&pattern), root, &mut found)?;
            if found.len() == before {
                return Err(Failure::hinted(
                    format!("no file matches {name}"),
                    "* stands for anything within one name, ** for folders in between",
                ));
            }
        } else {
            return Err(Failure::hinted(format!("there is no file or folder {name}"), "check the spelling"));
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|source| seen.insert(source.path.clone()));
    distinct_keys(&found)?;
    Ok(found)
}

fn walk(
    base: &Path,
    pattern: Option<&str>,
    root: Option<&Path>,
    found: &mut Vec<Source>,
) -> Result<(), Failure> {
    let bad = |error: ignore::Error| Failure::Error(error.to_string(), None);
    let mut walk = WalkBuilder::new(base);
    walk.standard_filters(false).follow_links(true);
    // Not the walker's own switch: a pattern that matches would overrule it.
    walk.filter_entry(|entry| entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b"."));
    if let Some(pattern) = pattern {
        let mut only = OverrideBuilder::new(base);
        // A leading slash ties the pattern to the base.
        only.add(&format!("/{pattern}")).map_err(bad)?;
        walk.overrides(only.build().map_err(bad)?);
    }
    walk.sort_by_file_path(Path::cmp);
    for entry in walk.build() {
        let entry = entry.map_err(bad)?;
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        if is_file && entry.path().extension().is_none_or(|extension| extension != "evdb") {
            let root = root.unwrap_or(base).to_path_buf();
            found.push(Source { path: entry.into_path(), root, named: false });
        }
    }
    Ok(())
}

/// A path with wildcards as the folder before them and the pattern below it.
fn glob(path: &Path) -> Option<(PathBuf, String)> {
    let is_pattern = |part: &Component<'_>| {
        part.as_os_str().to_str().is_some_and(|name| name.contains(['*', '?', '[', '{']))
    };
    let parts: Vec<Component<'_>> = path.components().collect();
    let first = parts.iter().position(is_pattern)?;
    let (base, pattern) = parts.split_at(first);
    let base: PathBuf = base.iter().collect();
    let pattern: Option<Vec<&str>> = pattern.iter().map(|part| part.as_os_str().to_str()).collect();
    let base = if base.as_os_str().is_empty() { PathBuf::from(".") } else { base };
    base.is_dir().then_some((base, pattern?.join("/")))
}

/// Two files of one key would take turns in replacing each other.
fn distinct_keys(sources: &[Source]) -> Result<(), Failure> {
    let mut keys: BTreeMap<&Path, &Path> = BTreeMap::new();
    for source in sources {
        let key = source.path.strip_prefix(&source.root).unwrap_or(&source.path);
        if let Some(other) = keys.insert(key, &source.path) {
            return Err(Failure::hinted(
                format!(
                    "{} and {} would both have the key {:?}",
                    other.display(),
                    source.path.display(),
                    key.display().to_string()
                ),
                "give a folder that holds both with --root, such as --root .",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["b.md", "a.md", "x.evdb", ".hidden.md", "sub/a.md", "sub/c.txt"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "text").expect("a file");
        }
        folder
    }

    fn names(folder: &Path, paths: &[&str]) -> Vec<String> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| folder.join(path)).collect();
        let found = find(&paths, None).expect("they are there");
        found
            .iter()
            .map(|source| {
                source.path.strip_prefix(&source.root).expect("below its root").display().to_string()
            })
            .collect()
    }

    #[test]
    fn folders_are_read_in_order_without_databases_and_hidden_files() {
        let folder = folder();

        assert_eq!(names(folder.path(), &[""]), ["a.md", "b.md", "sub/a.md", "sub/c.txt"]);
        assert_eq!(names(folder.path(), &["sub/c.txt", "b.md"]), ["c.txt", "b.md"]);
    }

    #[test]
    fn a_star_stays_within_one_folder_and_two_go_below() {
        let folder = folder();

        assert_eq!(names(folder.path(), &["*.md"]), ["a.md", "b.md"]);
        assert_eq!(names(folder.path(), &["**/*.md"]), ["a.md", "b.md", "sub/a.md"]);
        assert_eq!(names(folder.path(), &["s*/?.txt"]), ["sub/c.txt"]);
    }

    #[test]
    fn two_files_of_one_key_are_refused_unless_a_root_tells_them_apart() {
        let folder = folder();
        let paths = [folder.path().join("a.md"), folder.path().join("sub/a.md")];

        assert!(matches!(find(&paths, None), Err(Failure::Error(..))));
        assert_eq!(find(&paths, Some(folder.path())).expect("a root").len(), 2);
    }
}
