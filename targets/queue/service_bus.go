package queue

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets/outbound"
)

// serviceBusScope is what a token of Microsoft Entra ID must be for.
const serviceBusScope = "https://servicebus.azure.net/.default"

// maxServiceBusBody bounds a message's text. Premium namespaces take 1 MB by HTTPS; the service
// refuses what is too large for its tier.
const maxServiceBusBody = 1 << 20

// checkServiceBus checks what both protocols need, and returns the host and the broker properties
// with the message's ID.
func (t *attempt) checkServiceBus(b *action.ServiceBus) (host string, broker action.BrokerProperties, err error) {
	if host, err = serviceBusHost(b); err != nil {
		return "", broker, err
	}
	if err := checkEntity(b.Entity); err != nil {
		return "", broker, err
	}
	if err := checkBroker(b.Broker); err != nil {
		return "", broker, err
	}
	if len(b.Message) > maxServiceBusBody {
		return "", broker, faultf("the message has %d bytes: want at most %d", len(b.Message), maxServiceBusBody)
	}
	broker = b.Broker
	broker.MessageID = cmp.Or(broker.MessageID, t.Key.String())
	return host, broker, nil
}

// sendHTTPS sends a message to a queue or topic of Service Bus
// (https://learn.microsoft.com/rest/api/servicebus/send-message-to-queue).
func (t *attempt) sendHTTPS(ctx context.Context, b *action.ServiceBus) error {
	host, broker, err := t.checkServiceBus(b)
	if err != nil {
		return err
	}
	custom, err := customHeaders(b.Properties)
	if err != nil {
		return err
	}
	if strings.ContainsAny(b.ContentType, "\r\n\x00") {
		return faultf("invalid content_type: want no line breaks")
	}
	resource := &url.URL{Scheme: "https", Host: host, Path: "/" + b.Entity}
	auth, signature, err := t.serviceBusAuthorization(b, resource)
	if err != nil {
		return err
	}
	u := resource.JoinPath("messages")
	// The service gives up before the agent does.
	u.RawQuery = "timeout=" + serverTimeout(t.cfg.AnswerTimeout)
	got, err := t.exchange(ctx, auth, func(ctx context.Context) (*http.Request, error) {
		r := newPost(u, []byte(b.Message))
		if b.ContentType != "" {
			r.Header.Set("Content-Type", b.ContentType)
		}
		r.Header["BrokerProperties"] = []string{brokerProperties(broker)} // the service's spelling
		// Without this header, the service itself sends a message again after some errors.
		r.Header.Set("x-ms-retrypolicy", "NoRetry")
		for _, field := range custom {
			r.Header[field.Name] = []string{field.Value} // Set would change the case of the name
		}
		if signature != "" {
			r.Header.Set("Authorization", signature)
			return r, nil
		}
		return r, authorize(ctx, auth, r, serviceBusScope)
	})
	if err != nil {
		return err
	}
	if got.status == http.StatusCreated {
		t.summary = "Service Bus has the message."
		t.remark("MessageId", broker.MessageID)
		return nil
	}
	t.keepBody(got)
	// 403 says that the quota is used up, among others.
	retried := statusRetried(got.status) || got.status == http.StatusForbidden
	return refused(got, "Service Bus", serviceBusDetail(got.body), retried)
}

// serviceBusDetail returns what the body of a refusal says: the element Detail of an XML document,
// or the text itself.
func serviceBusDetail(body string) string {
	var fault struct {
		Detail string `xml:"Detail"`
	}
	if err := decodeXML(body, &fault); err == nil && fault.Detail != "" {
		return oneLine(fault.Detail, 500)
	}
	return oneLine(body, 500)
}

// serviceBusAuthorization returns what authorizes messages to resource: a signature by the key of
// the definition or of the step's credential, or a credential that gets tokens. scheme and host of
// the resource name the protocol.
func (t *attempt) serviceBusAuthorization(
	b *action.ServiceBus, resource *url.URL,
) (auth *outbound.Auth, signature string, err error) {
	keyName, key := b.KeyName, b.Key
	t.mask.Add(key)
	auth, err = t.cfg.Network.Authentication(t.Credential, nil, false, resource, t.mask)
	switch {
	case err != nil:
		return nil, "", err
	case key != "" && auth != nil:
		return nil, "", faultf("the definition has a key, and the step names the credential %q: want one of them",
			t.Credential)
	case key == "" && auth == nil:
		return nil, "", faultf("nothing authorizes the message: " +
			"want a key in the definition, or a credential of the step")
	case key != "" && keyName == "":
		return nil, "", faultf("the name of the key is missing")
	case auth != nil:
		switch auth.Kind() {
		case outbound.KindSharedAccessKey:
			keyName, key = auth.User(), auth.Secret()
		case outbound.KindSASToken:
			signature, err = givenSignature(auth.Secret())
			t.maskSignature(signature)
			return auth, signature, err
		case outbound.KindOAuth2, outbound.KindManagedIdentity, outbound.KindAzureDefault, outbound.KindBearer:
			return auth, "", nil
		default:
			return nil, "", auth.Error(fmt.Errorf(
				"kind %s does not authorize messages of Service Bus: want %s, %s, %s, %s or %s", auth.Kind(),
				outbound.KindSharedAccessKey, outbound.KindSASToken, outbound.KindOAuth2,
				outbound.KindManagedIdentity, outbound.KindAzureDefault))
		}
	}
	signature = signServiceBus(resource.String(), keyName, key, time.Now().Add(sasLifetime))
	t.maskSignature(signature)
	return auth, signature, nil
}

// givenSignature checks a shared access signature of a credential. No error repeats it.
func givenSignature(token string) (string, error) {
	token = strings.TrimSpace(token)
	if !strings.HasPrefix(token, "SharedAccessSignature ") || !strings.Contains(token, "sig=") ||
		strings.ContainsFunc(token, func(r rune) bool { return r < ' ' || r >= 0x7F || r == ';' }) {
		return "", faultf("invalid shared access signature: want SharedAccessSignature sr=…&sig=…&se=…&skn=…")
	}
	return token, nil
}

// maskSignature adds a token and the signature in it to the mask.
func (t *attempt) maskSignature(token string) {
	t.mask.Add(token)
	_, rest, found := strings.Cut(token, "sig=")
	if !found {
		return
	}
	raw, _, _ := strings.Cut(rest, "&")
	t.mask.Add(raw)
	if sig, err := url.QueryUnescape(raw); err == nil {
		t.mask.Add(sig)
	}
}
