//! The sessions and tables of the guide's chapter.

use std::{collections::BTreeSet, fs, path::Path};

use aws_sdk_dynamodb::types::AttributeValue;
use tokio::process::Command;

use crate::support::{Engine, LONG, Product, command, environment, masked, masked_json, recorder::Recorder, run};

fn chapter() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/command_line.md");
    fs::read_to_string(path).unwrap()
}

/// Returns the commands of the chapter, each with its output.
fn sessions(chapter: &str) -> Vec<(String, String)> {
    let blocks = chapter.split("```console\n$ ").skip(1).map(|rest| rest.split("\n```").next().unwrap());
    let commands = blocks.flat_map(|block| block.split("\n$ "));
    commands
        .map(|command| command.split_once('\n').unwrap_or((command, "")))
        .map(|(command, output)| (command.to_owned(), output.to_owned()))
        .collect()
}

/// Starts an engine with the locks and the item of the chapter.
async fn engine() -> (Engine, impl Sized) {
    let engine = Engine::with_locks().await;
    engine.hold_until_past("import", "worker-9").await;
    engine.hold("nightly-report", "worker-7").await;
    let locks = engine.locks().wait(LONG);
    let ann = locks.acquire("printer").owner("ann").fair().await.unwrap();
    let bob = locks.acquire("printer").owner("bob").fair().enter().await.unwrap();
    let cy = locks.acquire("printer").owner("cy").fair().enter().await.unwrap();

    let products = Product::repository(&engine.client);
    products.create_table().await.unwrap();
    let product = Product { sku: "85123A".to_owned(), stock: 10, sold_until: Some(4_102_444_800) };
    products.create(product).await.unwrap();
    products.update_with("85123A", |product| product.stock -= 4).await.unwrap();
    products.patch("85123A").add(Product::ATTR.stock, 1).await.unwrap();
    // An item of another program, which has a version and no write ids.
    let lamp = [("sku", AttributeValue::S("lamp".to_owned())), ("_version", AttributeValue::N("2".to_owned()))];
    let lamp = lamp.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    engine.client.put_item().table_name("products").set_item(Some(lamp)).send().await.unwrap();
    (engine, (ann, bob, cy))
}

/// Runs a command of the chapter. Returns its output, and its exit code if it has one.
async fn output_of(engine: &Engine, command: &str, lines: usize) -> (String, i32) {
    let args = command.strip_prefix("dynalock ").unwrap();
    if args.contains(" watch ") {
        let mut terminal = engine.in_terminal(args, [u16::try_from(lines).unwrap(), 80]);
        let screen = terminal.until("q quit").await;
        terminal.write("q").await;
        return (screen, terminal.end().await.code().unwrap());
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$0\" \"$@\" 2>&1", env!("CARGO_BIN_EXE_dynalock")]).args(args.split_whitespace());
    let run = run(shell.env_clear().envs(environment()).env("AWS_ENDPOINT_URL", engine.server.url())).await;
    (run.stdout.trim_end().to_owned(), run.code)
}

#[tokio::test]
async fn the_sessions_of_the_guide_are_real() {
    let (engine, _queue) = engine().await;
    let (mut code, mut count) = (0, 0);
    for (command, expected) in sessions(&chapter()) {
        let output = match command.as_str() {
            "echo $?" => code.to_string(),
            command => {
                let (output, ended) = output_of(&engine, command, expected.lines().count()).await;
                code = ended;
                output
            }
        };
        match command.ends_with(" --json") {
            true => assert_eq!(masked_json(&output), masked_json(&expected), "$ {command}\n{output}"),
            false => assert_eq!(masked(&output), masked(&expected), "$ {command}\n{output}"),
        }
        count += 1;
    }
    assert_eq!(count, 20);
}

/// Returns the cells of the table under a heading.
fn table(heading: &str) -> Vec<(String, String)> {
    let chapter = chapter();
    let rows = chapter.lines().skip_while(|line| *line != heading).skip_while(|line| !line.starts_with('|'));
    let cells = |row: &str| {
        let (left, right) = row.trim_matches('|').split_once('|').unwrap();
        (left.trim().to_owned(), right.trim().to_owned())
    };
    let table: Vec<_> = rows.take_while(|line| line.starts_with('|')).skip(2).map(cells).collect();
    assert!(!table.is_empty(), "no table under {heading}");
    table
}

/// Returns a complete command for a command of the table.
fn example(command: &str) -> &'static str {
    match command {
        "locks list" => "locks list locks",
        "locks watch" => "locks watch locks",
        "locks show" => "locks show locks printer",
        "queue watch" => "queue watch locks printer",
        "locks break" => "locks break locks nightly-report --yes",
        "item show" => "item show products 85123A",
        "item history" => "item history products 85123A",
        "table create" => "table create orders --partition-key id:S --ttl expires_at",
        "table create --locks" => "table create --locks more-locks",
        "table verify" => "table verify products --partition-key sku:S",
        "doctor" => "doctor",
        "doctor --table" => "doctor --table locks",
        other => panic!("the chapter has a row that no test measures: {other}"),
    }
}

/// Runs a command behind the recorder, and returns its requests.
async fn requests_of(engine: &Engine, recorder: &Recorder, url: &str, args: &str) -> String {
    recorder.take();
    let args = format!("{args} --endpoint-url {url}");
    if args.contains(" watch ") {
        let mut terminal = engine.in_terminal(&args, [10, 80]);
        terminal.until("q quit").await;
        terminal.write("q").await;
        assert_eq!(terminal.end().await.code(), Some(0));
    } else {
        assert_eq!(engine.run(&args).await.code, 0, "{args}");
    }
    recorder.take()
}

#[tokio::test]
async fn the_commands_send_the_actions_of_the_guide() {
    let (engine, _queue) = engine().await;
    let recorder = Recorder::default();
    let url = recorder.start(&engine).await;
    for (commands, actions) in table("## Actions of the commands") {
        let listed = |cell: &str| cell.split(", ").map(|name| name.trim_matches('`').to_owned()).collect::<Vec<_>>();
        for command in listed(&commands) {
            let requests = requests_of(&engine, &recorder, &url, example(&command)).await;
            let targets = requests.split("DynamoDB_20120810.").skip(1).filter_map(|rest| rest.split("\r\n").next());
            let sent: BTreeSet<_> = targets.map(str::to_owned).collect();
            assert_eq!(sent, listed(&actions).into_iter().collect(), "{command}");
        }
    }
}

#[tokio::test]
async fn the_reads_of_watch_are_as_consistent_as_the_guide_says() {
    let (engine, _queue) = engine().await;
    let recorder = Recorder::default();
    let url = recorder.start(&engine).await;
    for (command, is_consistent) in [("locks watch", false), ("queue watch", true)] {
        let requests = requests_of(&engine, &recorder, &url, example(command)).await;
        assert_eq!(requests.contains("\"ConsistentRead\":true"), is_consistent, "{command}: {requests}");
    }
}

#[tokio::test]
async fn the_exit_codes_of_the_guide_are_those_of_the_help() {
    let help = run(&mut command("--help")).await.stdout;
    for (code, meaning) in
        table("A message about a failure is one line on stderr. The exit code shows the kind of the failure:")
    {
        assert!(help.contains(&format!("\n  {code}  {meaning}\n")), "{code} {meaning}");
    }
}
