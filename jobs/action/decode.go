package action

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/suggest"
)

// ParseType returns the type with a name, in any case. An empty name is T-SQL.
func ParseType(text string) (Type, error) {
	if text == "" {
		return TypeTSQL, nil
	}
	names := make([]string, len(Types()))
	for i, t := range Types() {
		if strings.EqualFold(string(t), text) {
			return t, nil
		}
		names[i] = string(t)
	}
	return "", fmt.Errorf("invalid command type %q: want %s%s", clip(text), strings.Join(names, ", "), suggest.DidYouMean(text, names))
}

// Decode reads the definition of an action, the JSON text of a step's command, and sets defaults.
// The error is *Faults with all faults.
func Decode(t Type, text string) (*Definition, error) {
	faults := &Faults{}
	d := &Definition{Type: t}
	info := t.Info()
	if info.decode == nil {
		faults.add("$", "a command of type %s has no definition", t)
		return nil, faults
	}
	o := parse(faults, text, info.members)
	if o == nil {
		return nil, faults
	}
	d.Callback = decodeCallback(o)
	info.decode(d, o)
	d.check(faults, false)
	if err := faults.err(); err != nil {
		return nil, err
	}
	return d, nil
}

func decodeCallback(o *object) *Callback {
	m := o.get("callback")
	if m == nil {
		return nil
	}
	switch kind(m) {
	case "true or false":
		if o.boolean("callback") {
			return &Callback{}
		}
		return nil
	case "an object":
		c := newObject(o.faults, m, []string{"timeout_seconds", "only_202"})
		return &Callback{
			Timeout:        time.Duration(c.integer("timeout_seconds", 1, maxCallbackSeconds, 0)) * time.Second,
			StatusAccepted: c.boolean("only_202"),
		}
	}
	o.faults.add(pathOf(m), "invalid value: want true, false or an object, not %s", kind(m))
	return nil
}

// sapCallback gives an action with the preset sap its callback.
func (d *Definition) sapCallback(o *object) {
	if d.Callback == nil {
		if o.get("callback") != nil && !o.faults.has("$.callback") {
			o.faults.add("$.callback", "invalid value: with the preset sap, the answer 202 waits for a report; want true or an object")
		}
		d.Callback = &Callback{}
	}
	d.Callback.StatusAccepted = true
}

func decodeHTTP(o *object) *HTTP {
	h := &HTTP{
		Method: "POST", URL: o.text("url"), AllowHTTP: o.boolean("allow_http"),
		Endpoints:       o.texts("endpoints", maxEndpoints),
		FollowRedirects: int(o.integer("follow_redirects", 0, maxRedirects, 0)),
		CaptureHeaders:  o.texts("capture_headers", 20),
		Payload:         PayloadPlace(o.choice("payload", "", string(PayloadQuery), string(PayloadBody))),
	}
	if m := o.get("method"); m != nil {
		h.Method = strings.ToUpper(o.text("method"))
	}
	switch hasEndpoints := o.get("endpoints") != nil; {
	case h.URL != "" && hasEndpoints:
		o.faults.add("$.endpoints", "the definition has a url, too: want one of the two")
	case h.URL == "" && !hasEndpoints:
		o.faults.add("$.url", "missing: want a URL, or the member endpoints")
	case hasEndpoints && len(h.Endpoints) == 0:
		o.faults.add("$.endpoints", "invalid list: want at least one URL")
	}
	for i, e := range h.Endpoints {
		if e == "" {
			o.faults.add(fmt.Sprintf("$.endpoints[%d]", i), "missing: want a URL")
		}
	}
	decodeHeaders(o, h)
	decodeBody(o, h)
	h.Success = decodeSuccess(o)
	h.ResponseTimeout = time.Duration(o.integer("response_timeout_seconds", 1, maxResponseSeconds, responseSeconds(h.Success.Preset))) * time.Second
	h.Auth = decodeAuth(o)
	return h
}

// responseSeconds returns the default time for an answer.
func responseSeconds(p Preset) int64 {
	switch p {
	case PresetSAP:
		return 15
	case PresetAzure:
		return 60
	}
	return 30
}

// decodeHeaders reads headers: an object of names and values, or an array of objects with name and
// value.
func decodeHeaders(o *object, h *HTTP) {
	m := o.get("headers")
	if m == nil {
		return
	}
	switch kind(m) {
	case "an object":
		h.headersObject = true
		fields := newObject(o.faults, m, nil)
		for _, f := range fields.members {
			if k := kind(f); k != "a string" {
				o.faults.add(pathOf(f), "invalid value: want a string, not %s", k)
				continue
			}
			h.Headers = append(h.Headers, Field{Name: f.Name, Value: f.Text})
		}
	case "an array":
		for _, e := range elements(o.faults, m, 1000) {
			f := newObject(o.faults, e, []string{"name", "value"})
			field := Field{}
			if f != nil {
				field = Field{Name: f.required("name"), Value: f.text("value")}
				if f.get("value") == nil {
					o.faults.add(f.at("value"), "missing: want a text")
				}
			}
			h.Headers = append(h.Headers, field) // also after a fault, so that later paths are correct
		}
	default:
		o.faults.add(pathOf(m), "invalid value: want an object or an array, not %s", kind(m))
	}
}

