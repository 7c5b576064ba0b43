package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/jobs/action"
)

// secret returns the template of a secret, and reports that the reader has to set it. place tells
// the secrets of a job apart.
func (r *Result) secret(job, element, place, what string) string {
	name := nameOf(job, "job")
	if short, was := cut(name, maxName-64); was {
		name = strings.Trim(short, "-")
	}
	for part := range strings.SplitSeq(place, ".") {
		if part != "" {
			name += "-" + nameOf(part, "value")
		}
	}
	base, _ := cut(name, maxName-4)
	name = base
	for i := 2; r.secrets[name]; i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	if r.secrets == nil {
		r.secrets = map[string]bool{}
	}
	r.secrets[name] = true
	r.toSet(job, element, "%s is a secret: store it with \"jobagent secret set %s --host PATTERN\"", what, name)
	return "$(secret." + name + ")"
}

// nameOf returns a text as a part of the name of a secret or an entry. spare replaces an empty one,
// and precedes one that begins with a digit.
func nameOf(text, spare string) string {
	name := strings.Trim(notNamePart.ReplaceAllString(strings.ToLower(text), "-"), "-")
	switch {
	case name == "":
		return spare
	case name[0] >= '0' && name[0] <= '9':
		return spare + "-" + name
	}
	return name
}

// notNamePart matches the characters that such a part does not have.
var notNamePart = regexp.MustCompile(`[^a-z0-9_]+`)

// literal returns a text of the original as a text of a definition, in which $( begins a template.
func literal(text string) string { return strings.ReplaceAll(text, "$(", "$$(") }

// setAction sets the command of a step, or reports why the definition of the action is not valid.
// what describes the action for the reader.
func (r *Result) setAction(job, element, what string, step *Step, d *action.Definition) {
	step.Type, step.Command = d.Type, d.Encode()
	_, err := action.Decode(d.Type, step.Command)
	var faults *action.Faults
	if !errors.As(err, &faults) {
		return
	}
	for _, f := range faults.List {
		r.lost(job, element, "%s is not created: %s", what, f)
	}
	step.Command, step.Action = "", what
}

// requestURL returns a URL without user, password and fragment, and with templates for the values
// of parameters whose names are those of secrets. user and password are those of the URL.
func (r *Result) requestURL(job, element, place, text string) (address string, user *url.Userinfo) {
	address, _, hasFragment := strings.Cut(text, "#")
	if hasFragment {
		r.note(job, element, "the fragment of the URL is left out: it is never sent")
	}
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		return literal(address), nil
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		name, password, _ := strings.Cut(rest[:at], ":")
		user = url.UserPassword(unescaped(name), password)
		rest = rest[at+1:]
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	address = literal(scheme + "://" + rest)
	if !hasQuery {
		return address, user
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if plain := unescaped(name); value != "" && secretParameter(plain) {
			pairs[i] = name + "=" + r.secret(job, element, place+plain, fmt.Sprintf("the parameter %q of the URL", plain))
		} else {
			pairs[i] = literal(pair)
		}
	}
	return address + "?" + strings.Join(pairs, "&"), user
}

// unescaped returns a text of a URL without percent-encoding.
func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// secretParameter reports whether a parameter of a URL has a secret value.
func secretParameter(name string) bool {
	return secretName.MatchString(name) || strings.EqualFold(name, "code") || strings.EqualFold(name, "sig")
}

// authorizationScheme matches the scheme before a credential, as in Bearer and Basic.
var authorizationScheme = regexp.MustCompile(`^(?i:basic|bearer|token|apikey|sharedaccesssignature) +`)

// forbiddenHeader matches the headers that the agent sets itself. Definitions cannot have them.
var forbiddenHeader = regexp.MustCompile(`(?i)^(?:host|content-length|transfer-encoding|connection|upgrade|te|trailer|proxy-.*|webhook-.*|x-sap-.*|traceparent|tracestate|idempotency-key)$`)

// computedHeader matches forbidden headers that follow from the request.
var computedHeader = regexp.MustCompile(`(?i)^(?:content-length|transfer-encoding|connection)$`)

// maxHeaders is the largest number of headers that are looked at.
const maxHeaders = 1_000

// headers returns the headers of an action, in the order of their names.
func (r *Result) headers(job, place string, o *object) []action.Field {
	if o == nil {
		return nil
	}
	if len(o.members) > maxHeaders {
		r.lost(job, o.path, "there are %d headers: at most %d are read, and an action has fewer", len(o.members), maxHeaders)
		return nil
	}
	var fields []action.Field
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		value, ok := o.members[name].(string)
		switch {
		case computedHeader.MatchString(name):
			continue // it follows from the request
		case forbiddenHeader.MatchString(name):
			r.lost(job, o.at(name), "the agent sets this header itself")
			continue
		case !ok:
			value = o.text(name)
		}
		if value != "" && secretName.MatchString(name) {
			scheme := authorizationScheme.FindString(value)
			value = scheme + r.secret(job, o.at(name), place+name, fmt.Sprintf("the header %q", name))
		} else {
			value = literal(value)
		}
		fields = append(fields, action.Field{Name: name, Value: value})
	}
	return fields
}

// body returns a text as the body of an action or the text of a message. In a JSON text, templates
// replace the values of members whose names are those of secrets.
func (r *Result) body(job, element, place, text string) string {
	v, err := decode([]byte(text))
	if err != nil {
		return literal(text)
	}
	masked, found := r.templates(job, element, place, v)
	if !found {
		return literal(text)
	}
	return compact(masked)
}

// templates returns a copy of a JSON value in which templates replace the texts of members whose
// names are those of secrets. found tells whether there is one; otherwise v itself is as good.
func (r *Result) templates(job, element, place string, v any) (masked any, found bool) {
	switch v := v.(type) {
	case map[string]any:
		all := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			item := v[name]
			if _, isText := item.(string); isText && item != "" && secretName.MatchString(name) {
				all[literal(name)] = r.secret(job, element, place+name, fmt.Sprintf("the member %q", name))
				found = true
				continue
			}
			inner, has := r.templates(job, element, place, item)
			all[literal(name)] = inner
			found = found || has
		}
		return all, found
	case []any:
		all := make([]any, len(v))
		for i, item := range v {
			inner, has := r.templates(job, element, place, item)
			all[i] = inner
			found = found || has
		}
		return all, found
	case string:
		return literal(v), false
	}
	return v, false
}

// hasSecrets reports whether a JSON value has a member whose name is that of a secret.
func hasSecrets(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			if text, isText := item.(string); isText && text != "" && secretName.MatchString(name) || hasSecrets(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasSecrets)
	}
	return false
}

// jsonText returns the text of a value that may be a text or any other JSON value.
func jsonText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return compact(v)
}
