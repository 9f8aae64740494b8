//! `onced replay --to`: the command fetches an event and sends it itself.

use onced::event::{Content, HeaderLine};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::apps::{App, Reply, Seen};
use super::command_line::{Said, run};
use super::harness::{Home, House, OURS};
use super::letters::{id, keep_content};

/// An event that is kept, and somebody at a URL.
struct Stage {
    home: Home,
    app: App,
    event: String,
    _house: House,
}

impl Stage {
    async fn set() -> Self {
        let house = House::new();
        let home = house.start().await;
        let lines = [
            ("Host", &b"hooks.example"[..]),
            ("X-Hub-Signature-256", b"sha256=00"),
            ("X-ODD-case", b"caf\xe9"),
            ("Authorization", b"Bearer abc"),
            ("X-Gitlab-Token", b"abc"),
            ("Cookie", b"a=b"),
        ];
        let headers = lines.map(|(name, value)| HeaderLine { name: name.as_bytes().into(), value: value.into() });
        let content = Content {
            target: "/hooks/github?a=b".into(),
            sender_id: Some((*b"e").into()),
            headers: headers.into(),
            body: (*b"{\"a\":1}\xff").as_slice().into(),
        };
        keep_content(&home, 1, "github", Some(500), content).await;
        Self { home, app: App::start().await, event: id(1).to_string(), _house: house }
    }

    fn url(&self) -> String {
        format!("{}/in?x=1", self.app.url())
    }

    /// What the guard remembers: not the URL itself, which may have a token in it.
    fn key(&self) -> String {
        format!("{} {}", self.event, hex::encode(Sha256::digest(self.url())))
    }

    /// Runs `replay EVENT --to` with further arguments, while the app answers like this.
    async fn replay(&mut self, more: &[&str], replies: &[u16]) -> (Said, Vec<Seen>) {
        let url = self.url();
        let args = [&["replay", &self.event, "--to", &url], more].concat();
        let answering = async {
            let mut seen = Vec::new();
            for status in replies {
                seen.push(self.app.answers(Reply::status(*status)).await);
            }
            seen
        };
        let said = tokio::join!(run(&self.home, &args), answering);
        self.app.assert_quiet();
        said
    }

    async fn end(self) {
        self.home.daemon.stop().await.unwrap();
    }
}

#[tokio::test]
async fn of_ten_runs_one_is_sent_and_nine_are_duplicates_and_the_report_says_so() {
    let mut stage = Stage::set().await;
    let (said, seen) = stage.replay(&["--times", "10"], &[200]).await;
    let lines: Vec<_> = said.out.lines().collect();
    assert_eq!((said.exit, lines.len(), said.err.as_str()), (0, 12, ""), "{said:?}");
    assert_eq!(
        lines[..3],
        ["run  outcome      attempt  status", "  1  forwarded          1     200", "  2  duplicate          -       -",]
    );
    assert_eq!(lines[11], "forwarded 1, duplicates 9");
    let [seen] = &seen[..] else { panic!("one") };
    assert_eq!((seen.target(), &seen.body[..]), (&b"/in?x=1"[..], &b"{\"a\":1}\xff"[..]));
    assert_eq!(seen.values("x-odd-case"), [b"caf\xe9"]);
    assert_eq!(seen.header("x-hub-signature-256"), Some("sha256=00"), "it is what the app checks");
    assert_eq!(seen.header("host"), stage.app.url().strip_prefix("http://"));
    for credential in ["authorization", "x-gitlab-token", "cookie"] {
        assert_eq!(seen.header(credential), None);
    }
    // Another command meets the same guard; past it, it is sent.
    let (again, _) = stage.replay(&["--json"], &[]).await;
    let duplicate = json!({ "outcome": "duplicate", "attempt": null, "status": null });
    assert_eq!(again.json(), json!({ "results": [duplicate], "forwarded": 0, "duplicates": 1 }));
    assert_eq!(again.exit, 3);
    let (forced, seen) = stage.replay(&["--times", "2", "--force", "--json"], &[200, 204]).await;
    let sent = |status: u16| json!({ "outcome": "forwarded", "attempt": null, "status": status });
    assert_eq!(forced.json(), json!({ "results": [sent(200), sent(204)], "forwarded": 2, "duplicates": 0 }));
    assert_eq!((forced.exit, seen.len()), (0, 2));
    // The guard remembers it for a day, at this URL.
    let claims = stage.home.stored().await;
    let [claim] = &claims[..] else { panic!("{claims:?}") };
    assert_eq!(claim["namespace"], "replay");
    assert_eq!(claim["key"], stage.key());
    stage._house.advance_ms(24 * 3_600_000);
    let (later, _) = stage.replay(&[], &[200]).await;
    assert_eq!(later.exit, 0, "{later:?}");
    stage.end().await;
}

#[tokio::test]
async fn a_run_that_fails_gives_the_claim_back_and_is_told() {
    let mut stage = Stage::set().await;
    let (said, _) = stage.replay(&["--times", "3", "--json"], &[500, 302, 201]).await;
    let outcomes: Vec<_> = said.json()["results"].as_array().unwrap().clone();
    let expected = [("failed", 1, 500), ("failed", 2, 302), ("forwarded", 3, 201)]
        .map(|(outcome, attempt, status)| json!({ "outcome": outcome, "attempt": attempt, "status": status }));
    assert_eq!((said.exit, &outcomes[..]), (1, &expected[..]), "{said:?}");
    // Nobody there.
    stage.app = App::absent().await;
    let (said, _) = stage.replay(&[], &[]).await;
    assert!(said.out.ends_with("forwarded 0, duplicates 0, failed 1\n"), "{said:?}");
    assert!(said.exit == 1 && said.err.contains("the app was not reached"), "{said:?}");
    // Somebody else at it.
    let key = stage.key();
    stage.home.post("/v1/claim", &json!({ "namespace": "replay", "key": key, "token": OURS })).await;
    let (said, _) = stage.replay(&["--json"], &[]).await;
    assert_eq!((said.exit, &said.json()["results"][0]["outcome"]), (75, &json!("in_progress")));
    stage.end().await;
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_before_anything_is_claimed() {
    let stage = Stage::set().await;
    let url = stage.url();
    let absent = "0".repeat(32);
    let rows: [(&[&str], i32, &str); 8] = [
        (&[&stage.event, "--to", "nonsense"], 2, "--to: the scheme must be http or https"),
        (&[&stage.event, "--to", "ftp://a/b"], 2, "--to: the scheme must be http or https"),
        (&[&stage.event, "--to", "http://user:pw@a/b"], 2, "--to: a user name or password has no place here"),
        (&[&stage.event, "--to", &url, "--times", "0"], 2, ""),
        (&[&stage.event, "--to", &url, "--times", "101"], 2, ""),
        (&[&absent, "--to", &url], 1, "no event of this id is kept"),
        (&["no/id", "--to", &url], 1, "no event of this id is kept"),
        (&["--to", &url], 2, ""),
    ];
    for (args, exit, why) in rows {
        let said = run(&stage.home, &[&["replay"], args].concat()).await;
        assert_eq!((said.exit, said.out.as_str()), (exit, ""), "{args:?}: {said:?}");
        assert!(said.err.contains(why), "{args:?}: {said:?}");
    }
    assert_eq!(stage.home.stored().await, [Value::Null; 0]);
    let help = run(&stage.home, &["replay", "--help"]).await;
    for said in ["signature header stays", "Exit codes: 0", "cookie, and headers whose names contain auth, token"] {
        assert!(help.out.replace('\n', " ").contains(said), "{said} in {}", help.out);
    }
    stage.end().await;
}
