use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::{args::Cli, failure::Failure, output::Output};

pub(crate) fn run(shell: Shell, output: Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "dynalock", &mut script);
    output.text(&String::from_utf8_lossy(&script))
}
