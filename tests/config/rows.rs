//! The table of refused configs: text, and where and why it is refused.

/// Lines 1 to 6 of a text; what is wrong comes behind.
pub(super) const ROUTE: &str = r#"[[route]]
name = "a"
path = "/a"
provider = "github"
secrets = [{ env = "S" }]
forward_to = "http://a"
"#;

/// `tls = { … }` with these two of the tests' own files, and more.
macro_rules! tls {
    ($before:literal, $cert:literal, $key:literal, $more:literal) => {
        concat!(
            $before,
            "tls = { cert = \"",
            env!("CARGO_MANIFEST_DIR"),
            "/tests/server/",
            $cert,
            "\", key = \"",
            env!("CARGO_MANIFEST_DIR"),
            "/tests/server/",
            $key,
            "\"",
            $more,
            " }"
        )
    };
}

/// Text, and the one fault in it.
pub(super) const ALONE: &[(&str, &str)] = &[
    // Syntax, kinds and unknown keys.
    ("[api]\nlisten = \n", "2: string values must be quoted, expected literal string"),
    ("[api]\n[api]\n", "2: duplicate key"),
    ("api = 1", "1: api: must be a table, not a number without quotes"),
    ("[[api]]", "1: api: must be a table, not a list"),
    ("[route]", "1: route: must be a list, not a table"),
    ("route = [1]", "1: route[0]: must be a table, not a number without quotes"),
    ("namespace.a = true", "1: namespace.a: must be a table, not true or false"),
    (
        "\n[apis]",
        "2: apis: is unknown; known here: store, api, defaults, namespace, provider, route, hooks, history, shutdown",
    ),
    ("\"a b\" = 1", "1: \"a b\": is unknown"),
    ("[shutdown]\ndrian = \"1s\"", "2: shutdown.drian: is unknown; known here: drain"),
    (tls!("[api]\n", "certificate.pem", "key.pem", ", ca = 1"), "2: api.tls.ca: is unknown; known here: cert, key"),
    // [provider.…]: the reader's own words, at the line that it stumbles over.
    ("\n[provider.mine]\nx = 1", "3: provider.mine: unknown field `x`, expected one of `title`, `signature`"),
    ("provider.mine = 1", "1: provider.mine: must be a table, not a number without quotes"),
    ("[provider.mine]\ntitle = \"M\"", "1: provider.mine: missing field `signature`"),
    (
        "[provider.mine]\ntitle = \"M\"\nsignature = \"none\"\nsigns_body = false\ntimeout_seconds = -1",
        "5: provider.mine: invalid value",
    ),
    // The daemon panicked at every event of a sender that waits for ever.
    (
        "[provider.mine]\ntitle = \"M\"\nsignature = \"none\"\nsigns_body = false\ntimeout_seconds = 9_223_372_036_854_775_807\n\
         retry.automatic = \"never\"\nretry.manual = \"never\"",
        "1: provider.mine: timeout_seconds is more than an hour",
    ),
    (
        "[provider.mine]\ntitle = \"M\"\nsignature = \"none\"\nsigns_body = false\nevent_id.source = { pointer = \"id\" }",
        "5: provider.mine: \"id\" is not a JSON pointer",
    ),
    (
        "[provider.mine]\ntitle = \"M\"\nsignature = \"none\"\n[provider.mine.retry]\nautomatic = \"never\"\nmanual = \"never\"",
        "1: provider.mine: the signature does not cover the body: signs_body = false must say",
    ),
    (
        "[provider.stripe]\ntitle = \"M\"\nsignature = \"none\"\nsigns_body = false\n[provider.stripe.retry]\n\
         automatic = \"never\"\nmanual = \"never\"",
        "1: provider.stripe: has the name of a built-in provider",
    ),
    (
        "[provider.\"My Own\"]\ntitle = \"M\"\nsignature = \"none\"\nsigns_body = false\nretry.automatic = \"never\"\n\
         retry.manual = \"never\"",
        "1: provider.\"My Own\": must be named with 1 to 64 of a-z, 0-9 and -",
    ),
    // A route is not blamed for a provider that is there and has a fault.
    (
        "[provider.mine]\ntitle = \"M\"\n[[route]]\nname = \"a\"\npath = \"/a\"\nprovider = \"mine\"\n\
         secrets = [{ env = \"S\" }]\nforward_to = \"http://a\"",
        "1: provider.mine: missing field `signature`",
    ),
    // [api] and [hooks].
    ("[api]\nlisten = 8601", "2: api.listen: must be a text in quotes, not a number without quotes"),
    ("[api]\nlisten = \"localhost:8601\"", "2: api.listen: must be an address and a port"),
    ("[api]\nlisten = [\n\"127.0.0.1:1\",\n\"127.0.0.1\"]", "4: api.listen[1]: must be an address and a port"),
    ("[api]\nlisten = \"0.0.0.0:8601\"", "2: api.listen: reaches beyond loopback, which needs [[api.token]] and tls"),
    (
        tls!("[api]\nlisten = \"[::]:1\"\n", "certificate.pem", "key.pem", ""),
        "2: api.listen: reaches beyond loopback, which needs [[api.token]]",
    ),
    (
        "[api]\nlisten = \"10.0.0.1:1\"\n[[api.token]]\nname = \"a\"\nenv = \"T\"\nscopes = \"claim\"",
        "2: api.listen: reaches beyond loopback, which needs tls",
    ),
    ("[api]\nloopback = \"all\"", "2: api.loopback: must be \"claim\" or \"operate\" or \"none\""),
    (
        "[api]\nsocket = \"/01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"",
        "2: api.socket: must be at most 107 bytes",
    ),
    ("[api]\ntls = { cert = \"/nowhere/a\", key = \"/dev/null\" }", "2: api.tls.cert: cannot be read: No such file"),
    ("[hooks]\ntls = { cert = \"/dev/null\" }", "2: hooks.tls.key: is required"),
    (tls!("[hooks]\n", "key.pem", "key.pem", ""), "2: hooks.tls: its cert holds no certificate"),
    (tls!("\n[api]\n", "certificate.pem", "certificate.pem", ""), "3: api.tls: its key holds no private key in PEM"),
    (tls!("[hooks]\n", "main.rs", "key.pem", ""), "2: hooks.tls: its cert holds no certificate"),
    (
        tls!("[hooks]\n", "certificate.pem", "other-key.pem", ""),
        "2: hooks.tls: cannot be used: keys may not be consistent",
    ),
    ("[[api.token]]\nname = \"a\"\nenv = \"T\"", "1: api.token[0].scopes: is required"),
    ("[[api.token]]\nenv = \"T\"\nscopes = \"claim\"", "1: api.token[0].name: is required"),
    (
        "[[api.token]]\nname = \"socket\"\nenv = \"T\"\nscopes = \"claim\"",
        "2: api.token[0].name: must not be \"socket\"",
    ),
    ("[[api.token]]\nname = \"\"\nenv = \"T\"\nscopes = \"claim\"", "2: api.token[0].name: must be 1 to 64 bytes"),
    ("[[api.token]]\nname = \"a\"\nenv = \"T\"\nscopes = []", "4: api.token[0].scopes: must not be empty"),
    (
        "[[api.token]]\nname = \"a\"\nenv = \"T\"\nscopes = \"all\"",
        "4: api.token[0].scopes: must be \"claim\" or \"operate\"",
    ),
    (
        "[[api.token]]\nname = \"a\"\nenv = \"T\"\nscopes = \"claim\"\nnamespaces = []",
        "5: api.token[0].namespaces: must not be empty",
    ),
    (
        "[[api.token]]\nname = \"a\"\nenv = \"T\"\nscopes = \"claim\"\nnamespaces = [\"A\"]",
        "5: api.token[0].namespaces[0]: must be 1 to 64 of a-z",
    ),
    ("[hooks]\npublic_url = \"hooks.example.com\"", "2: hooks.public_url: must be an http or https URL"),
    ("[hooks]\ntrusted_proxies = \"10.0.0.1/8\"", "2: hooks.trusted_proxies: has bits set beyond its prefix length"),
    // [history].
    ("[history]\nkeep = \"0s\"", "2: history.keep: must be longer than 0 and at most 366d"),
    ("[history]\nkeep = \"367d\"", "2: history.keep: must be longer than 0 and at most 366d"),
    ("[history]\nmax_bytes = \"0B\"", "2: history.max_bytes: must be more than 0B; a route keeps nothing with record"),
    ("[history]\nmax_bytes = 1024", "2: history.max_bytes: must be a text in quotes, not a number without quotes"),
    ("[history]\nage = \"7d\"", "2: history.age: is unknown; known here: keep, max_bytes"),
    ("history = \"7d\"", "1: history: must be a table, not a text"),
    // [store], [defaults], [namespace], [shutdown].
    ("[store]\ndir = \"\"", "2: store.dir: must be a path"),
    ("[store]\nsync = \"never\"", "2: store.sync: must be \"always\" or \"interval\""),
    ("[store]\ncache = \"64MB\"", "2: store.cache: must be a whole number and a unit, one of B, KiB, MiB, GiB, TiB"),
    ("[store]\ncache = \"1B\"", "2: store.cache: must be from 1MiB to 1TiB"),
    ("[store]\nmax_event_bytes = \"0B\"", "2: store.max_event_bytes: must be more than 0B"),
    ("[store]\nmin_free = \"99999999TiB\"", "2: store.min_free: is too large"),
    ("[store]\ncommit_deadline = \"0s\"", "2: store.commit_deadline: must be longer than 0 and at most 1m"),
    ("[defaults]\nprocessing_ttl = 120", "2: defaults.processing_ttl: must be a text in quotes, not a number"),
    ("[defaults]\nprocessing_ttl = \"25h\"", "2: defaults.processing_ttl: must be longer than 0 and at most 1d"),
    ("[defaults]\nconfirmed_ttl = \"91d\"", "2: defaults.confirmed_ttl: must be longer than 0 and at most 90d"),
    ("[defaults]\nconfirmed_ttl = \"0s\"", "2: defaults.confirmed_ttl: must be longer than 0 and at most 90d"),
    (
        "[defaults]\non_store_failure = true",
        "2: defaults.on_store_failure: must be a text in quotes, not true or false",
    ),
    ("[namespace.A]", "1: namespace.A: must be 1 to 64 of a-z"),
    (
        "[namespace.a]\nttl = 1",
        "2: namespace.a.ttl: is unknown; known here: processing_ttl, confirmed_ttl, on_store_failure",
    ),
    ("\n[namespace.\"route:gone\"]", "2: namespace.\"route:gone\": is the namespace of no route"),
    ("[shutdown]\ndrain = \"-1s\"", "2: shutdown.drain: must be a whole number and a unit"),
];

