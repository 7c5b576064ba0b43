package alerts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets/mail"
	"github.com/jobagent/jobagent/targets/outbound"
)

// The types of channels that are not types of actions.
const (
	typeMail  = "Mail"
	typeSlack = "Slack"
	typeTeams = "Teams"
)

// webhook is the definition of a channel of type Slack or Teams.
type webhook struct {
	URL       string `json:"url"`
	AllowHTTP bool   `json:"allow_http,omitempty"`
}

// mailChannel is the definition of a channel of type Mail.
type mailChannel struct {
	Host     string        `json:"host"`
	Port     int           `json:"port"`
	Security mail.Security `json:"security"`
	Username string        `json:"username"`
	Password string        `json:"password"`
	From     string        `json:"from"`
	To       []string      `json:"to"`
}

// Check checks the definition of a channel; the error has its faults. The control database also
// finds most of them.
func Check(channelType, definition string) error {
	if channelType != typeMail {
		_, err := decode(channelType, definition)
		return err
	}
	m, err := decodeMail(definition)
	if err != nil {
		return err
	}
	for _, a := range append([]string{m.From}, m.To...) {
		if _, err := mail.Address(a); err != nil {
			return err
		}
	}
	_, err = m.action()
	return err
}

// decode returns the action of a channel. An action without a body or message sends the
// notification.
func decode(channelType, definition string) (*action.Definition, error) {
	if channelType == typeSlack || channelType == typeTeams {
		var w webhook
		if err := strict(definition, &w); err != nil {
			return nil, fmt.Errorf("definition of a channel of type %s: %w", channelType, err)
		}
		// The whole address is a secret. A URL cannot be one template, so the address is a header
		// until expand moves it.
		text, err := json.Marshal(map[string]any{
			"method": "POST", "url": "https://webhook.invalid/", "allow_http": w.AllowHTTP,
			"headers": map[string]string{"Content-Type": "application/json", addressHeader: w.URL},
		})
		if err != nil {
			return nil, fmt.Errorf("write the request of a channel: %w", err)
		}
		return action.Decode(action.TypeHTTP, string(text))
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(definition), &members); err != nil {
		return nil, fmt.Errorf("definition of a channel of type %s: %w", channelType, err)
	}
	absent := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return members[name] != nil })
	}
	switch {
	case channelType == string(action.TypeHTTP):
		var method string
		_ = json.Unmarshal(members["method"], &method) // Decode reports a fault
		if absent("body", "body_base64", "payload") && !slices.Contains([]string{"GET", "HEAD"}, strings.ToUpper(method)) {
			definition = withMember(definition, `"payload":"body"`)
		}
		if absent("method") {
			definition = withMember(definition, `"method":"POST"`)
		}
	case absent("message"):
		definition = withMember(definition, `"message":"$(payload)"`)
	}
	return action.Decode(action.Type(channelType), definition)
}

// addressHeader holds the address of a webhook in its definition, until it is expanded.
const addressHeader = "X-Webhook-Address"

// expand expands the definition of a channel.
func expand(channelType string, d *action.Definition, variables action.Variables) (*action.Definition, error) {
	expanded, err := d.Expand(variables)
	if err != nil || channelType != typeSlack && channelType != typeTeams {
		return expanded, err
	}
	h := expanded.HTTP
	at := slices.IndexFunc(h.Headers, func(f action.Field) bool { return f.Name == addressHeader })
	h.URL = strings.TrimSpace(h.Headers[at].Value)
	h.Headers = slices.Delete(h.Headers, at, at+1)
	return expanded, nil
}

// withMember adds a member to the text of a JSON object.
func withMember(object, member string) string {
	rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(object), "{"))
	if rest != "}" {
		member += ","
	}
	return "{" + member + rest
}

// strict decodes JSON and refuses unknown members.
func strict(text string, to any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// decodeMail decodes the definition of a channel of type Mail.
func decodeMail(definition string) (m mailChannel, err error) {
	if err = strict(definition, &m); err != nil {
		err = fmt.Errorf("definition of a channel of type Mail: %w", err)
	}
	return m, err
}

// action returns an action for the login of the mail server, so that its templates are expanded,
// and the hosts of its secret are checked, as for every action.
func (m mailChannel) action() (*action.Definition, error) {
	server := mail.Server{Host: m.Host, Port: m.Port, Security: m.Security}
	members := map[string]any{"method": "POST", "url": (&url.URL{Scheme: "https", Host: server.Address(), Path: "/"}).String()}
	if m.Username != "" {
		members["auth"] = map[string]string{"kind": "basic", "username": m.Username, "password": m.Password}
	}
	text, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("write the login of a channel: %w", err)
	}
	return action.Decode(action.TypeHTTP, string(text))
}

// sendMail sends a delivery as an e-mail.
func (s *Service) sendMail(
	ctx context.Context, w alerting.Work, n notification, begin func(ctx context.Context) (time.Time, error),
) error {
	m, err := decodeMail(w.Definition)
	if err != nil {
		return err
	}
	login, err := m.action()
	if err != nil {
		return err
	}
	if login, err = login.Expand(s.variables(ctx, w, nil)); err != nil {
		return err
	}
	if err := outbound.CheckSecrets(login, w.Attempt); err != nil {
		return err
	}
	server := mail.Server{Host: m.Host, Port: m.Port, Security: m.Security}
	if auth := login.HTTP.Auth; auth != nil {
		server.Username, server.Password = auth.Username, auth.Password
	}
	html, err := n.html()
	if err != nil {
		return err
	}
	return s.cfg.Mail.Send(ctx, server, mail.Message{
		ID: w.NotificationID, From: m.From, To: m.To, Subject: n.subject(), Text: n.text(), HTML: html, Date: w.CreatedAt,
	}, begin)
}
