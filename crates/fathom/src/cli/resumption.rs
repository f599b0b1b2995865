//! The command that resumes a study: the one that was typed, with the seed of the study instead of `--again`, and without
//! what was needed to start it.

use std::ffi::OsString;

use results::redaction::{HIDDEN, redacted};

/// Turns the words of a command line into the command that resumes the study with this seed. A password in a URL is
/// left out, and `PGPASSWORD` stands for it.
pub(crate) fn command(words: impl IntoIterator<Item = OsString>, seed: u64) -> String {
    let mut words = words.into_iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    let mut kept: Vec<String> = Vec::new();
    let mut has_password = false;
    while let Some(word) = words.next() {
        match word.as_str() {
            // What resumes was accepted before.
            "--again" | "--anyway" | "--yes" | "-y" => {}
            "--seed" | "--random-seed" => drop(words.next()),
            _ if word.starts_with("--seed=") || word.starts_with("--random-seed=") => {}
            _ => {
                let open = without_password(&word);
                has_password |= open != word;
                kept.push(quoted(&open));
            }
        }
    }
    let password = if has_password { "PGPASSWORD=... " } else { "" };
    format!("{password}fathom {} --seed {seed}", kept.join(" "))
}

/// `postgres://user:secret@host` as `postgres://user@host`, and without a parameter that is a password.
fn without_password(word: &str) -> String {
    let hidden = redacted(word).replace(&format!(":{HIDDEN}@"), "@");
    let Some((address, options)) = hidden.split_once('?') else { return hidden };
    let is_open = |option: &&str| !option.ends_with(&format!("={HIDDEN}"));
    let options: Vec<&str> = options.split('&').filter(|option| !option.is_empty()).filter(is_open).collect();
    let mark = if options.is_empty() { "" } else { "?" };
    format!("{address}{mark}{}", options.join("&"))
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./:,@%+~".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::command;

    fn of(line: &[&str]) -> String {
        command(line.iter().map(std::ffi::OsString::from), 7)
    }

    #[test]
    fn the_seed_of_the_study_takes_the_place_of_again_and_of_other_seeds() {
        assert_eq!(of(&["fathom", "run", "x.toml", "--again"]), "fathom run x.toml --seed 7");
        assert_eq!(of(&["/bin/fathom", "run", "--seed", "3", "x", "--mini"]), "fathom run x --mini --seed 7");
        assert_eq!(of(&["fathom", "run", "--seed=3", "x"]), "fathom run x --seed 7");
        assert_eq!(of(&["fathom", "run", "--random-seed", "3", "x.sql"]), "fathom run x.sql --seed 7");
        assert_eq!(of(&["fathom", "run", "x", "--anyway", "-y"]), "fathom run x --seed 7");
    }

    #[test]
    fn words_are_quoted_and_no_password_is_printed() {
        assert_eq!(of(&["fathom", "run", "my spec.toml"]), "fathom run 'my spec.toml' --seed 7");
        assert_eq!(
            of(&["fathom", "run", "x", "-t", "postgres://me:se:cret@db/postgres?sslmode=require"]),
            "PGPASSWORD=... fathom run x -t 'postgres://me@db/postgres?sslmode=require' --seed 7"
        );
        assert_eq!(
            of(&["fathom", "run", "x", "-t", "postgres://db/x?password=secret&sslmode=require"]),
            "PGPASSWORD=... fathom run x -t 'postgres://db/x?sslmode=require' --seed 7"
        );
        assert_eq!(of(&["fathom", "run", "-t", "postgres://db/x"]), "fathom run -t postgres://db/x --seed 7");
    }
}