/// What stands on line 7, behind a good route, and the one fault of it.
pub(super) const IN_A_ROUTE: &[(&str, &str)] = &[
    ("mode = \"async\"", "7: route[0].mode: must be \"sync\" or \"queue\""),
    ("duplicate_response = \"again\"", "7: route[0].duplicate_response: must be \"plain\" or \"replay\""),
    ("record = \"none\"", "7: route[0].record: must be \"all\" or \"failures\" or \"off\""),
    ("sign_secret = \"S\"", "7: route[0].sign_secret: must be a table"),
    ("sign_secret = { env = \"MISSING\" }", "7: route[0].sign_secret.env: is not set in the environment"),
    ("sign_secret = { env = \"S\" }", "7: route[0].sign_secret.env: must be base64, with or without whsec_ before it"),
    ("secret = 1", "7: route[0].secret: is unknown; known here: name, namespace, path"),
    ("max_duration = \"0s\"", "7: route[0].max_duration: must be longer than 0 and at most 6h"),
    ("max_duration = \"7h\"", "7: route[0].max_duration: must be longer than 0 and at most 6h"),
    ("processing_ttl = \"29s\"", "7: route[0].processing_ttl: must be at least the 30s of route[0].max_duration"),
    (
        "[namespace.\"route:a\"]\nprocessing_ttl = \"29s\"",
        "8: namespace.\"route:a\".processing_ttl: must be at least the 30s of route[0].max_duration",
    ),
    ("confirmed_ttl = \"91d\"", "7: route[0].confirmed_ttl: must be longer than 0 and at most 90d"),
    ("on_store_failure = \"ajar\"", "7: route[0].on_store_failure: must be \"open\" or \"closed\""),
    ("namespace = \"route:b\"", "7: route[0].namespace: must be 1 to 64 of a-z"),
    ("tolerance = \"0s\"", "7: route[0].tolerance: must be whole seconds"),
    ("tolerance = \"1500ms\"", "7: route[0].tolerance: must be whole seconds, at least 1s; or \"off\""),
    (
        "tolerance = \"300\"",
        "7: route[0].tolerance: must be \"off\" or a length of time; the latter must be a whole number and a unit",
    ),
    ("tolerance = \"300s\"", "7: route[0].tolerance: is of no use: this provider signs no timestamp"),
    ("answer_within = \"2h\"", "7: route[0].answer_within: must be longer than 0 and at most 1h"),
    ("in_flight = \"drop\"", "7: route[0].in_flight: must be \"wait\" or \"busy\""),
    ("on_unknown_outcome = \"retry\"", "7: route[0].on_unknown_outcome: must be \"release\" or \"hold\""),
    ("on_missing_id = \"drop\"", "7: route[0].on_missing_id: must be \"forward\" or \"reject\" or \"hash\""),
    ("max_body = \"2GiB\"", "7: route[0].max_body: must be from 1B to 1GiB"),
    ("relay_dangerous_status = \"yes\"", "7: route[0].relay_dangerous_status: must be true or false, not a text"),
    ("event_id = { header = \"a b\" }", "7: route[0].event_id.header: must be the name of a header"),
    ("event_id = { pointer = \"$.id\" }", "7: route[0].event_id.pointer: must be a JSON pointer"),
    (
        "event_id = { pointer = \"/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a\" }",
        "7: route[0].event_id.pointer: must have at most 16 steps",
    ),
    ("event_id = { form = \"\" }", "7: route[0].event_id.form: must be a name"),
    (
        "event_id = { header = \"a\", form = \"b\" }",
        "7: route[0].event_id: needs header, pointer, form, form with pointer, query, parts, or batch with item",
    ),
    ("event_id = {}", "7: route[0].event_id: needs header, pointer"),
    ("event_id = { header = \"a\", parts = [{ header = \"b\" }] }", "7: route[0].event_id: needs header, pointer"),
    ("event_id = { item = [{ pointer = \"/b\" }] }", "7: route[0].event_id: needs header, pointer"),
    ("event_id = { batch = \"\" }", "7: route[0].event_id: needs header, pointer"),
    (
        "event_id = { batch = \"a\", item = [{ pointer = \"/b\" }] }",
        "7: route[0].event_id.batch: must be a JSON pointer such as",
    ),
    (
        "event_id = { batch = \"\", item = [{ header = \"b\" }] }",
        "7: route[0].event_id: must have pointers alone in item, relative to it",
    ),
    ("event_id = { parts = [{ header = \"b\", x = 1 }] }", "7: route[0].event_id.parts[0].x: is unknown"),
    (
        "event_id = { parts = [{}] }",
        "7: route[0].event_id.parts[0]: needs header, pointer, form, form with pointer, or",
    ),
    ("event_id = { parts = [{ query = \"\" }] }", "7: route[0].event_id.parts[0].query: must be a name"),
    ("verify_token = { env = \"S\" }", "7: route[0].verify_token: is of no use: this provider shows none"),
    (
        "parameters = { hook = \"1\" }",
        "7: route[0].parameters: has hook, which this provider does not sign; known: none",
    ),
    ("parameters = { hook = 1 }", "7: route[0].parameters.hook: must be a text in quotes, not a number"),
    ("parameters = \"1\"", "7: route[0].parameters: must be a table, not a text"),
    ("verify = \"off\"", "7: route[0].verify: must be \"none\" or left out"),
    ("verify = \"none\"\nevent_id = { header = \"a\" }", "5: route[0].secrets: are of no use with verify = \"none\""),
    (
        "[api]\nlisten = \"127.0.0.1:8600\"\n[hooks]\nlisten = [\"127.0.0.1:8600\"]",
        "10: hooks.listen: is the same as api.listen",
    ),
    ("[hooks]\nlisten = \"\"", "8: hooks.listen: must not be empty while there are routes"),
];

