//! The child process: started, asked, given up on, and what it said last.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mary_contract::{ErrorKind, ModelError};
use mary_platform::notice;
use serde_json::Value;

use crate::SERVING;

/// How often a wait looks up.
const LOOK_UP: Duration = Duration::from_millis(100);
/// What is waited for an answer when the run is to end.
const GRACE: Duration = Duration::from_secs(10);
/// Lines of the child's own output that are shown; a model that prints at every token would bury the rest.
const SHOWN: usize = 200;
/// Lines kept for the message when it dies.
const KEPT: usize = 12;

#[derive(Debug, Clone)]
pub(crate) struct Served {
    pub python: String,
    pub file: String,
    pub name: String,
    /// Settings for whatever makes the object, as JSON.
    pub settings: String,
    pub timeout: Duration,
    pub loading: Duration,
}

pub(crate) enum NoAnswer {
    Died(String),
    /// It did not answer in time.
    Late(Duration),
    /// It was not even asked.
    Refused(ModelError),
    Stopping,
}

pub(crate) struct Process {
    child: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<String>,
    said: Arc<Mutex<VecDeque<String>>>,
    listeners: Vec<JoinHandle<()>>,
}

impl Process {
    /// Starts a child and waits until its object is there; also says what the object says about itself.
    pub(crate) fn start(served: &Served) -> Result<(Self, Value), ModelError> {
        let token = token();
        let mut child = Command::new(&served.python)
            .args(["-c", SERVING])
            .args([&served.file, &served.name, &served.settings, &token])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                let message = format!("{}: Python cannot be started: {error}", served.python);
                ModelError::new(ErrorKind::NotFound, message)
                    .hint("name an interpreter: --model-arg python=/path/to/python, or MARY_PYTHON")
            })?;
        let (send, answers) = channel();
        let said: Arc<Mutex<VecDeque<String>>> = Arc::default();
        let mut listeners = Vec::new();
        if let Some(out) = child.stdout.take() {
            let label = served.file.clone();
            listeners.push(std::thread::spawn(move || {
                for line in lines(out) {
                    // What an interpreter says before our code runs carries no token.
                    match line.strip_prefix(&token) {
                        Some(answer) if send.send(answer.to_owned()).is_err() => return,
                        Some(_) => {}
                        None => notice(&format!("{label}: {line}")),
                    }
                }
            }));
        }
        if let Some(err) = child.stderr.take() {
            let (label, kept) = (served.file.clone(), Arc::clone(&said));
            listeners.push(std::thread::spawn(move || {
                for (n, line) in lines(err).enumerate() {
                    if n < SHOWN {
                        notice(&format!("{label}: {line}"));
                    } else if n == SHOWN {
                        notice(&format!("{label}: more was printed and is not shown"));
                    }
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    if kept.len() == KEPT {
                        kept.pop_front();
                    }
                    kept.push_back(line);
                }
            }));
        }
        let requests = child.stdin.take();
        let mut process = Self {
            child,
            requests,
            answers,
            said,
            listeners,
        };
        let said = process.loaded(served.loading).map_err(|mut error| {
            let place = format!("python/{}:{}", served.file, served.name);
            error.message = format!("{place}: {}", error.message);
            error
        })?;
        Ok((process, said))
    }

    /// What the object says about itself once it is there.
    fn loaded(&mut self, limit: Duration) -> Result<Value, ModelError> {
        let first = self.wait(limit, &mut || false).map_err(|none| match none {
            NoAnswer::Died(how) => ModelError::new(
                ErrorKind::BadModel,
                format!("the process ended before the model was there: {how}"),
            ),
            _ => ModelError::new(
                ErrorKind::Timeout,
                format!("the model was not there after {} s", limit.as_secs()),
            )
            .hint("give it longer: --model-arg loading=SECONDS"),
        })?;
        let mut first: Value = serde_json::from_str(&first).unwrap_or_default();
        let Some(error) = first.get("error") else {
            return Ok(first["ready"].take());
        };
        let mut error = crate::read_error(error);
        // What a file raises while it is read is the file's fault.
        if error.kind == ErrorKind::Transport {
            error.kind = ErrorKind::BadModel;
        }
        Err(error)
    }

    /// Asks; after anything but an answer the process is of no more use.
    pub(crate) fn ask(
        &mut self,
        line: &str,
        timeout: Duration,
        stopping: &mut dyn FnMut() -> bool,
    ) -> Result<String, NoAnswer> {
        let sent = self.requests.as_mut().map(|pipe| {
            pipe.write_all(format!("{line}\n").as_bytes())
                .and_then(|()| pipe.flush())
        });
        match sent {
            Some(Err(_)) => Err(NoAnswer::Died(self.last_words())),
            _ => self.wait(timeout, stopping),
        }
    }

    fn wait(
        &mut self,
        timeout: Duration,
        stopping: &mut dyn FnMut() -> bool,
    ) -> Result<String, NoAnswer> {
        let begun = Instant::now();
        let mut stop_seen: Option<Instant> = None;
        loop {
            match self.answers.recv_timeout(LOOK_UP) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(NoAnswer::Died(self.last_words()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if begun.elapsed() >= timeout {
                return Err(NoAnswer::Late(timeout));
            }
            if stop_seen.is_none() && stopping() {
                stop_seen = Some(Instant::now());
            }
            if stop_seen.is_some_and(|seen| seen.elapsed() >= GRACE) {
                return Err(NoAnswer::Stopping);
            }
        }
    }

    /// How it ended, with the last it printed.
    fn last_words(&mut self) -> String {
        self.requests = None;
        let status = self.child.wait();
        for listener in self.listeners.drain(..) {
            // A grandchild may hold the pipe open; what was heard until now is enough.
            if listener.is_finished() {
                let _ = listener.join();
            }
        }
        let how = status.map_or_else(|e| e.to_string(), describe);
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.is_empty() {
            return how;
        }
        let words: Vec<&str> = said.iter().map(String::as_str).collect();
        format!("{how}; it said last:\n{}", words.join("\n"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Without questions it leaves by itself, but it may be in the middle of one.
        self.requests = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("ended by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => "ended".to_owned(),
    }
}

/// Lines of a pipe, whatever bytes they hold.
fn lines(pipe: impl std::io::Read) -> impl Iterator<Item = String> {
    let mut reader = BufReader::new(pipe);
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        match reader.by_ref().read_until(b'\n', &mut line) {
            Ok(n) if n > 0 => {
                let text = String::from_utf8_lossy(&line);
                Some(text.trim_end_matches(['\n', '\r']).to_owned())
            }
            _ => None,
        }
    })
}

/// What marks lines of the protocol: nobody else can have printed it.
fn token() -> String {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    let draw = || RandomState::new().build_hasher().finish();
    format!("mary-{:016x}{:016x} ", draw(), draw())
}
