//! The session with curl in the chapter "A service" of the guide. The test runs the commands of the
//! session, and compares the answers. Etags, tokens and times differ in each run of the test, so
//! the test replaces the values in the commands by the values of its own run.

use std::process::Stdio;

use tokio::{net::TcpListener, process::Command};

use crate::support::Service;

const CHAPTER: &str = include_str!("../../../../docs/src/service.md");
const DOCUMENTED: &str = "http://127.0.0.1:8080";

/// The values that differ in each run: the text before each value, and the character after the
/// value.
const VARYING: [(&str, char); 9] = [
    ("\netag: \"", '"'),
    ("\nx-request-id: ", '\n'),
    ("\ndate: ", '\n'),
    ("\nretry-after: ", '\n'),
    ("\ncontent-length: ", '\n'),
    ("\"token\":\"", '"'),
    ("\"fence\":", ','),
    ("\"seconds\":", ','),
    ("\"placed_at\":", '}'),
];

/// A command of the chapter with its answer.
struct Step {
    command: String,
    answer: String,
}

/// Returns the steps of all sessions in a chapter.
fn steps(chapter: &str) -> Vec<Step> {
    let blocks = chapter.split("```console").skip(1).filter_map(|rest| rest.split_once("\n```"));
    let steps = blocks.flat_map(|(block, _)| block.split("\n$ ").skip(1));
    let step = |text: &str| {
        let (command, answer) = text.split_once('\n').unwrap_or((text, ""));
        Step { command: command.to_owned(), answer: answer.to_owned() }
    };
    steps.map(step).collect()
}

/// Returns the answer with its varying values removed, and a list of the varying values.
fn masked(answer: &str) -> (String, Vec<String>) {
    let mut rest = format!("\n{answer}\n");
    let (mut text, mut values) = (String::new(), Vec::new());
    while let Some((at, end)) = next_value(&rest) {
        let length = rest[at..].find(end).unwrap();
        text.push_str(&rest[..at]);
        text.push('*');
        values.push(rest[at..at + length].to_owned());
        rest = rest[at + length..].to_owned();
    }
    (text + &rest, values)
}

/// Returns the place of the next varying value, and the character after the value.
fn next_value(text: &str) -> Option<(usize, char)> {
    let places = VARYING.iter().filter_map(|(before, end)| text.find(before).map(|at| (at + before.len(), *end)));
    places.min()
}

async fn run(command: &str) -> String {
    let output = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).output().await.unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().replace('\r', "").trim_end().to_owned()
}

#[tokio::test]
async fn the_session_of_the_chapter_is_true() {
    if Command::new("curl").arg("--version").output().await.is_err() {
        eprintln!("no curl was found, so the session of the chapter was not tried");
        return;
    }
    let service = Service::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, service.router.clone()).into_future());

    let steps = steps(CHAPTER);
    assert!(steps.len() > 10, "the chapter has a session");
    // Pairs of a value in the chapter and the value that replaces it in this run of the test.
    let mut known = vec![(DOCUMENTED.to_owned(), url)];
    for Step { command, answer } in steps {
        let put_in = |command: String, (documented, real): &(String, String)| command.replace(documented, real);
        let found = run(&known.iter().fold(command.clone(), put_in)).await;
        let ((expected, documented), (found, real)) = (masked(&answer), masked(&found));
        assert_eq!(found, expected, "{command}");
        let is_text = |(documented, _): &(String, String)| documented.contains(char::is_alphabetic);
        known.extend(documented.into_iter().zip(real).filter(is_text));
    }
}
