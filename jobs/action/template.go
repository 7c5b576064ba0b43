package action

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/jobs/suggest"
)

// part is a piece of a text with templates: a literal text, or a variable.
type part struct {
	literal string
	name    string // canonical; empty for a literal
	raw     bool   // $(raw:name)
	json    bool   // $(json:name)
}

// templateName matches a name in a template. A name has no blanks.
var templateName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*$`)

// split divides a text at its templates $(name). $$( stands for the text $(.
func split(text string) ([]part, error) {
	var parts []part
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			parts = append(parts, part{literal: literal.String()})
			literal.Reset()
		}
	}
	for {
		at := strings.Index(text, "$(")
		if at < 0 {
			literal.WriteString(text)
			flush()
			return parts, nil
		}
		if at > 0 && text[at-1] == '$' {
			literal.WriteString(text[:at-1] + "$(")
			text = text[at+2:]
			continue
		}
		literal.WriteString(text[:at])
		flush()
		text = text[at+2:]
		inside, rest, closed := strings.Cut(text, ")")
		if !closed {
			return nil, errors.New("invalid template: want $(name), or $$( for the text $(")
		}
		text = rest
		p := part{}
		name := inside
		if prefix, after, found := strings.Cut(inside, ":"); found {
			name = after
			switch strings.ToLower(prefix) {
			case "raw":
				p.raw = true
			case "json":
				p.json = true
			default:
				return nil, errors.New("invalid template: want $(name), $(raw:name) or $(json:name), or $$( for the text $(")
			}
		}
		if !templateName.MatchString(name) {
			return nil, errors.New("invalid template: want $(name), or $$( for the text $(")
		}
		canonical, known := canonicalName(name)
		if !known {
			return nil, fmt.Errorf("unknown variable %q%s", clip(name), suggest.DidYouMean(name, fixedNames))
		}
		if secret, ok := strings.CutPrefix(canonical, PrefixSecret); ok && !SecretName.MatchString(secret) {
			return nil, fmt.Errorf("invalid secret name %q: want 1 to 128 letters, digits, _ and -, not beginning with a digit or -", clip(secret))
		}
		p.name = canonical
		parts = append(parts, p)
	}
}

// SecretName matches the name of a secret (jobs_internal.check_secret_name).
var SecretName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,127}$`)

// hasTemplate reports whether a text contains a template, valid or not.
func hasTemplate(text string) bool {
	return strings.Contains(strings.ReplaceAll(text, "$$(", ""), "$(")
}

// onlySecrets reports whether a text consists of templates $(secret.name) and blanks.
func onlySecrets(text string) bool {
	parts, err := split(text)
	if err != nil {
		return true // reported by the check of templates
	}
	found := false
	for _, p := range parts {
		switch {
		case strings.HasPrefix(p.name, PrefixSecret):
			found = true
		case p.name != "" || strings.TrimSpace(p.literal) != "":
			return false
		}
	}
	return found
}

// containsSecret reports whether a text contains a template $(secret.name).
func containsSecret(text string) bool {
	parts, err := split(text)
	return err != nil || slices.ContainsFunc(parts, func(p part) bool { return strings.HasPrefix(p.name, PrefixSecret) })
}

// sample replaces each template of a text by a text, so that the rest can be checked.
func sample(text, by string) string {
	parts, err := split(text)
	if err != nil {
		return text
	}
	var b strings.Builder
	for _, p := range parts {
		if p.name != "" {
			b.WriteString(by)
		} else {
			b.WriteString(p.literal)
		}
	}
	return b.String()
}

// place is the syntax of the text around a template, which decides how values are escaped.
type place int

const (
	placeText   place = iota // any text, unchanged
	placeURL                 // a whole URL
	placeHost                // a host or the name of an account
	placeName                // the name of a queue, topic or entity
	placeHeader              // a text without control characters
	placeForm                // application/x-www-form-urlencoded
	placeJSON                // a whole JSON text
	placeXML                 // a whole XML text
	placeArg                 // an argument of a process: no NUL
)

// slot is one text of a definition that may contain templates.
type slot struct {
	path   string
	place  place
	secret bool // the text must consist of templates $(secret.name)
	text   string
	set    func(string)
}

// slotList collects the texts of a definition that are not empty.
type slotList struct{ all []slot }

// add adds a text, and secret one that must consist of templates of secrets.
func (l *slotList) add(path string, at place, text *string) {
	if *text != "" {
		l.all = append(l.all, slot{path: path, place: at, text: *text, set: func(s string) { *text = s }})
	}
}

func (l *slotList) secret(path string, at place, text *string) {
	if *text != "" {
		l.add(path, at, text)
		l.all[len(l.all)-1].secret = true
	}
}

// slots returns the texts of the definition that may contain templates.
func (d *Definition) slots() []slot {
	var l slotList
	if c := d.content(); c != nil {
		c.slots(&l)
	}
	return l.all
}

// headerPath returns the path of the name or the value of header i.
func (h *HTTP) headerPath(i int, part string) string {
	if h.headersObject {
		return memberPath("$.headers", h.Headers[i].Name)
	}
	return fmt.Sprintf("$.headers[%d].%s", i, part)
}

// valueMember returns the name of the member that holds Value.
func (a *Auth) valueMember() string {
	if a.Kind == "bearer" {
		return "token"
	}
	return "value"
}
