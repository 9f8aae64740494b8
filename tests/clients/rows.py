"""Python packages, by the same rules as those for node: each row says how a package signs and how it verifies."""

from datetime import datetime, timezone
from urllib.parse import parse_qsl

from slack_sdk.signature import SignatureVerifier
from standardwebhooks import Webhook
from stripe import Webhook as StripeWebhook, WebhookSignature
from twilio.request_validator import RequestValidator

TEXT = "a secret of the sender and of its receiver"
WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Slack:
    name = "python-slack"
    provider = "slack"
    secret = TEXT
    headers = JSON
    body = '{"type":"event_callback","event_id":"Ev08MFMKH7","event":{"type":"message","text":"paid, für immer"}}'

    def sign(self, now, url):
        stamp = str(now)
        signature = SignatureVerifier(TEXT).generate_signature(timestamp=stamp, body=self.body)
        return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature}

    def verify(self, body, headers, url):
        return SignatureVerifier(TEXT).is_valid_request(body, dict(headers))


class Stripe:
    name = "python-stripe"
    provider = "stripe"
    secret = WHSEC
    headers = JSON
    body = '{"id": "evt_python", "object": "event", "type": "invoice.paid"}'

    def sign(self, now, url):
        # The package has no door for this; what it verifies with is behind an underscore.
        digest = WebhookSignature._compute_signature(f"{now}.{self.body}", WHSEC)
        return {"Stripe-Signature": f"t={now},v1={digest}"}

    def verify(self, body, headers, url):
        return StripeWebhook.construct_event(body, headers["Stripe-Signature"], WHSEC)


class Twilio:
    name = "python-twilio"
    provider = "twilio"
    secret = TEXT
    headers = FORM | {"I-Twilio-Idempotency-Token": "d8e1c0a0-0003"}
    body = "Body=paid+%26+done&From=%2B15017122661&MediaUrl=b&MediaUrl=a&MessageSid=SM1"

    def sign(self, now, url):
        return {"X-Twilio-Signature": RequestValidator(TEXT).compute_signature(url, form(self.body.encode()))}

    def verify(self, body, headers, url):
        return RequestValidator(TEXT).validate(url, form(body), headers["X-Twilio-Signature"])


class StandardWebhooks:
    name = "python-standard-webhooks"
    provider = "standard-webhooks"
    secret = WHSEC
    headers = JSON
    body = '{"type":"invoice.paid","data":{"text":"für drei Äpfel"}}'

    def sign(self, now, url):
        signature = Webhook(WHSEC).sign("msg_python", datetime.fromtimestamp(now, timezone.utc), self.body)
        return {"webhook-id": "msg_python", "webhook-timestamp": str(now), "webhook-signature": signature}

    def verify(self, body, headers, url):
        return Webhook(WHSEC).verify(body, dict(headers))


class Ours(Slack):
    """An event of Slack's that reaches an app which checks our signature alone."""

    name = "ours-by-python-standardwebhooks"
    sign_secret = WHSEC
    sealed = ["webhook-id", "webhook-timestamp", "webhook-signature"]

    def verify(self, body, headers, url):
        return Webhook(WHSEC).verify(body, dict(headers))


class Fields(dict):
    """Form fields as Twilio's validator wants them: a name may have several values."""

    def getlist(self, name):
        return self[name]


def form(body):
    fields = Fields()
    for name, value in parse_qsl(body.decode(), keep_blank_values=True):
        fields.setdefault(name, []).append(value)
    return fields


ROWS = [Slack(), Stripe(), Twilio(), StandardWebhooks(), Ours()]
