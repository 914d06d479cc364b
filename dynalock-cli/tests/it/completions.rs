//! `dynalock completions`.

use std::{fs, process::Stdio};

use tokio::process::Command;

use crate::support::{command, run};

#[tokio::test]
async fn bash_completes_the_commands() {
    let script = run(&mut command("completions bash")).await;
    assert_eq!((script.code, script.stderr.as_str()), (0, ""));
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, script.stdout).unwrap();
    let asked = "source \"$1\"; COMP_WORDS=(dynalock locks \"\"); COMP_CWORD=2; _dynalock dynalock '' locks; \
                 echo \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", asked, "bash"]).arg(file.path()).stdin(Stdio::null());
    // Some systems have no bash.
    let Ok(completed) = bash.output().await else { return };
    let (told, failed) = (String::from_utf8_lossy(&completed.stdout), String::from_utf8_lossy(&completed.stderr));
    assert_eq!(failed, "");
    let words: Vec<_> = told.split_whitespace().filter(|word| !word.starts_with('-')).collect();
    assert_eq!(words, ["list", "show", "watch", "break", "help"]);
}

#[tokio::test]
async fn each_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&mut command(&format!("completions {shell}"))).await;
        assert_eq!(script.code, 0, "{shell}");
        assert!(script.stdout.contains("endpoint-url"), "{shell}");
    }
}
