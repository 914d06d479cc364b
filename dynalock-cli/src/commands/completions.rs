use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::{args::Cli, failure::Failure, output::print};

pub(crate) fn run(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "dynalock", &mut script);
    print(&String::from_utf8_lossy(&script))
}
