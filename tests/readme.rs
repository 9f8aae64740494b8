//! Every command of the README, as a reader would type it: each block of shell in order, in one shell, on ports of its own
//! network namespace; what a comment `# → text` promises must stand in what was printed since the one before.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// An app that takes webhooks on port 3000.
const APP: &str = "
import http.server
class App(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers['content-length']))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'ok')
http.server.HTTPServer(('127.0.0.1', 3000), App).serve_forever()
";

/// Waits until a daemon serves, and ends the daemons at the end.
const PRELUDE: &str = "
set -u
ip link set lo up
ready() { until onced status --api http://127.0.0.1:8601 >/dev/null 2>&1; do kill -0 \"$1\" || exit 9; done; }
trap 'kill $(jobs -p); wait' EXIT
python3 app.py 2>/dev/null & app=$!
until (exec 3<>/dev/tcp/127.0.0.1/3000) 2>/dev/null; do :; done
";

/// Ten times what the commands take.
const MAX_SECONDS: &str = "200";

/// The configs, in the order in which the README shows them.
const CONFIGS: [&str; 3] = ["github.toml", "queue.toml", "places.toml"];

/// The fenced blocks of one language, in order.
fn blocks(readme: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let starts = readme.split(fence.as_str()).skip(1);
    starts.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

fn is_missing(tool: &str) -> bool {
    let missing = Command::new("sh").args(["-c", &format!("command -v {tool}")]).output().unwrap().stdout.is_empty();
    if missing {
        assert!(std::env::var_os("CI").is_none(), "{tool} is not installed");
        println!("skipped: {tool} is not installed");
    }
    missing
}

#[test]
fn every_command_of_the_readme_prints_what_it_promises() {
    if ["timeout", "unshare", "ip", "bash", "curl", "openssl", "python3"].into_iter().any(is_missing) {
        return;
    }
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("app.py"), APP).unwrap();
    let configs = blocks(&readme, "toml");
    assert_eq!(configs.len(), CONFIGS.len(), "{configs:?}");
    for (name, config) in CONFIGS.iter().zip(&configs) {
        fs::write(dir.path().join(name), config).unwrap();
    }
    let (script, promises) = script(&blocks(&readme, "sh"));
    fs::write(dir.path().join("script.sh"), script).unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_onced")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    // A loop of the README's that never ends is a failure, not a test that hangs.
    let mut shell = Command::new("timeout");
    shell
        .args([MAX_SECONDS, "unshare", "--map-root-user", "--net", "bash", "script.sh"])
        .current_dir(dir.path())
        .env("PATH", path);
    let output = shell.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("unshare failed") {
        assert!(std::env::var_os("CI").is_none(), "{stderr}");
        println!("skipped: no network namespace can be made here");
        return;
    }
    // What was printed before the first promise is cut off.
    let parts: Vec<_> = printed.split("\u{1}").collect();
    assert_eq!(parts.len(), promises.len() + 1, "{printed}\n{stderr}");
    for (part, promised) in parts.iter().zip(&promises) {
        for text in promised {
            assert!(part.contains(text), "{text:?} is not in {part:?}\n{stderr}");
        }
    }
    assert!(promises.len() >= 31, "{promises:?}");
}

/// The commands, with a mark behind every group of promises; and the promises.
fn script(blocks: &[String]) -> (String, Vec<Vec<String>>) {
    let mut script = PRELUDE.to_owned();
    let mut promises: Vec<Vec<String>> = Vec::new();
    // The two commands of `Run it` are CI's: it runs them as they stand there.
    for (number, block) in blocks.iter().enumerate().skip(2) {
        if number == 2 {
            script.push_str("onced serve 2>/dev/null &\ndaemon=$!; ready $daemon\n");
        }
        // What the text between the blocks asks for.
        if block.contains("onced serve --") {
            script.push_str("kill $daemon; wait $daemon\n");
        }
        if block.contains("onced dead-letters discard") {
            script.push_str("kill $app; wait $app\n");
        }
        if block.contains("onced events --state delivered | grep") {
            script.push_str("python3 app.py 2>/dev/null &\n");
        }
        let mut follows = false;
        for line in block.lines() {
            if let Some(promise) = line.strip_prefix("# → ") {
                if follows {
                    promises.last_mut().unwrap().push(promise.to_owned());
                } else {
                    promises.push(vec![promise.to_owned()]);
                    script.push_str("printf '\\1'\n");
                }
                follows = true;
                continue;
            }
            follows = false;
            script.push_str(line);
            script.push('\n');
            if line.ends_with('&') {
                script.push_str("daemon=$!; ready $daemon\n");
            }
        }
    }
    (script, promises)
}
