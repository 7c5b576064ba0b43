package action

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"time"
)

// Encode returns the definition as canonical JSON: members in the order of the documentation,
// without those that have their default. Decode of the result returns an equal definition.
func (d *Definition) Encode() string {
	var w writer
	if c := d.content(); c != nil {
		c.encode(&w)
	}
	implied := d.HTTP != nil && d.HTTP.Success.Preset == PresetSAP
	if c := d.Callback; c != nil && (!implied || c.Timeout != 0) {
		if c.Timeout == 0 && !c.StatusAccepted {
			w.add("callback", true)
		} else {
			var inner writer
			inner.number("timeout_seconds", int64(c.Timeout/time.Second))
			inner.truth("only_202", c.StatusAccepted && !implied)
			w.add("callback", inner.object())
		}
	}
	return string(w.object())
}

// writer writes the members of a JSON object in their order.
type writer struct{ b bytes.Buffer }

// add writes a member.
func (w *writer) add(name string, value any) {
	if w.b.Len() > 0 {
		w.b.WriteByte(',')
	}
	w.b.WriteString(`"` + jsonEscape(name) + `":`)
	if raw, ok := value.(json.RawMessage); ok {
		w.b.Write(raw)
		return
	}
	e := json.NewEncoder(&w.b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // a text, number, truth value, or a list of them
	w.b.Truncate(w.b.Len() - 1)
}

func (w *writer) object() json.RawMessage { return json.RawMessage("{" + w.b.String() + "}") }

// These methods write a member unless it has its zero value.

func (w *writer) text(name, value string) {
	if value != "" {
		w.add(name, value)
	}
}

func (w *writer) number(name string, value int64) {
	if value != 0 {
		w.add(name, value)
	}
}

func (w *writer) truth(name string, value bool) {
	if value {
		w.add(name, value)
	}
}

func (w *writer) texts(name string, values []string) {
	if len(values) > 0 {
		w.add(name, values)
	}
}

func (h *HTTP) encode(w *writer) {
	w.add("method", h.Method)
	w.text("url", h.URL)
	w.texts("endpoints", h.Endpoints)
	if len(h.Headers) > 0 {
		w.add("headers", h.encodeHeaders())
	}
	switch {
	case h.BodyBase64:
		w.add("body_base64", base64.StdEncoding.EncodeToString(h.Body))
	case h.BodyJSON:
		w.add("body", json.RawMessage(h.Body))
	default:
		w.text("body", string(h.Body))
	}
	w.text("payload", string(h.Payload))
	h.Success.encode(w)
	w.number("follow_redirects", int64(h.FollowRedirects))
	w.truth("allow_http", h.AllowHTTP)
	if seconds := int64(h.ResponseTimeout / time.Second); seconds != responseSeconds(h.Success.Preset) {
		w.number("response_timeout_seconds", seconds)
	}
	w.texts("capture_headers", h.CaptureHeaders)
	if h.Auth != nil {
		w.add("auth", h.Auth.encode())
	}
}

// encodeHeaders returns an object, or an array if a name occurs twice.
func (h *HTTP) encodeHeaders() json.RawMessage {
	names := map[string]bool{}
	for _, f := range h.Headers {
		names[f.Name] = true
	}
	if len(names) == len(h.Headers) {
		var fields writer
		for _, f := range h.Headers {
			fields.add(f.Name, f.Value)
		}
		return fields.object()
	}
	list := make([][]byte, len(h.Headers))
	for i, f := range h.Headers {
		var field writer
		field.add("name", f.Name)
		field.add("value", f.Value)
		list[i] = field.object()
	}
	return append(append(json.RawMessage("["), bytes.Join(list, []byte(","))...), ']')
}

func (s Success) encode(w *writer) {
	var rules writer
	if s.Preset != "" && s.Preset != PresetWebhook {
		if s.BodyMatches == "" && s.BodyFailsOn == "" {
			w.add("success", string(s.Preset))
			return
		}
		rules.add("preset", string(s.Preset))
	}
	if len(s.Ranges) > 0 {
		texts := make([]any, len(s.Ranges))
		for i, r := range s.Ranges {
			texts[i] = r.String()
			if r.From == r.To {
				texts[i] = r.From
			}
		}
		rules.add("status", texts)
	}
	rules.text("body_matches", s.BodyMatches)
	rules.text("body_fails_on", s.BodyFailsOn)
	if rules.b.Len() > 0 {
		w.add("success", rules.object())
	}
}

func (a *Auth) encode() json.RawMessage {
	var w writer
	w.add("kind", a.Kind)
	w.text("username", a.Username)
	w.text("password", a.Password)
	if a.Header != "X-API-Key" {
		w.text("header", a.Header)
	}
	w.text(a.valueMember(), a.Value)
	w.text("token_url", a.TokenURL)
	w.text("client_id", a.ClientID)
	w.text("client_secret", a.ClientSecret)
	w.text("scope", a.Scope)
	w.text("audience", a.Audience)
	w.text("certificate", a.Certificate)
	w.texts("keys", a.Keys)
	return w.object()
}
