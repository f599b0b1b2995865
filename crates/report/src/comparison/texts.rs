//! The texts of a workload of the user's own, as the canonical spec of a study has them: what is compared when two sides ran
//! other SQL.

/// A line that begins a table of the workload, and one that begins any other.
const WORKLOAD: &str = "[workload.";
const SCRIPTS: &str = "[[workload.scripts]]";
const QUOTES: &str = "'''";

/// Each table of the workload with its text on one line; a script under the name of its file. Empty for other workloads.
pub(super) fn of_workload(spec_toml: &str) -> Vec<(String, String)> {
    let mut tables: Vec<(String, Vec<&str>)> = Vec::new();
    let mut is_quoted = false;
    let mut is_of_workload = false;
    for line in spec_toml.lines() {
        if !is_quoted && line.starts_with('[') {
            is_of_workload = line.starts_with(WORKLOAD) || line == SCRIPTS;
            if is_of_workload {
                let name = line.trim_matches(['[', ']']).to_owned();
                tables.push((name, Vec::new()));
            }
            continue;
        }
        // A text opens at the end of a line and closes at the end of another, and has no such quotes itself.
        is_quoted ^= line.matches(QUOTES).count() % 2 == 1;
        if let Some((_, lines)) = tables.last_mut().filter(|_| is_of_workload) {
            lines.push(line);
        }
    }
    tables.into_iter().map(|(name, lines)| named(name, &lines)).collect()
}

/// The table under its name, a script under that of its file.
fn named(name: String, lines: &[&str]) -> (String, String) {
    let file =
        lines.iter().find_map(|line| line.strip_prefix("file = ")).map(|file| file.trim_matches(['"', '\'']));
    let name = match file.filter(|_| name == "workload.scripts") {
        Some(file) => format!("script {file}"),
        None => name,
    };
    let lines = lines.iter().filter(|line| !line.starts_with("file = "));
    let without_key = lines.map(|line| line.strip_prefix("sql = ").unwrap_or(line).replace(QUOTES, " "));
    let text = without_key.collect::<Vec<_>>().join(" ");
    (name, text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::of_workload;

    #[test]
    fn the_texts_of_a_workload_are_found_in_a_spec_and_brackets_within_them_are_none_of_its_tables() {
        let spec = "name = \"x\"\n\n[workload.schema]\nfile = \"schema.sql\"\nsql = '''\nCREATE TABLE t (\n[workload.no]\n  a int[]);\n'''\n\n\
                    [[workload.scripts]]\nweight = 9\nfile = \"a.sql\"\nsql = \"SELECT 1\"\n\n[parameters]\nrate = 5\n";
        let found = of_workload(spec);
        let expected = [
            ("workload.schema".to_owned(), "CREATE TABLE t ( [workload.no] a int[]);".to_owned()),
            ("script a.sql".to_owned(), "weight = 9 \"SELECT 1\"".to_owned()),
        ];
        assert_eq!(found, expected);
        assert_eq!(of_workload("name = \"x\"\n[factors]\nkey = [1]\n"), []);
    }
}
