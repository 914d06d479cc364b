//! Colours, pipes and mistakes on the command line.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};

use crate::support::{Engine, Product, command, run};

#[tokio::test]
async fn a_pipe_gets_no_colours_unless_they_are_wanted() {
    let engine = Engine::with_locks().await;
    engine.hold("report", "worker-7").await;
    let plain = engine.run("locks list locks").await;
    assert!(!plain.stdout.contains('\u{1b}'), "{plain:?}");
    let coloured = engine.run("locks list locks --color always").await;
    assert!(coloured.stdout.contains("\u{1b}[32mheld\u{1b}[0m"), "{coloured:?}");
}

#[tokio::test]
async fn a_closed_pipe_ends_the_command_without_a_message() {
    let engine = Engine::with_locks().await;
    let mut command = engine.command("locks watch locks --json --interval 0.1");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    assert!(line.contains("\"locks\":[]"), "{line}");
    drop(lines);
    let ended = child.wait_with_output().await.unwrap();
    assert_eq!((ended.status.code(), String::from_utf8(ended.stderr).unwrap()), (Some(0), String::new()));
}

#[tokio::test]
async fn a_mistake_on_the_command_line_has_its_exit_code() {
    for args in ["", "locks", "locks list", "table create t", "table create t --partition-key id:X", "no-such-command"]
    {
        assert_eq!(run(&mut command(args)).await.code, 2, "{args}");
    }
    let engine = Engine::with_locks().await;
    let run = engine.run("locks watch locks").await;
    assert_eq!(run.failed_with(2), "`watch` needs a terminal; add --json to print a line for each update");
}

#[tokio::test]
async fn the_help_lists_the_exit_codes() {
    let help = run(&mut command("--help")).await;
    assert_eq!(help.code, 0);
    for code in 0..=5 {
        assert!(help.stdout.contains(&format!("\n  {code}  ")), "{code}: {}", help.stdout);
    }
}

#[tokio::test]
async fn an_unusable_configuration_is_explained() {
    let engine = Engine::with_locks().await;
    let told = async |command: &mut tokio::process::Command| run(command).await.failed_with(1).to_owned();
    for args in ["locks list locks", "item show locks report"] {
        let without_region = told(engine.command(args).env_remove("AWS_REGION")).await;
        assert!(without_region.starts_with("no Region ("), "{args}: {without_region}");
        assert!(without_region.ends_with("add --region, or set AWS_REGION"), "{args}: {without_region}");
        let without_keys = told(engine.command(args).env_remove("AWS_ACCESS_KEY_ID")).await;
        assert!(without_keys.starts_with("no credentials ("), "{args}: {without_keys}");
        assert!(without_keys.contains("--profile"), "{args}: {without_keys}");
    }
}

#[tokio::test]
async fn a_server_that_is_gone_is_named_with_advice() {
    let advice = "check --endpoint-url, --region and the network";
    let run = run(command("item show products 85123A").env("AWS_ENDPOINT_URL", "http://127.0.0.1:9")).await;
    let message = run.failed_with(1);
    assert!(message.starts_with("no usable answer: ") && message.ends_with(advice), "{message}");
}

#[tokio::test]
async fn the_options_of_the_connection_overrule_the_environment() {
    let engine = Engine::with_locks().await;
    let mut command = command(&format!("--endpoint-url {} locks list locks --region us-east-1", engine.server.url()));
    let run = run(command.env("AWS_ENDPOINT_URL", "http://127.0.0.1:9").env_remove("AWS_REGION")).await;
    assert_eq!(run.succeeded(), "no locks");
}

#[tokio::test]
async fn a_named_profile_comes_before_the_keys_in_the_environment() {
    let engine = Engine::with_locks().await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let profile = "[profile prod]\naws_access_key_id = PRODKEY\naws_secret_access_key = any\n";
    std::fs::write(&file, profile).unwrap();
    let with_file = async |args: &str| run(engine.command(args).env("AWS_CONFIG_FILE", file.path())).await;
    let checks = with_file("doctor --profile prod").await;
    assert!(checks.succeeded().contains("access key PRODKEY"), "{}", checks.stdout);
    let misspelled = with_file("locks list locks --profile prd").await;
    let message = misspelled.failed_with(1);
    assert!(message.starts_with("no credentials (") && message.contains("prd"), "{message}");
}

#[tokio::test]
async fn a_table_without_its_kind_names_both_kinds() {
    for args in ["table create orders", "table verify orders", "table verify orders --sort-key number:N"] {
        let run = run(&mut command(args)).await;
        assert_eq!(run.code, 2, "{args}");
        assert!(run.stderr.contains("--locks|--partition-key <NAME:TYPE>"), "{args}: {}", run.stderr);
    }
}

#[tokio::test]
async fn a_table_of_items_is_no_table_of_locks() {
    let engine = Engine::with_locks().await;
    Product::repository(&engine.client).create_table().await.unwrap();
    let run = engine.run("locks show products nightly-report").await;
    let message = run.failed_with(4);
    assert!(message.ends_with("compare it with `dynalock table verify products --locks`"), "{message}");
}
