//! `weir sim` as scripts call it. It does not know what is simulated.

use std::process::Output;

use serde_json::Value;

use super::weir;

/// A simulation, by the name of its command.
pub struct Sim(pub &'static str);

impl Sim {
    /// What a command line comes to.
    pub fn run(&self, arguments: &str) -> Output {
        let mut command = weir();
        command.args(["sim", self.0]).args(arguments.split_whitespace());
        command.output().expect("the binary runs")
    }

    /// What a command line that works says.
    pub fn works(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments}: {said}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// The same as JSON, which is one line.
    pub fn json(&self, arguments: &str) -> Value {
        let text = self.works(&format!("{arguments} --json"));
        assert_eq!(text.lines().count(), 1, "{text}");
        serde_json::from_str(&text).expect("JSON")
    }
}

/// A field that must be a number.
pub fn number(value: &Value, name: &str) -> f64 {
    assert!(value[name].is_number(), "no number `{name}` in {value}");
    value[name].as_f64().unwrap_or_default()
}
