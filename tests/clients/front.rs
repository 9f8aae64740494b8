//! The program in front of the packages' app, with a route for every row.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;

use tempfile::TempDir;

use crate::message::{Answer, Message};
use crate::packages::{PUBLIC_URL, Packages, Row};

/// `onced serve`, ready.
pub(crate) struct Front {
    child: Child,
    hooks: String,
    _dir: TempDir,
}

impl Front {
    pub(crate) fn start(packages: &Packages) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("onced.toml");
        let store = dir.path().join("store");
        let routes: String = packages.rows.iter().map(|row| route(row, &packages.app)).collect();
        let text = format!(
            "[api]\nlisten = \"\"\nsocket = \"\"\n[hooks]\nlisten = \"127.0.0.1:0\"\npublic_url = \"{PUBLIC_URL}\"\n\
             [store]\ndir = \"{}\"\n{routes}",
            store.display()
        );
        std::fs::write(&config, text).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_onced"))
            .args(["serve", "--allow-inline-secrets", "--config"])
            .arg(&config)
            .env_clear()
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (mut log, mut hooks) = (String::new(), None);
        while !log.contains("\"ready\"") {
            let Some(line) = lines.next() else { panic!("it ended early: {log}") };
            log.push_str(&line.unwrap());
            log.push('\n');
            let said: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap_or_default();
            if said["listener"] == "hooks" {
                hooks = said["address"].as_str().map(str::to_owned);
            }
        }
        // A log that nobody reads would hold the program up.
        thread::spawn(move || lines.for_each(drop));
        Self { child, hooks: hooks.unwrap(), _dir: dir }
    }

    pub(crate) fn post(&self, message: &Message) -> Answer {
        message.post(&self.hooks)
    }
}

fn route(row: &Row, app: &str) -> String {
    let Row { name, provider, secret, sign_secret, settings } = row;
    let signing = sign_secret.iter().map(|key| format!("sign_secret = {{ inline = \"{key}\" }}\n")).collect::<String>();
    format!(
        "[[route]]\nname = \"{name}\"\nprovider = \"{provider}\"\npath = \"/hooks/{name}\"\n\
         secrets = [{{ inline = {secret:?} }}]\nforward_to = \"http://{app}/hooks/{name}\"\n{signing}{settings}\n"
    )
}

/// A test that fails leaves no daemon behind.
impl Drop for Front {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
