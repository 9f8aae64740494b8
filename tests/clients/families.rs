//! The languages that the packages are in.

use std::path::Path;
use std::process::{Command, Stdio};

/// How packages of one language are installed and run.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    /// Commands that must work. All words but the last name the program.
    needs: &'static [&'static [&'static str]],
    /// What says which packages, in which versions.
    pub(crate) pins: &'static [&'static str],
    pub(crate) scripts: &'static [&'static str],
    pub(crate) install: &'static [&'static str],
    pub(crate) run: &'static [&'static str],
    /// The rows that the scripts have, so that none is lost unnoticed. Those called `ours` verify the signature that onced
    /// itself makes for the app.
    pub(crate) rows: &'static [&'static str],
}

impl Family {
    pub(crate) const ALL: [Self; 2] = [NODE, PYTHON];

    /// What this machine has not.
    pub(crate) fn missing(&self) -> Option<String> {
        let works = |words: &[&str]| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        let missing = self.needs.iter().find(|words| !works(words))?;
        Some(missing[..missing.len() - 1].join(" "))
    }

    pub(crate) fn command(&self, words: &[&str], dir: &Path) -> Command {
        let mut command = Command::new(words[0]);
        // Where pip puts the packages; node does not look at it.
        command.args(&words[1..]).current_dir(dir).env("PYTHONPATH", "packages");
        command
    }
}

const NODE: Family = Family {
    name: "node",
    needs: &[&["node", "--version"], &["npm", "--version"], &["openssl", "version"]],
    pins: &["package.json", "package-lock.json"],
    scripts: &["app.mjs", "keys.mjs", "senders.mjs", "verifiers.mjs"],
    // What packages run at their own install has nothing to do here.
    install: &["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"],
    run: &["node", "app.mjs"],
    rows: &[
        "github",
        "stripe",
        "standard-webhooks",
        "openai",
        "gitlab-signed",
        "svix",
        "resend",
        "clerk",
        "twilio",
        "twilio-json",
        "twilio-event-streams",
        "hubspot",
        "contentful",
        "coinbase-commerce",
        "adyen",
        "adyen-platform",
        "ours-by-standardwebhooks",
        "ours-by-svix",
        "slack",
        "paddle-billing",
        "square",
        "shopify",
        "linear",
        "razorpay",
        "discord-interactions",
        "discord-webhook-events",
        "sendgrid",
        "plaid",
        "aws-sns",
    ],
};

const PYTHON: Family = Family {
    name: "python",
    needs: &[&["python3", "--version"], &["python3", "-m", "pip", "--version"]],
    pins: &["requirements.txt"],
    scripts: &["app.py", "rows.py"],
    install: &[
        "python3",
        "-m",
        "pip",
        "install",
        "-q",
        "--root-user-action=ignore",
        "--no-deps",
        "--target",
        "packages",
        "-r",
        "requirements.txt",
    ],
    run: &["python3", "app.py"],
    rows: &[
        "python-slack",
        "python-stripe",
        "python-twilio",
        "python-standard-webhooks",
        "ours-by-python-standardwebhooks",
    ],
};