/// A route without one of its keys, which is on this line of [`ROUTE`], or with another value there.
pub(super) const REPLACED: &[(usize, &str, &str)] = &[
    (2, "", "1: route[0].name: is required"),
    (2, "name = \"A\"", "2: route[0].name: must be 1 to 64 of a-z"),
    (3, "", "1: route[0].path: is required"),
    (3, "path = \"a\"", "3: route[0].path: must begin with '/'"),
    (3, "path = \"/a*\"", "3: route[0].path: may have a '*' only as"),
    (4, "", "1: route[0].provider: is required"),
    (
        4,
        "provider = \"strip\"",
        "4: route[0].provider: is not a known provider; 'onced providers' lists those that are",
    ),
    (
        4,
        "provider = \"twilio\"",
        "4: route[0].provider: signs the URL that it knows us by: [hooks] public_url must be set",
    ),
    (
        4,
        "provider = \"paypal\"",
        "5: route[0].secrets[0].env: cannot be used: it is not an RSA public key: a certificate",
    ),
    (4, "provider = \"mollie-classic\"", "4: route[0].provider: signs nothing: the route needs verify = \"none\""),
    (5, "", "1: route[0].secrets: needs at least one"),
    (5, "verify = \"none\"", "1: route[0].event_id: is required with verify = \"none\""),
    (
        4,
        "provider = \"coinbase-commerce\"\non_missing_id = \"hash\"",
        "5: route[0].on_missing_id: must not be \"hash\": this provider's body differs between attempts",
    ),
    (6, "", "1: route[0].forward_to: is required"),
    (
        5,
        "verify = \"none\"\nevent_id = { header = \"a\" }\nparameters = { hook = \"1\" }",
        "7: route[0].parameters: are of no use with verify = \"none\"",
    ),
    (
        5,
        "verify = \"none\"\nevent_id = { header = \"a\" }\ntolerance = \"300s\"",
        "7: route[0].tolerance: is of no use with verify = \"none\"",
    ),
    (
        5,
        "secrets = [{ env = \"S\" }, { env = \"S\" }, { env = \"S\" }, { env = \"S\" }, { env = \"S\" }, { env = \"S\" }, \
         { env = \"S\" }, { env = \"S\" }, { env = \"S\" }, { env = \"S\" }, { env = \"S\" }, { env = \"S\" }, { env = \"S\" }, \
         { env = \"S\" }, { env = \"S\" }, { env = \"S\" }, { env = \"S\" }]",
        "5: route[0].secrets: must be at most 16",
    ),
    (6, "forward_to = \"a:3000\"", "6: route[0].forward_to: must be an http or https URL"),
    (6, "forward_to = \"http://a/?b\"", "6: route[0].forward_to: must have no user, query or fragment"),
];
