//! The profiles by name: those compiled in, and those that a config adds.

use super::Profile;
use std::collections::BTreeMap;
use std::fmt;

/// Names and texts of the files in `profiles`.
macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("profiles/", $name, ".toml")))),*]
    };
}

/// The built-in profiles. To add one is to add its file and its name here; its vectors are its test.
const BUILT_IN: [(&str, &str); 52] = files! {
    "adyen"
    "adyen-platform"
    "asana"
    "aws-sns"
    "bitbucket-cloud"
    "calendly"
    "clerk"
    "coinbase-commerce"
    "contentful"
    "discord-interactions"
    "discord-webhook-events"
    "docusign"
    "dropbox"
    "github"
    "gitlab"
    "gitlab-signed"
    "heroku"
    "hubspot"
    "intercom"
    "jira-cloud"
    "lemon-squeezy"
    "linear"
    "mailgun"
    "meta-graph"
    "mollie-classic"
    "mollie-nextgen"
    "openai"
    "paddle-billing"
    "pagerduty"
    "paypal"
    "plaid"
    "postmark"
    "razorpay"
    "resend"
    "sendgrid"
    "sentry"
    "shopify"
    "slack"
    "square"
    "standard-webhooks"
    "stripe"
    "svix"
    "telegram"
    "twilio"
    "twilio-event-streams"
    "twitch-eventsub"
    "typeform"
    "vercel"
    "whatsapp"
    "woocommerce"
    "zendesk"
    "zoom"
};

/// The longest profile name; it goes into logs, metrics and the `Onced-Verified` header.
const MAX_NAME_BYTES: usize = 64;

/// Every profile that a route may name. A value that the daemon owns, not a global: a reload builds a new one, and
/// requests under way keep theirs.
#[derive(Clone)]
pub struct Profiles(BTreeMap<String, Profile>);

/// A profile cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum DefineError {
    /// The name is not `[a-z0-9][a-z0-9-]{0,63}`.
    #[error(
        "{0:?} is no name of a provider, which is {MAX_NAME_BYTES} of a-z, 0-9 and - at most, not beginning with -"
    )]
    Name(String),
    /// The name is taken. A built-in profile cannot be replaced: what a route's `provider = "stripe"` checks must not
    /// depend on another part of the file.
    #[error("provider {0:?} exists already")]
    Taken(String),
}

/// The names: what is behind them fills pages.
impl fmt::Debug for Profiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl DefineError {
    /// The reason without the name, to be read behind it.
    pub fn reason(&self) -> String {
        match self {
            Self::Name(_) => {
                format!("must be named with 1 to {MAX_NAME_BYTES} of a-z, 0-9 and -, not beginning with -")
            }
            Self::Taken(_) => "has the name of a built-in provider".to_owned(),
        }
    }
}

impl Profiles {
    /// The built-in profiles.
    pub fn built_in() -> Self {
        let parse = |text| toml::from_str(text).expect("a test reads every built-in profile");
        Self(BUILT_IN.iter().map(|(name, text)| ((*name).to_owned(), parse(text))).collect())
    }

    /// Adds a profile of the operator's own.
    pub fn define(&mut self, name: &str, profile: Profile) -> Result<(), DefineError> {
        if !is_name(name) {
            return Err(DefineError::Name(name.to_owned()));
        }
        if self.0.contains_key(name) {
            return Err(DefineError::Taken(name.to_owned()));
        }
        self.0.insert(name.to_owned(), profile);
        Ok(())
    }

    /// The profile of that name.
    pub fn find(&self, name: &str) -> Option<&Profile> {
        self.0.get(name)
    }

    /// All of them with their names, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Profile)> {
        self.0.iter().map(|(name, profile)| (name.as_str(), profile))
    }
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= MAX_NAME_BYTES
        && name.bytes().next().is_some_and(plain)
        && name.bytes().all(|byte| plain(byte) || byte == b'-')
}
