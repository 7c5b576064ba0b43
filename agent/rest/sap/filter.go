package sap

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxFilter bounds the text of a filter, in bytes.
	maxFilter = 4096
	// maxConditions bounds the comparisons of a filter, and the terms of a search.
	maxConditions = 50
)

// condition is one comparison of a filter.
type condition struct {
	// property is name, subDomain or tenantId.
	property string
	// contains means that value occurs in the property, in any case. Otherwise the property is
	// exactly value.
	contains bool
	value    string
}

// filterProperties are the properties that a filter may name.
var filterProperties = []string{"name", "subDomain", "tenantId"}

// filterForm describes a comparison in faults.
const filterForm = "contains(<property>, '<text>') or <property> eq '<text>'"

// filterError is a fault of a filter.
type filterError struct {
	// position is the number of the character at which the fault begins, from 1.
	position int
	want     string
}

// Error implements error.
func (e *filterError) Error() string {
	return fmt.Sprintf("Invalid filter at position %d: want %s", e.position, e.want)
}

// parseFilter parses a filter (S-24): comparisons joined by and, or. The result is a list of
// alternatives, each of which is a list of comparisons that must all hold: and binds tighter than
// or, and the grammar has no brackets. Operators may be in any case. The error is a *filterError.
func parseFilter(text string) ([][]condition, error) {
	p := &filterParser{text: text}
	if len(text) > maxFilter {
		return nil, p.fault(0, fmt.Sprintf("at most %d bytes", maxFilter))
	}
	if !utf8.ValidString(text) {
		return nil, p.fault(0, "text in UTF-8")
	}
	alternatives := [][]condition{nil}
	for n := 1; ; n++ {
		c, err := p.condition()
		if err != nil {
			return nil, err
		}
		if n > maxConditions {
			return nil, p.fault(p.at, fmt.Sprintf("at most %d comparisons", maxConditions))
		}
		last := len(alternatives) - 1
		alternatives[last] = append(alternatives[last], c)
		p.space()
		if p.at == len(p.text) {
			return alternatives, nil
		}
		from := p.at
		switch strings.ToLower(p.word()) {
		case "and":
		case "or":
			alternatives = append(alternatives, nil)
		default:
			return nil, p.fault(from, "and, or, or the end")
		}
	}
}

// filterParser reads a filter from left to right.
type filterParser struct {
	text string
	at   int // in bytes
}

func (p *filterParser) fault(at int, want string) error {
	return &filterError{position: utf8.RuneCountInString(p.text[:at]) + 1, want: want}
}

func (p *filterParser) space() {
	p.at += len(p.text[p.at:]) - len(strings.TrimLeftFunc(p.text[p.at:], unicode.IsSpace))
}

// word reads letters.
func (p *filterParser) word() string {
	from := p.at
	for p.at < len(p.text) && (p.text[p.at]|0x20 >= 'a' && p.text[p.at]|0x20 <= 'z') {
		p.at++
	}
	return p.text[from:p.at]
}

// sign reads one character after optional space.
func (p *filterParser) sign(c byte) error {
	p.space()
	if p.at == len(p.text) || p.text[p.at] != c {
		return p.fault(p.at, string(c))
	}
	p.at++
	return nil
}

// condition reads one comparison.
func (p *filterParser) condition() (c condition, err error) {
	p.space()
	from := p.at
	word := p.word()
	if strings.EqualFold(word, "contains") {
		c.contains = true
		if err := p.sign('('); err != nil {
			return c, err
		}
		if c.property, err = p.property(); err != nil {
			return c, err
		}
		if err := p.sign(','); err != nil {
			return c, err
		}
		if c.value, err = p.quoted(); err != nil {
			return c, err
		}
		return c, p.sign(')')
	}
	if word == "" {
		return c, p.fault(from, filterForm)
	}
	p.at = from
	if c.property, err = p.property(); err != nil {
		return c, err
	}
	p.space()
	from = p.at
	if !strings.EqualFold(p.word(), "eq") {
		return c, p.fault(from, "eq")
	}
	c.value, err = p.quoted()
	return c, err
}

// property reads the name of a property.
func (p *filterParser) property() (string, error) {
	p.space()
	from := p.at
	word := p.word()
	for _, name := range filterProperties {
		if word == name {
			return name, nil
		}
	}
	return "", p.fault(from, "one of "+strings.Join(filterProperties, ", "))
}

// quoted reads a text in single quotes. A quote in it is doubled.
func (p *filterParser) quoted() (string, error) {
	p.space()
	from := p.at
	if p.at == len(p.text) || p.text[p.at] != '\'' {
		return "", p.fault(from, "a text in single quotes")
	}
	var value strings.Builder
	for rest := p.text[p.at+1:]; ; {
		before, after, found := strings.Cut(rest, "'")
		if !found {
			return "", p.fault(from, "a text in single quotes; its end is missing")
		}
		value.WriteString(before)
		if !strings.HasPrefix(after, "'") {
			p.at = len(p.text) - len(after)
			return value.String(), nil
		}
		value.WriteByte('\'')
		rest = after[1:]
	}
}