func decodeBody(o *object, h *HTTP) {
	var text string
	text, h.BodyJSON = o.textOrJSON("body")
	h.Body = []byte(text)
	if m := o.get("body_base64"); m != nil {
		if o.get("body") != nil {
			o.faults.add(pathOf(m), "the definition has a body, too: want one of the two")
			return
		}
		body, err := base64.StdEncoding.DecodeString(o.text("body_base64"))
		if err != nil {
			o.faults.add(pathOf(m), "invalid text: want base64 with padding")
			return
		}
		h.Body, h.BodyBase64 = body, true
	}
	if len(h.Body) == 0 {
		h.Body = nil
	}
}

func decodeSuccess(o *object) Success {
	presets := []string{string(PresetWebhook), string(PresetAzure), string(PresetSAP)}
	s := Success{Preset: PresetWebhook}
	m := o.get("success")
	if m == nil {
		return s
	}
	if m.Kind == '"' {
		s.Preset = Preset(o.choice("success", string(PresetWebhook), presets...))
		return s
	}
	if m.Kind != '{' {
		o.faults.add(pathOf(m), "invalid value: want webhook, azure, sap or an object, not %s", kind(m))
		return s
	}
	rules := newObject(o.faults, m, []string{"preset", "status", "body_matches", "body_fails_on"})
	s.Preset = Preset(rules.choice("preset", string(PresetWebhook), presets...))
	s.BodyMatches, s.BodyFailsOn = rules.text("body_matches"), rules.text("body_fails_on")
	if rules.get("status") == nil {
		return s
	}
	if rules.get("preset") != nil {
		rules.faults.add(rules.at("status"), "the rule has a preset, too: want one of the two")
	}
	s.Preset = ""
	list := rules.list("status", 100)
	if len(list) == 0 {
		rules.faults.add(rules.at("status"), "invalid list: want at least one status")
	}
	for _, e := range list {
		s.Ranges = append(s.Ranges, statusRange(o.faults, e))
	}
	return s
}

// statusRange reads a status, as a number or text, or a range such as "200-299".
func statusRange(faults *Faults, e *member) StatusRange {
	text := ""
	switch kind(e) {
	case "a number":
		text = e.Raw
	case "a string":
		text = e.Text
	default:
		faults.add(pathOf(e), "invalid value: want a number or a string, not %s", kind(e))
		return StatusRange{}
	}
	low, high, isRange := strings.Cut(text, "-")
	from, err := strconv.Atoi(strings.TrimSpace(low))
	to := from
	if err == nil && isRange {
		to, err = strconv.Atoi(strings.TrimSpace(high))
	}
	if err != nil {
		faults.add(pathOf(e), "invalid status %q: want a status from 200 to 599, or a range such as \"200-299\"", clip(text))
	}
	return StatusRange{From: from, To: to}
}

// authMembers are the members of each kind of authentication.
var authMembers = map[string][]string{
	"basic":                     {"kind", "username", "password"},
	"api-key":                   {"kind", "header", "value"},
	"bearer":                    {"kind", "token"},
	"oauth2-client-credentials": {"kind", "token_url", "client_id", "client_secret", "scope", "audience"},
	"client-certificate":        {"kind", "certificate"},
	"standard-webhooks":         {"kind", "keys"},
}

var authKinds = []string{"basic", "api-key", "bearer", "oauth2-client-credentials", "client-certificate", "standard-webhooks"}

func decodeAuth(o *object) *Auth {
	m := o.ofKind("auth", "an object")
	if m == nil {
		return nil
	}
	probe := newObject(&Faults{}, m, nil) // repeated members are reported below
	probe.faults = o.faults
	name := probe.choice("kind", "", authKinds...)
	if name == "" {
		probe.faults.add(probe.at("kind"), "missing: want %s", strings.Join(authKinds, ", "))
		return nil
	}
	a := newObject(o.faults, m, authMembers[name])
	auth := &Auth{Kind: name}
	switch name {
	case "basic":
		auth.Username, auth.Password = a.required("username"), a.required("password")
	case "api-key":
		auth.Header, auth.Value = a.text("header"), a.required("value")
		if auth.Header == "" {
			auth.Header = "X-API-Key"
		}
	case "bearer":
		auth.Value = a.required("token")
	case "oauth2-client-credentials":
		auth.TokenURL, auth.ClientID, auth.ClientSecret = a.required("token_url"), a.required("client_id"), a.required("client_secret")
		auth.Scope, auth.Audience = a.text("scope"), a.text("audience")
	case "client-certificate":
		auth.Certificate = a.required("certificate")
	case "standard-webhooks":
		auth.Keys = a.texts("keys", 5)
		if len(auth.Keys) == 0 {
			a.faults.add(a.at("keys"), "missing: want a list of at least one secret")
		}
		for i, key := range auth.Keys {
			if key == "" {
				a.faults.add(fmt.Sprintf("%s[%d]", a.at("keys"), i), "missing: want a text")
			}
		}
	}
	return auth
}

// decodeMessage reads the text of a message: a string, or another value as JSON.
func decodeMessage(o *object) string {
	text, _ := o.textOrJSON("message")
	if o.get("message") == nil {
		o.faults.add(o.at("message"), "missing: want a text or a JSON value")
	}
	return text
}
