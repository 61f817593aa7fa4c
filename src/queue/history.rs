//! Histories: what was asked of a queue when, and what came of it.
//!
//! As a file a history is JSON lines, one operation a line, in any order:
//!
//! ```text
//! {"lane":3,"op":"enqueue","value":17,"result":"ok","begin":120,"end":155}
//! {"lane":4,"op":"dequeue","result":"empty","begin":121,"end":150}
//! ```

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Put the value in.
    Enqueue,
    /// Take the oldest value out.
    Dequeue,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It took effect.
    Ok,
    /// Dequeue: there was nothing.
    Empty,
    /// Enqueue: there was no room.
    Full,
    /// It had not returned at the end: it may have taken effect or not.
    Pending,
}

/// An operation. Each value is enqueued at most once in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Who asked.
    pub lane: u32,
    /// What was asked.
    #[serde(rename = "op")]
    pub action: Action,
    /// What an enqueue put in or a dequeue took out; none if a dequeue took nothing or has not returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<u64>,
    /// What came of it.
    pub result: Outcome,
    /// A moment before it could take effect, in ticks of any clock that all lanes share.
    pub begin: u64,
    /// A moment after it took effect; `u64::MAX` if it has not returned.
    #[serde(default = "never", skip_serializing_if = "is_never")]
    pub end: u64,
}

fn never() -> u64 {
    u64::MAX
}

fn is_never(end: &u64) -> bool {
    *end == u64::MAX
}

impl Operation {
    /// Why the fields do not fit each other, if so.
    fn flaw(&self) -> Option<&'static str> {
        use {Action::*, Outcome::*};
        match (self.action, self.result, self.value.is_some()) {
            (Enqueue, _, false) => Some("an enqueue needs a value"),
            (Dequeue, Ok, false) => Some("a dequeue that is ok needs a value"),
            (Enqueue, Empty, _) => Some("an enqueue cannot find the queue empty"),
            (Dequeue, Full, _) => Some("a dequeue cannot find the queue full"),
            (Dequeue, Empty | Pending, true) => Some("a dequeue that took nothing has no value"),
            _ if self.end < self.begin => Some("end is before begin"),
            _ if is_never(&self.end) != (self.result == Pending) => {
                Some("end is missing just if result is pending")
            }
            _ => None,
        }
    }
}

/// Moves begins back and ends forward by `ticks`: what a clock of that granularity, or clocks that differ by so
/// much, leave uncertain.
pub fn widen(history: &mut [Operation], ticks: u64) {
    for operation in history {
        operation.begin = operation.begin.saturating_sub(ticks);
        operation.end = operation.end.saturating_add(ticks);
    }
}

/// Reads JSON lines; `name` names them in errors. Empty lines are skipped.
///
/// # Errors
/// [`Error::Input`] with the line and what is wrong with it.
pub fn read(name: &str, input: impl BufRead) -> Result<Vec<Operation>> {
    let mut history = vec![];
    for (number, line) in (1..).zip(input.lines()) {
        let wrong = |why: String| Error::Input(format!("{name}:{number}: {why}"));
        let line = line.map_err(|e| wrong(e.to_string()))?;
        if line.trim().is_empty() {
            continue;
        }
        let operation: Operation = serde_json::from_str(&line).map_err(|e| wrong(e.to_string()))?;
        if let Some(flaw) = operation.flaw() {
            return Err(wrong(flaw.into()));
        }
        history.push(operation);
    }
    Ok(history)
}

/// Writes JSON lines.
///
/// # Errors
/// The output's own.
pub fn write(history: &[Operation], mut output: impl Write) -> std::io::Result<()> {
    for operation in history {
        serde_json::to_writer(&mut output, operation)?;
        output.write_all(b"\n")?;
    }
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = r#"{"lane":3,"op":"enqueue","value":17,"result":"ok","begin":120,"end":155}
{"lane":4,"op":"dequeue","result":"empty","begin":121,"end":150}
{"lane":5,"op":"dequeue","result":"pending","begin":7}
"#;

    #[test]
    fn lines_survive_a_round_trip() {
        let history = read("h", LINES.as_bytes()).expect("well-formed");
        assert_eq!(history[0].value, Some(17));
        assert_eq!(history[2].end, u64::MAX);
        let mut text = vec![];
        write(&history, &mut text).expect("to memory");
        assert_eq!(text, LINES.as_bytes());
    }

    #[test]
    fn flaws_are_named_with_their_line() {
        for (line, flaw) in [
            (r#"{"lane":1,"op":"enqueue","result":"ok","begin":1,"end":2}"#, "needs a value"),
            (r#"{"lane":1,"op":"dequeue","result":"full","begin":1,"end":2}"#, "cannot find the queue full"),
            (r#"{"lane":1,"op":"dequeue","result":"empty","begin":3,"end":2}"#, "end is before begin"),
            (r#"{"lane":1,"op":"dequeue","result":"empty","begin":3}"#, "pending"),
            (r#"{"lane":1,"op":"peek","result":"ok","begin":1,"end":2}"#, "unknown variant `peek`"),
            (r#"{"lane":1,"op":"dequeue","result":"empty","begin":1,"end":2,"x":1}"#, "unknown field `x`"),
            ("[", "EOF"),
        ] {
            let message = read("h.jsonl", format!("\n{line}\n").as_bytes()).expect_err("flawed").to_string();
            assert!(message.starts_with("h.jsonl:2: ") && message.contains(flaw), "{message}");
        }
    }

    #[test]
    fn widening_keeps_pending_operations_pending() {
        let mut history = read("h", LINES.as_bytes()).expect("well-formed");
        widen(&mut history, 10);
        let bounds: Vec<_> = history.iter().map(|o| (o.begin, o.end)).collect();
        assert_eq!(bounds, [(110, 165), (111, 160), (0, u64::MAX)]);
    }
}
