//! A daemon with a queue, whose app is in the test's hands.

use onced::claim::{ConfirmedTtl, Key, Namespace};
use onced::event::{Arrival, Content, EventId, HeaderLine};
use onced::store::Accepted;
use serde_json::Value;

use super::apps::App;
use super::harness::{Answer, Home, House, bare, in_time, post};

/// The queue route `orders`, one event at a time, and its app; `gone` is no route.
pub(crate) struct Queue {
    pub(crate) house: House,
    pub(crate) home: Home,
    pub(crate) app: App,
}

/// Callers on loopback may do everything.
pub(crate) const OPERATE: &str = "loopback = \"operate\"";

impl Queue {
    /// `api` is lines of `[api]`, `route` of the route, `delivery` of its `[route.delivery]`.
    pub(crate) async fn open(api: impl FnOnce(&House) -> String, route: &str, delivery: &str) -> Self {
        let app = App::start().await;
        let tables = format!(
            "[hooks]\nlisten = \"127.0.0.1:0\"\n[[route]]\nname = \"orders\"\npath = \"/hooks/orders\"\n\
             verify = \"none\"\nevent_id = {{ header = \"X-Id\" }}\nforward_to = \"{}/in\"\nmode = \"queue\"\n{route}\
             [route.delivery]\nconcurrency = 1\n{delivery}",
            app.url()
        );
        let house = House::with("", &tables);
        let lines = api(&house);
        let house = house.with_api(&lines);
        let home = house.start().await;
        Self { house, home, app }
    }

    /// Callers on loopback may do everything.
    pub(crate) async fn new(delivery: &str) -> Self {
        Self::open(|_| OPERATE.to_owned(), "", delivery).await
    }

    /// Accepts an event with this id of its sender's.
    pub(crate) async fn accept(&self, route: &str, sender_id: &str) -> String {
        let store = self.home.daemon.ledger().store();
        let namespace = Namespace::of_route(route).unwrap();
        let arrival = Arrival {
            route: route.into(),
            app: "127.0.0.1:3000".into(),
            key: Some(Key::new(&namespace, sender_id).unwrap()),
            namespace,
            confirmed_ttl: ConfirmedTtl::MAX,
            received_at: store.clock().now(),
        };
        match store.accept(arrival, content(sender_id)).await.unwrap() {
            Accepted::New { id, .. } => id.to_string(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.home.ask(&bare("GET", path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.home.ask(&post(path, &body.to_string())).await
    }

    pub(crate) async fn replay(&self, id: &str, body: &Value) -> Answer {
        self.post(&format!("/v1/events/{id}/replay"), body).await
    }

    /// The ids in a list, in its order.
    pub(crate) async fn ids(&self, path: &str) -> Vec<String> {
        let page = self.get(path).await;
        assert_eq!(page.status, 200, "{path}: {page:?}");
        let page = page.json();
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Where an event stands.
    pub(crate) async fn state(&self, id: &str) -> String {
        let event = self.get(&format!("/v1/events/{id}")).await.json();
        event["state"].as_str().unwrap_or_else(|| panic!("{event}")).to_owned()
    }

    /// Waits until an event stands there: the app has its answer out before that is written.
    pub(crate) async fn until_state(&self, id: &str, state: &str) {
        let id = EventId::parse(id).unwrap();
        let store = self.home.daemon.ledger().store();
        let arrived = async {
            while store.event(id).await.unwrap().is_none_or(|event| event.state.name().as_str() != state) {
                tokio::task::yield_now().await;
            }
        };
        in_time(arrived).await;
    }

    pub(crate) async fn end(self) {
        self.home.daemon.stop().await.unwrap();
    }
}

/// What was sent with this id.
pub(crate) fn content(sender_id: &str) -> Content {
    let line = |name: &[u8], value: &[u8]| HeaderLine { name: name.into(), value: value.into() };
    Content {
        target: "/hooks/orders?a=b".into(),
        sender_id: Some(sender_id.as_bytes().into()),
        verified_by: None,
        headers: vec![line(b"X-Id", sender_id.as_bytes())],
        body: sender_id.as_bytes().to_vec().into(),
    }
}
