//! The program as a user starts it, with its places in a folder of the test's own and nothing of the
//! machine's settings; shared by the files of this test.

use std::path::Path;
use std::process::Command;

/// Exit code, standard output and standard error.
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// `mary`, started in `home`.
pub fn program(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mary"));
    command
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env_remove("MARY_DATA_DIR")
        .env_remove("MARY_MODEL")
        .env("NO_COLOR", "1");
    command
}

/// Runs a command to its end.
pub fn said(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs `mary` with these arguments.
pub fn mary(home: &Path, args: &[&str]) -> Said {
    said(program(home).args(args))
}

/// The same where it must end well; gives what it printed.
pub fn done(home: &Path, args: &[&str]) -> String {
    let said = mary(home, args);
    assert_eq!(said.code, 0, "{args:?}: {}", said.err);
    said.out
}
