package action

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// httpInfo describes the type.
var httpInfo = Info{
	Type: TypeHTTP, Member: "http", Flag: "http", Usage: "call an endpoint with this `method`; the URL follows JOB",
	Does: "calls an HTTP endpoint", Notifies: true,
	members: []string{
		"method", "url", "endpoints", "headers", "body", "body_base64", "payload", "success", "follow_redirects", "allow_http",
		"response_timeout_seconds", "capture_headers", "auth", "callback",
	},
	decode: func(d *Definition, o *object) {
		d.HTTP = decodeHTTP(o)
		if d.HTTP.Success.Preset == PresetSAP {
			d.sapCallback(o)
		}
	},
}

func (h *HTTP) slots(l *slotList) {
	l.add("$.url", placeURL, &h.URL)
	for i := range h.Endpoints {
		l.add(fmt.Sprintf("$.endpoints[%d]", i), placeURL, &h.Endpoints[i])
	}
	for i := range h.Headers {
		l.add(h.headerPath(i, "value"), placeHeader, &h.Headers[i].Value)
	}
	if a := h.Auth; a != nil {
		l.add("$.auth.username", placeHeader, &a.Username)
		l.secret("$.auth.password", placeHeader, &a.Password)
		l.secret("$.auth."+a.valueMember(), placeHeader, &a.Value)
		l.add("$.auth.token_url", placeURL, &a.TokenURL)
		l.add("$.auth.client_id", placeText, &a.ClientID)
		l.secret("$.auth.client_secret", placeText, &a.ClientSecret)
		l.add("$.auth.scope", placeText, &a.Scope)
		l.add("$.auth.audience", placeText, &a.Audience)
		l.secret("$.auth.certificate", placeText, &a.Certificate)
		for i := range a.Keys {
			l.secret(fmt.Sprintf("$.auth.keys[%d]", i), placeText, &a.Keys[i])
		}
	}
	if len(h.Body) > 0 && !h.BodyBase64 {
		l.all = append(l.all, slot{path: "$.body", place: h.bodyPlace(), text: string(h.Body), set: func(s string) { h.Body = []byte(s) }})
	}
}

func (h *HTTP) check(c checker) {
	if !token.MatchString(h.Method) || len(h.Method) > 32 || h.Method == "CONNECT" {
		c.fault("$.method", "invalid method %q: want GET, HEAD, POST, PUT, PATCH, DELETE or another method of HTTP", clip(h.Method))
	}
	if h.URL != "" {
		c.address("$.url", h.URL, h.AllowHTTP)
	}
	for i, e := range h.Endpoints {
		c.address(fmt.Sprintf("$.endpoints[%d]", i), e, h.AllowHTTP)
	}
	c.headers(h)
	noBody := h.Method == "GET" || h.Method == "HEAD"
	if noBody && len(h.Body) > 0 && !c.expanded {
		c.fault("$.body", "a request with the method %s has no body: want another method, or \"payload\": \"query\"", h.Method)
	}
	if noBody && h.Payload == PayloadBody {
		c.fault("$.payload", "a request with the method %s has no body: want \"query\"", h.Method)
	}
	if h.Payload == PayloadBody && len(h.Body) > 0 {
		c.fault("$.payload", "the request has a body already: want \"query\", or no member body")
	}
	c.limit("$.body", string(h.Body), "bytes", maxBody)
	c.success(h.Success)
	for i, name := range h.CaptureHeaders {
		path := fmt.Sprintf("$.capture_headers[%d]", i)
		switch lower := strings.ToLower(name); {
		case !token.MatchString(name):
			c.fault(path, "invalid header name %q: want letters, digits and hyphens", clip(name))
		case lower == "set-cookie", lower == "authorization", lower == "www-authenticate":
			c.fault(path, "invalid header name %q: its values are never stored", name)
		}
	}
	if h.Auth != nil {
		c.auth(h)
	}
}

// Endpoint returns the URL of an attempt, which counts from 1.
func (h *HTTP) Endpoint(attempt int) string {
	if len(h.Endpoints) == 0 {
		return h.URL
	}
	return h.Endpoints[(max(attempt, 1)-1)%len(h.Endpoints)]
}

// ServerOf returns the name of the server that an attempt calls; see [Definition.Server].
func (h *HTTP) ServerOf(attempt int) (string, error) { return serverOf(h.Endpoint(attempt)) }

func (h *HTTP) server() (string, error) { return h.ServerOf(1) }

func (h *HTTP) addresses(attempt int) []string {
	list := []string{h.Endpoint(attempt)}
	if h.Auth != nil && h.Auth.TokenURL != "" {
		list = append(list, h.Auth.TokenURL)
	}
	return list
}

func (h *HTTP) addressed(d *Definition) *string {
	d.HTTP = &HTTP{URL: h.Endpoint(1)}
	return &d.HTTP.URL
}

func (h *HTTP) copyTo(d *Definition) {
	c := *h
	c.Endpoints, c.Headers, c.Body = slices.Clone(h.Endpoints), slices.Clone(h.Headers), slices.Clone(h.Body)
	if h.Auth != nil {
		c.Auth = new(*h.Auth)
		c.Auth.Keys = slices.Clone(h.Auth.Keys)
	}
	d.HTTP = &c
}

func (h *HTTP) parts(add func(name, text string)) {
	if h.URL != "" {
		add("request", h.Method+" "+h.URL)
	} else {
		add("request", h.Method+" "+strings.Join(h.Endpoints, ", then "))
	}
	for _, f := range h.Headers {
		add("header", f.Name+": "+f.Value)
	}
	switch {
	case h.BodyBase64:
		add("body", fmt.Sprintf("%d bytes in base64: %s", len(h.Body), base64.StdEncoding.EncodeToString(h.Body)))
	case utf8.Valid(h.Body):
		add("body", string(h.Body))
	}
	if h.Payload != "" {
		add("parameters", "in the "+string(h.Payload))
	}
	s := h.Success
	texts := []string{}
	switch s.Preset {
	case PresetWebhook, PresetAzure:
		texts = append(texts, "200-299")
	case PresetSAP:
		texts = append(texts, "200-399")
	}
	for _, r := range s.Ranges {
		texts = append(texts, r.String())
	}
	rule := strings.Join(texts, ", ")
	if s.BodyMatches != "" {
		rule += fmt.Sprintf(", body matches %q", s.BodyMatches)
	}
	if s.BodyFailsOn != "" {
		rule += fmt.Sprintf(", body does not match %q", s.BodyFailsOn)
	}
	add("success", rule)
	if h.FollowRedirects > 0 {
		add("redirects", fmt.Sprintf("at most %d", h.FollowRedirects))
	}
	add("answer", "within "+h.ResponseTimeout.String())
	add("keep", strings.Join(h.CaptureHeaders, ", "))
	if a := h.Auth; a != nil {
		text := a.Kind
		for _, part := range [][2]string{{"user", a.Username}, {"client", a.ClientID}, {"token", a.TokenURL}, {"header", a.Header}} {
			if part[1] != "" {
				text += ", " + part[0] + " " + part[1]
			}
		}
		add("auth", text)
	}
}
